"""Results of chunks put together, under the user's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import Array
from .chunk import ChunkResult
from .decisions import Audits, Decisions, Named


def named(part: Any) -> Named:
    """The name and shape of a CVXPY variable or parameter."""
    return Named(part.id, part.name(), tuple(part.shape))


def gather(
    results: list[ChunkResult],
    variables: dict[Named, Any],
    keys: Sequence[tuple[Named, ...]],
    certificates: Any,
    index: Any,
) -> Decisions:
    """One Decisions from the results of all chunks.

    Parameters
    ----------
    variables : the model's variables, with their columns in x
    keys : uncertain parameters, as they share sets
    """
    status = np.concatenate([result.status for result in results])
    audit = Audits(
        np.concatenate([result.objective for result in results]),
        np.concatenate([result.gap for result in results]),
        np.concatenate([result.violations for result in results]),
        np.concatenate([result.binding for result in results]),
        status == "optimal",
    )
    x = np.concatenate([result.x for result in results])
    values = {name: _shaped(x[:, cols], name.shape) for name, cols in variables.items()}
    outcomes: dict[Named, Array] = {}
    for number, key in enumerate(keys):
        worst = np.concatenate([result.outcomes[number] for result in results])
        outcomes |= _split(worst, key)
    return Decisions(
        status, audit.objective, audit, certificates, index, values, outcomes
    )


def _split(worst: Array, key: tuple[Named, ...]) -> dict[Named, Array]:
    found, start = {}, 0
    for name in key:
        size = name.size
        found[name] = _shaped(worst[:, start : start + size], name.shape)
        start += size
    return found


def _shaped(flat: Array, shape: tuple[int, ...]) -> Array:
    """Rows read column by column into arrays of a shape."""
    turned = flat.reshape((len(flat), *shape[::-1]))
    return np.ascontiguousarray(turned.transpose(0, *range(len(shape), 0, -1)))
