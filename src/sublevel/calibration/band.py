"""A band: how often decisions violate at most, at every level at once.

A decision that violates at a level t of the grid has its envelope score above t. So the
share of points that violate at t is at most the probability that a score lies above the
k-th smallest one, k the number of calibration scores at or below t. That probability is
bounded for all k of a window at once (`sublevel.guarantees.simultaneous`): whoever
looks at the whole band may then choose a level by it, by cost or by anything else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor, inf, log1p
from typing import TYPE_CHECKING

import numpy as np

from ..checks import Array, require_level
from ..errors import InvalidParameter
from ..guarantees import PAC, Certificate
from ..guarantees.simultaneous import simultaneous_levels
from .certificates import decision_certificate
from .request import read_request
from .search import Search
from .wording import DECISIONS, Wording

if TYPE_CHECKING:
    import pandas as pd

_REFERENCE = (
    "Order statistics of envelope scores, all at once; Noe (1972), Moscovich and "
    "Nadler (2017)"
)


@dataclass(frozen=True, eq=False)
class Band:
    """Bounds on how often decisions violate, at every level at once.

    Attributes
    ----------
    levels : shape (m,), ascending: calibration scores of ranks N - m + 1 to N
    bounds : shape (m,), descending
        With confidence 1 - delta, at each of these levels at once, decisions violate
        with at most this probability.
    size : number of calibration points N
    delta : confidence deficit of all bounds together
    widest : largest violation level that may be chosen, fixed before looking

    Examples
    --------
    >>> band = band_of(np.arange(1.0, 501.0), widest=0.3, delta=0.05)
    >>> band.level_at(0.1), band.level_at(0.001)
    (468.0, inf)
    >>> round(band.bound_at(468.5), 3), band.bound_at(0.0)
    (0.098, 1.0)
    """

    levels: Array
    bounds: Array
    size: int
    delta: float
    widest: float

    @property
    def beyond(self) -> Array:
        """Share of the calibration points whose scores have higher ranks, (m,)."""
        return np.arange(len(self.levels))[::-1] / self.size

    def level_at(self, alpha: float) -> float:
        """The lowest level that keeps a violation level; inf if none does."""
        kept = np.flatnonzero(self.bounds <= alpha)
        return float(self.levels[kept[0]]) if kept.size else inf

    def bound_at(self, level: float) -> float:
        """How often decisions at a level violate at most; 1.0 below the band.

        The level must be one of the grid that was searched: between two of them no
        decision was looked at.
        """
        if level == inf:
            return 0.0
        rank = int(np.searchsorted(self.levels, level, side="right"))
        return float(self.bounds[rank - 1]) if rank else 1.0

    def require_within(self, owner: str, alpha: float) -> None:
        """A violation level must be one that the band was drawn for."""
        require_level(owner, alpha=alpha)
        if alpha > self.widest:
            raise InvalidParameter(
                f"{owner}(alpha=...) must be at most {self.widest:g}, the largest of "
                f"the frontier's alphas, got {alpha:g}. Give frontier(alphas=...) "
                "larger ones, before looking."
            )

    def to_pandas(self) -> pd.DataFrame:
        """One row a level: `level`, `bound`, and the share `beyond` in calibration."""
        import pandas as pd

        return pd.DataFrame(
            {"level": self.levels, "bound": self.bounds, "beyond": self.beyond}
        )

    def __repr__(self) -> str:
        finite = self.levels[np.isfinite(self.levels)]
        where = f"{finite[0]:.6g} to {finite[-1]:.6g}" if finite.size else "none"
        return (
            f"Band(levels {where}; bounds {self._ends()}; confidence "
            f"{1 - self.delta:g} for all at once; {self.size} points)"
        )

    def _ends(self) -> str:
        if not self.bounds.size:
            return "none"
        return f"{self.bounds[0]:.4g} to {self.bounds[-1]:.4g}"


def simultaneous_bounds(size: int, widest: float, delta: float) -> Array:
    """Violation levels of the largest scores, all at once, none above the widest.

    Parameters
    ----------
    size : number of scores
    widest : largest level that is of interest, fixed in advance
    delta : confidence deficit

    Returns
    -------
    array of shape (m,), descending : for ranks size - m + 1 to size

    Examples
    --------
    >>> len(simultaneous_bounds(500, widest=0.1, delta=0.05)) - 1
    33
    """
    # More scores than that share never lie beyond a level that keeps it.
    first = max(1, size - floor(widest * size))
    bounds = simultaneous_levels(size, delta, first=first)
    return bounds[bounds <= widest]


def band_of(scores: Array, widest: float, delta: float) -> Band:
    """The band of scores of independent points.

    Parameters
    ----------
    scores : array of shape (N,)
    widest : largest violation level that may be chosen, fixed before looking
    delta : confidence deficit
    """
    bounds = simultaneous_bounds(len(scores), widest, delta)
    levels = np.sort(scores)[len(scores) - len(bounds) :]
    return Band(levels, bounds, len(scores), delta, widest)


def search_band(search: Search, widest: float, delta: float) -> Band:
    """The band of decisions, from envelope scores as far down as it needs them."""
    most = len(simultaneous_bounds(search.size, widest, delta)) - 1
    scores = search.envelope(lambda e, floor: int(np.sum(e > floor)) > most)
    return band_of(scores, widest, delta)


@lru_cache(maxsize=64)
def minimum_size(alpha: float, widest: float, delta: float) -> int:
    """The fewest points of which the largest score keeps a violation level.

    Examples
    --------
    >>> minimum_size(0.1, widest=0.3, delta=0.05)
    43
    """
    size = PAC(delta).minimum_sample_size(alpha)
    while True:
        bounds = simultaneous_levels(
            size, delta, first=max(1, size - floor(widest * size))
        )
        if bounds[-1] <= alpha:
            return size
        # The largest of n is bounded by 1 - eta^(1/n), and eta falls slowly with n.
        eta = size * log1p(-float(bounds[-1]))
        size = max(size + 1, ceil(eta / log1p(-alpha)))


def band_certificate(
    band: Band,
    alpha: float,
    owner: str,
    acts: bool,
    wording: Wording = DECISIONS,
) -> Certificate:
    """What a level chosen from a band promises.

    Parameters
    ----------
    alpha : violation level that was chosen
    acts : whether a fallback acts where there is no decision
    """
    request = read_request(owner, alpha, PAC(band.delta), wording=wording)
    level = band.level_at(alpha)
    plain = decision_certificate(level, request, band.size, acts, may_abstain=False)
    needed = minimum_size(alpha, band.widest, band.delta)
    note = plain.note
    if level == inf and band.size < needed:
        note = (
            f"{owner}({alpha:g}) needs at least {needed} calibration points for a "
            f"finite {wording.level}, got {band.size}. Add calibration data or choose "
            "a larger alpha."
        )
    return replace(
        plain,
        guarantee="DecisionAware, simultaneous",
        minimum_sample_size=needed,
        assumptions=(
            *plain.assumptions,
            f"Only levels up to {band.widest:g} were to be chosen from, and that was "
            "fixed before looking.",
        ),
        reference=_REFERENCE,
        note=note,
        holds=(
            f"with confidence {1 - band.delta:g} over the calibration draw, for every "
            "level of the frontier at once: this one may have been chosen by looking"
        ),
    )
