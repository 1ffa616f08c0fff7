"""One search for the level of a decision rule.

A rule decides at a level; what the search asks is whether decisions at levels violate,
at points. Where a decision at a level exists it is robust, and cannot violate if the
outcome is in its set. Where none exists nothing is done, and nothing violated; or a
fallback acts, which violates at any level or at none. So a point at which the fallback
keeps every constraint is safe at levels from its loss on. A decision that exists and
could not be computed counts as a violation, wherever the outcome is: so decisions that
were taken for safe are computed at the answer, and points at which that fails may
violate at any level.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from ..checks import Array
from ..errors import InfiniteBudget
from ..guarantees import PAC, Calibrated, Calibration
from ..guarantees.faces import settling
from ..predictions import Table
from .certificates import about_decisions, decision_certificate
from .envelope import (
    Ask,
    Enough,
    Flags,
    Rows,
    envelope_scores,
    pass_in_sequence,
    risk_level,
)
from .given_decided import count_scouts, lowest_level
from .levels import Levels
from .on_grid import OnGrid
from .proved_search import ProvedSearch
from .request import DELTA, Request

#: Most decisions that are computed only to see whether they can be, of many at once and
#: of those that take long; and no more than at an eighth of the points, or the second.
MOST_TRIED, FEW_TRIED = 1000, 50


@dataclass(frozen=True, eq=False)
class Looks:
    """What decisions did, at some levels and points.

    Attributes
    ----------
    miss : shape (k,), largest relative miss of a promise: above 0 it is a violation,
        inf where a decision could not be computed
    decided : shape (k,), whether there was a decision to act on
    """

    miss: Array
    decided: Flags


class Points(Protocol):
    """A rule at its calibration points."""

    @property
    def scores(self) -> Array:
        """The level from which on each outcome is in its sets, shape (N,)."""

    @property
    def fallback_miss(self) -> Array:
        """Relative miss of the fallback at each point, -inf if there is none: (N,)."""

    @property
    def has_fallback(self) -> bool:
        """Whether something is done where there is no decision."""

    @property
    def has_sets(self) -> bool:
        """Whether decisions are robust over sets that grow with the level.

        Then no decision violates from an outcome's score on, and levels above a grid
        may be the answer. Of other rules nothing is assumed: scores are inf.
        """

    @property
    def wave(self) -> int:
        """How many decisions are best asked for at once."""

    @property
    def proves(self) -> Ask | None:
        """Whether decisions at levels (k,), each of one point (k,), are proved to keep
        their word by those that were looked at; None where nothing is ever proved.
        """

    @property
    def fails(self) -> Ask | None:
        """Whether decisions at levels (k,), each of one point (k,), exist and cannot be
        computed; None where none is taken for safe without being looked at.
        """

    def look(self, levels: Array, rows: Rows) -> Looks:
        """What decisions do at levels (k,), each of one point (k,); or `Stopped`."""


@dataclass(frozen=True, eq=False)
class Search:
    """A search among the levels of a grid.

    Attributes
    ----------
    points : the rule at its calibration points
    levels : grid
    endless : whether the grid has no top
    failing : points at which decisions are known to fail, shape (N,); None if at none
    size : number of calibration points
    safe : points that cannot violate once the outcome is in its set, shape (N,)
    lost : points that may violate at levels above any, shape (N,)
    """

    points: Points
    levels: Levels
    endless: bool
    failing: Flags | None = None
    size: int = field(init=False)
    safe: Flags = field(init=False)
    lost: Flags = field(init=False)

    def __post_init__(self) -> None:
        scores = self.points.scores
        safe = np.asarray(self.points.fallback_miss <= 0)
        lost = (~safe | np.isinf(scores)) & self.endless
        if self.failing is not None:
            lost |= self.failing
        vars(self).update(size=len(scores), safe=safe, lost=lost)

    def calibrate(self, request: Request, X: Table | None) -> Calibrated:
        """The level asked for, at every context, and its certificate."""
        calibration = self._calibrated(request, X)
        if request.given_decided:
            # Every decision was looked at.
            return calibration
        careful = self.with_failures(calibration.at(X, self.size))
        return calibration if careful is self else careful.calibrate(request, X)

    def with_failures(self, levels: Array) -> Search:
        """The search that knows where decisions taken for safe fail, at levels (N,).

        The same one where they fail nowhere.
        """
        fails = self.points.fails
        failing = None if fails is None else self._failing(levels, fails)
        if failing is None or not failing.any():
            return self
        if self.failing is not None:
            failing |= self.failing
        return replace(self, failing=failing)

    def _failing(self, levels: Array, fails: Ask) -> Flags:
        skipped = self.safe & ~self.lost & (self.points.scores <= levels)
        rows = np.flatnonzero(skipped & np.isfinite(levels))
        most = MOST_TRIED if self.points.wave > 1 else FEW_TRIED
        most = min(most, max(FEW_TRIED, self.size // 8))
        spread = np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int)
        failing = np.zeros(self.size, dtype=bool)
        # Where none of a sample fails, and none did before, the others are not asked.
        for some in (rows[spread], np.delete(rows, spread)):
            if some.size:
                failing[some] = fails(levels[some], some)
            if not failing.any() and self.failing is None:
                break
        return failing

    def _calibrated(self, request: Request, X: Table | None) -> Calibrated:
        if not request.is_plain:
            return self._by_guarantee(request, X)
        points, scouts = self.points, 0
        if request.given_decided and self.endless:
            # The first points choose the grid, and are not counted.
            scouts = count_scouts(self.size)
        level = self._level(request, scouts)
        certificate = decision_certificate(
            level,
            request,
            self.size - scouts,
            points.has_fallback,
            self.may_abstain,
            0 if self.failing is None else int(self.failing.sum()),
        )
        return Calibration(level, certificate)

    def envelope(self, enough: Enough) -> Array:
        """Envelope scores, as far down as needed, shape (N,)."""
        return self._envelope(enough, None)

    def largest(self, beyond: int) -> Array:
        """Envelope scores, as far down as that so many are larger than the next."""
        return self._envelope(lambda e, floor: int(np.sum(e > floor)) > beyond, beyond)

    def _envelope(self, enough: Enough, beyond: int | None) -> Array:
        points = self.points
        scores, levels = points.scores, self.levels.downwards(points.scores)
        rest = (
            self.safe,
            self.lost,
            points.has_sets and not points.has_fallback,
            points.wave,
            beyond,
        )

        def violates(at: Array, rows: Rows) -> Flags:
            return np.asarray(points.look(at, rows).miss > 0)

        if points.proves is None:
            return envelope_scores(scores, levels, violates, enough, *rest)
        search = ProvedSearch(scores, levels, violates, points.proves, *rest)
        return search.envelope(enough)

    @property
    def may_abstain(self) -> bool:
        """Whether data alone, not only their number, may leave nothing to certify."""
        endless = bool(np.isinf(self.points.scores).any())
        return self.points.has_fallback or endless or self.failing is not None

    def _by_guarantee(self, request: Request, X: Table | None) -> Calibrated:
        """Whatever the guarantee makes of the envelope scores."""
        promise, alpha = request.guarantee, request.alpha
        scores = self.envelope(settling(promise, self.size, alpha, X))
        with warnings.catch_warnings():
            # Whoever asked for decisions is warned in words about decisions.
            warnings.simplefilter("ignore", InfiniteBudget)
            calibration = promise.calibrate(scores, alpha, X)
        floor = float(scores.min())
        at = OnGrid(calibration, self.levels, floor, calibration.certificate)
        return about_decisions(
            at, request.wording, self.points.has_fallback, self.may_abstain
        )

    def _level(self, request: Request, scouts: int) -> float:
        if request.given_decided:
            return self._given_decided(request, scouts)
        rank = request.order.rank(self.size, request.alpha)
        if rank is None:
            return np.inf
        allowed = self.size - rank
        if request.method == "learn-then-test":
            return self._tested(allowed)
        if request.method == "risk":
            return self._controlled(request.alpha)
        scores = self.largest(allowed)
        return float(np.sort(scores)[self.size - allowed - 1])

    def _tested(self, allowed: int) -> float:
        """The level that Learn-then-Test stops at; inf if the first test fails."""
        if int(np.sum(self.lost)) > allowed:
            return np.inf
        levels = self.levels.downwards(self.points.scores)
        return pass_in_sequence(
            levels, lambda level: int(np.sum(self._at(level).miss > 0)) <= allowed
        )

    def _controlled(self, alpha: float) -> float:
        """The level at which the mean miss, at most 1, is controlled; inf if none."""
        levels = self.levels.downwards(self.points.scores)
        fallback = np.clip(self.points.fallback_miss, 0.0, 1.0)
        sure = np.isinf(self.points.scores)
        if self.failing is not None:
            sure |= self.failing
        above = np.where(sure, 1.0, fallback)
        return risk_level(
            levels,
            lambda level: np.clip(self._at(level).miss, 0.0, 1.0),
            alpha,
            np.where(self.lost, above, 0.0),
        )

    def _given_decided(self, request: Request, scouts: int) -> float:
        """The lowest level at which decisions that are taken keep their word."""
        chosen_by = self.points.scores[:scouts] if scouts else self.points.scores
        grid = list(self.levels.downwards(chosen_by))
        rows = np.arange(scouts, self.size)

        def count(level: float) -> tuple[int, int]:
            looks = self.points.look(np.full(len(rows), level), rows)
            # A decision that exists and could not be computed is one not kept.
            taken = looks.decided | np.isposinf(looks.miss)
            return int(np.sum(looks.miss > 0)), int(np.sum(taken))

        return lowest_level(grid, count, request.alpha, PAC(request.delta or DELTA))

    def _at(self, level: float) -> Looks:
        """What happens at a level; nothing is missed where nothing can be."""
        miss, decided = np.full(self.size, -np.inf), np.zeros(self.size, dtype=bool)
        rows = np.flatnonzero((self.points.scores > level) | ~self.safe)
        if rows.size:
            looks = self.points.look(np.full(len(rows), level), rows)
            miss[rows], decided[rows] = looks.miss, looks.decided
        return Looks(miss, decided)
