"""What is random about a network: its validation rows and its first weights.

Every network draws from its own seed, whichever others it is trained with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ..rows import RandomState


def seed_of(random_state: RandomState) -> int:
    """A seed from what scikit-learn calls a random state, or from a Generator."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(np.random.default_rng(random_state).integers(2**31 - 1))


def seeds_of(random_state: RandomState, count: int) -> list[int]:
    """Seeds of many networks from one random state."""
    drawn = np.random.default_rng(seed_of(random_state)).integers(2**31 - 1, size=count)
    return [int(seed) for seed in drawn]


def row_order(
    seed: int, n_rows: int, labels: npt.NDArray[Any] | None = None
) -> npt.NDArray[np.int_]:
    """A random order of the rows: the first ones train, the last ones validate.

    With labels, every class has its share in both parts, and the rarest are at least
    in the training part.

    Examples
    --------
    >>> labels = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 2])
    >>> sorted(labels[row_order(0, 10, labels)[:4]].tolist())
    [0, 0, 1, 2]
    """
    order = np.random.default_rng([seed, 0]).permutation(n_rows)
    if labels is None:
        return order
    shuffled = labels[order]
    share = np.empty(n_rows)
    for label in np.unique(labels):
        which = np.flatnonzero(shuffled == label)
        share[which] = np.arange(len(which)) / len(which)
    return order[np.argsort(share, kind="stable")]


def first_weights(
    draw: np.random.Generator, covariates: Array, hidden_units: int, outputs: int
) -> tuple[Array, Array]:
    """Random weights (h, p + 1) and (k, h + 1) for covariates of shape (p, n).

    The hinge of every unit lies halfway between two random rows, so one of them is on
    its active side: no unit is dead at the start.
    """
    p, n = covariates.shape
    slopes = draw.normal(size=(hidden_units, p)) / np.sqrt(p)
    through = covariates[:, draw.integers(n, size=(2, hidden_units))].mean(axis=1)
    bias = -(slopes * through.T).sum(axis=1)
    output = draw.normal(size=(outputs, hidden_units)) / np.sqrt(hidden_units)
    return np.column_stack([slopes, bias]), np.column_stack([output, np.zeros(outputs)])
