"""The levels of many violation levels at once, from one search."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
import numpy.typing as npt

from ..checks import Array, as_numbers, briefly, require_level
from ..errors import InvalidParameter
from ..guarantees import Marginal
from .band import Band, band_of, search_band
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


@dataclass(frozen=True)
class Line:
    """A line of a frontier.

    Attributes
    ----------
    calibration : "decisions", or "sets" where outcomes were counted
    alpha : violation level
    level : that keeps it; inf if none does
    bound : how often it violates at most, with confidence for all lines of one
        calibration at once; nan where levels were calibrated one by one
    """

    calibration: str
    alpha: float
    level: float
    bound: float


def draw_lines(
    search: Search, losses: Array | None, alphas: list[float], delta: float | None
) -> tuple[list[Line], Band | None]:
    """A frontier, from one search, and the band behind it, where there is one.

    Parameters
    ----------
    losses : of outcomes, shape (N,), to draw a line for sets as well; or None
    alphas : violation levels, ascending
    delta : confidence deficit of all levels together; None calibrates each on its own
    """
    lines, band = _drawn(search, losses, alphas, delta)
    own = [line.level for line in lines if line.calibration == "decisions"]
    careful = search.with_failures(np.full(search.size, min(own)))
    if careful is search:
        return lines, band
    return draw_lines(careful, losses, alphas, delta)


def _drawn(
    search: Search, losses: Array | None, alphas: list[float], delta: float | None
) -> tuple[list[Line], Band | None]:
    if delta is None:
        lines = _one_by_one("decisions", envelope_for(search, alphas), alphas)
        if losses is not None:
            lines += _one_by_one("sets", losses, alphas)
        return lines, None
    band = search_band(search, alphas[-1], delta)
    lines = _from_band("decisions", band, alphas)
    if losses is not None:
        lines += _from_band("sets", band_of(losses, alphas[-1], delta), alphas)
    return lines, band


def _from_band(name: str, band: Band, alphas: list[float]) -> list[Line]:
    levels = [band.level_at(alpha) for alpha in alphas]
    return [
        Line(name, alpha, level, band.bound_at(level))
        for alpha, level in zip(alphas, levels, strict=True)
    ]


def _one_by_one(name: str, scores: Array, alphas: list[float]) -> list[Line]:
    levels = marginal_levels(scores, alphas)
    return [Line(name, *pair, nan) for pair in zip(alphas, levels, strict=True)]


def envelope_for(search: Search, alphas: list[float]) -> Array:
    """Envelope scores as far down as the largest of the violation levels needs."""
    most = max(_allowed(search.size, alphas))
    return search.largest(most)


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
