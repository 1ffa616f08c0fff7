"""The levels of many violation levels at once, from one search."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..checks import Array, as_numbers, briefly, require_level
from ..errors import InvalidParameter
from ..guarantees import Marginal
from .search import Search

#: Violation levels of a frontier where none are given.
ALPHAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)


def as_alphas(owner: str, alphas: npt.ArrayLike) -> list[float]:
    """Violation levels, each once, from the least on.

    Examples
    --------
    >>> as_alphas("Policy.frontier", [0.2, 0.1, 0.2])
    [0.1, 0.2]
    """
    levels = np.atleast_1d(as_numbers(owner, "alphas", alphas))
    if levels.ndim != 1 or not levels.size:
        raise InvalidParameter(
            f"{owner}(alphas=...) must be a list of levels, got {briefly(alphas)}."
        )
    for alpha in levels.tolist():
        require_level(owner, alphas=alpha)
    return sorted(set(levels.tolist()))


def envelope_for(search: Search, alphas: list[float]) -> Array:
    """Envelope scores as far down as the largest of the violation levels needs."""
    most = max(_allowed(search.size, alphas))
    return search.envelope(lambda e, floor: int(np.sum(e > floor)) > most)


def marginal_levels(scores: Array, alphas: list[float]) -> list[float]:
    """The order statistic of scores that keeps each violation level; inf if none does.

    Examples
    --------
    >>> marginal_levels(np.arange(1.0, 20.0), [0.01, 0.1, 0.5])
    [inf, 18.0, 10.0]
    """
    ordered, size = np.append(np.sort(scores), np.inf), len(scores)
    return [
        float(ordered[size - beyond - 1] if beyond >= 0 else np.inf)
        for beyond in _allowed(size, alphas)
    ]


def _allowed(size: int, alphas: list[float]) -> list[int]:
    """How many scores may lie above the level; -1 where no level will do."""
    ranks = [Marginal().rank(size, alpha) for alpha in alphas]
    return [-1 if rank is None else size - rank for rank in ranks]
