"""Contexts by which models are known again, as arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import Array
from ...predictions import count_rows
from ..probes import Probes
from .frames import contexts_from, contexts_to
from .packing import Packer, Unpacker, require
from .saved_keys import SavedKey


def probe_to(probes: Probes | None, packer: Packer) -> Any:
    """Contexts and predictions, by which the models are recognised."""
    contexts = None if probes is None else contexts_to(probes.X, packer)
    if probes is None or contexts is None:
        return None
    predictions = [
        None if blocks is None else [packer.array(block) for block in blocks]
        for blocks in probes.predictions
    ]
    return {"contexts": contexts, "predictions": predictions}


def probes_from(
    about: Any, reader: Unpacker, keys: Sequence[SavedKey]
) -> Probes | None:
    """The contexts that were written, with predictions for each key of losses."""
    if about is None:
        return None
    contexts = contexts_from(about["contexts"], reader)
    rows = count_rows(contexts)
    require(rows > 0, "probes")
    predictions: list[list[Array] | None] = []
    for names, key in zip(about["predictions"], keys, strict=True):
        require((names is None) == (key.losses is None), "probes")
        blocks = None if names is None else [reader.arrays[name] for name in names]
        for block in blocks or ():
            require(block.dtype == np.float64 and len(block) == rows, "probes")
        predictions.append(blocks)
    return Probes(contexts, predictions)
