"""Contexts by which models are known again, as arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import Array
from ...predictions import count_rows
from ..keys import UncertainKey
from ..probes import Probes
from .frames import contexts_from, contexts_to
from .packing import Packer, Unpacker, require
from .saved_groups import budgets_at
from .saved_keys import SavedKey


def probe_to(
    probes: Probes | None, keys: Sequence[UncertainKey], packer: Packer
) -> Any:
    """Contexts with predictions and budgets, by which models and groups are known."""
    contexts = None if probes is None else contexts_to(probes.X, packer)
    if probes is None or contexts is None:
        return None
    predictions = [
        None if blocks is None else [packer.array(block) for block in blocks]
        for blocks in probes.predictions
    ]
    every = [budgets_at(key.source, probes.X) for key in keys]
    budgets = [None if own is None else packer.array(own) for own in every]
    return {"contexts": contexts, "predictions": predictions, "budgets": budgets}


def probes_from(
    about: Any, reader: Unpacker, keys: Sequence[SavedKey]
) -> tuple[Probes | None, tuple[Array | None, ...]]:
    """The contexts that were written, with predictions for each key of losses, and
    budgets for each key of groups.
    """
    if about is None:
        return None, (None,) * len(keys)
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
    budgets: list[Array | None] = []
    for name, key in zip(about["budgets"], keys, strict=True):
        require((name is None) == (key.groups is None), "probes")
        budgets.append(None if name is None else reader.numbers(name, (rows,)))
    return Probes(contexts, predictions), tuple(budgets)
