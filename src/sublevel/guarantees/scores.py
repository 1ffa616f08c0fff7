"""Reading calibration scores: one pass, one copy, no second temporary.

A calibration sample may hold tens of millions of scores, so NaN is not looked for
element by element: NaN sorts last and survives a maximum, and either shows it for free.
"""

import numpy as np
import numpy.typing as npt

from ..checks import Array, as_numbers, briefly, is_number
from ..errors import InvalidParameter


def as_scores(owner: str, scores: npt.ArrayLike) -> Array:
    """Scores as a float vector, without a copy where they already are one."""
    vector = as_numbers(owner, "scores", scores)
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidParameter(
            f"{owner}(scores=...) must be a non-empty vector, one score per "
            f"calibration outcome, got shape {vector.shape}."
        )
    return vector


def as_components(owner: str, scores: npt.ArrayLike) -> Array:
    """Losses by component, shape (N, m): finite and at least 0.

    A vector is refused. It may be one component, but also the totals of many, which
    would pass for one.
    """
    matrix = as_numbers(owner, "scores", scores)
    if matrix.ndim != 2 or matrix.size == 0:
        raise InvalidParameter(
            f"{owner}(scores=...) must be the losses by component, one row a "
            f"calibration outcome, got shape {matrix.shape}. Pass "
            f"loss.components(prediction, outcomes); for a single component, "
            f"scores[:, None]."
        )
    bad = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0)))
    if bad.size:
        row, column = map(int, bad[0])
        raise InvalidParameter(
            f"{owner}(scores=...) must be squared residuals, finite and at least 0, "
            f"got {matrix[row, column]} at row {row}, component {column}."
        )
    return matrix


def largest(losses: Array) -> Array:
    """The largest loss of each outcome, from losses by component, shape (N,)."""
    return np.asarray(losses.max(axis=1))


def order_statistic(owner: str, scores: Array, rank: int) -> float:
    """The rank-th smallest score, counted from 1."""
    partitioned = np.partition(scores, rank - 1)
    if np.isnan(partitioned[rank - 1 :].max()):
        _refuse_nan(owner, scores)
    return float(partitioned[rank - 1])


def count_within(owner: str, scores: Array, budget: float) -> int:
    """How many scores are at most the budget."""
    require_no_nan(owner, scores)
    return int(np.count_nonzero(scores <= budget))


def require_no_nan(owner: str, scores: Array) -> None:
    """No score may be NaN; infinities are allowed."""
    if np.isnan(scores.max()):
        _refuse_nan(owner, scores)


def as_budget(owner: str, budget: float) -> float:
    """A budget to be judged: any number but NaN, infinities included."""
    if not is_number(budget) or np.isnan(budget):
        raise InvalidParameter(
            f"{owner}.promise(budget=...) must be a number, got {briefly(budget)}."
        )
    return float(budget)


def _refuse_nan(owner: str, scores: Array) -> None:
    row = int(np.flatnonzero(np.isnan(scores))[0])
    raise InvalidParameter(
        f"{owner}(scores=...) must be free of NaN, got nan at row {row}. "
        f"Find out why the model or the loss has no value there; a dropped row is no "
        f"longer a random one."
    )
