"""What the sets of many contexts answer when asked for worst outcomes.

An answer is not believed until it is seen to lie in its set, and on its boundary: a
step further away from the middle must lead out of it. What is not believed is nan.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ...conic.program import Indices, Rows
from ...errors import Unbounded
from ...loss_set.batch import Batch, SetBatch
from ...losses import LabelLoss
from ...predictions import Numbers, Outcomes
from ...sets import Box, Finite, LabelSet, Mixed, UncertaintySet, Union
from ...sets.members import is_empty
from ...sets.mixed import has_labels
from ...sets.probability_ball import ProbabilityBall
from ...sets.sublevel import membership, memberships

#: Relative slack within which an outcome counts as in its set, the relative step that
#: must lead out of it, and the slack within which it does not.
INSIDE, STEP, EDGE = 1e-6, 1e-5, 1e-12
#: Least share of the way from one end of a set to the other that a component makes up,
#: if a step along it alone must lead out as well.
SHARE = 0.05
#: Steps that lead out of a set that has no width, relative to the outcome.
NUDGES = 10.0 ** np.arange(-9, 4)
#: Rounding of outcomes, relative to their size.
ROUNDING = 1e-9

#: Sets without a closed form ask CVXPY, which numbers its variables with one counter
#: for all threads and does not guard it.
_ONE_AT_A_TIME = RLock()
#: Finite sets of at most so many outcomes are tried one by one, more than a model may
#: have where each counts; and so many corners of others.
MOST_LISTED, MOST_CORNERS = 500, 64


class Region(Protocol):
    """A set, or a user's oracle: what names a worst outcome of one context."""

    @property
    def dim(self) -> int: ...

    def worst_case(self, direction: Array) -> Array: ...


class SetOracle(Protocol):
    """The sets of one key at n contexts."""

    @property
    def dim(self) -> int:
        """Number of entries of an outcome."""

    def worst_case(self, directions: Array) -> Array:
        """Each set's worst outcome in its direction, shape (n, dim)."""

    def worst_on(self, entries: Indices, directions: Array) -> Array:
        """Some entries of the worst outcome in directions that see only these."""

    def narrowed(self, rows: Rows) -> SetOracle:
        """The same at some contexts."""

    def blocks(self) -> Indices:
        """Which entries of an outcome move together, shape (dim,)."""

    def maxima(self, directions: Array) -> Array | None:
        """How far one context's set goes in many directions, shape (n,); or None."""

    def signed(self, outcomes: Array) -> Array:
        """Outcomes without the rounding below zero of entries that are not negative."""


@dataclass(frozen=True)
class FixedOracle:
    """One set for all contexts.

    Attributes
    ----------
    region : the set, or a user's oracle
    nonneg : which entries are declared not to be negative, shape (dim,); or None
    """

    region: Region
    nonneg: npt.NDArray[np.bool_] | None = None

    @property
    def dim(self) -> int:
        """Number of entries of an outcome."""
        return self.region.dim

    def worst_case(self, directions: Array) -> Array:
        """The set's worst outcome in each direction, shape (n, dim)."""
        with _ONE_AT_A_TIME:
            outcomes = [self._one(direction) for direction in directions]
        return self.signed(np.reshape(outcomes, directions.shape))

    def signed(self, outcomes: Array) -> Array:
        """Outcomes without the rounding below zero of entries that are not negative."""
        if self.nonneg is None:
            return outcomes
        return np.where(self.nonneg, np.maximum(outcomes, 0.0), outcomes)

    def worst_on(self, entries: Indices, directions: Array) -> Array:
        """Some entries of the worst outcome in directions that see only these."""
        full = _spread(entries, directions, self.dim)
        return np.asarray(self.worst_case(full)[:, entries])

    def narrowed(self, rows: Rows) -> FixedOracle:
        """The same at some contexts."""
        del rows
        return self

    def blocks(self) -> Indices:
        """Which entries of an outcome move together, shape (dim,)."""
        if isinstance(self.region, UncertaintySet):
            return self.region.blocks()
        return np.zeros(self.dim, dtype=int)

    def listed(self, most: int) -> Array | None:
        """Every outcome of a set of at most so many, shape (outcomes, dim); or None."""
        if not isinstance(self.region, UncertaintySet):
            return None
        outcomes = self.region.listed()
        return None if outcomes is None or len(outcomes) > most else outcomes

    def maxima(self, directions: Array) -> Array | None:
        """How far the set goes in many directions, shape (n,); or None."""
        if not isinstance(self.region, UncertaintySet):
            return None
        return self.region.maxima(directions)

    def corners(self, most: int) -> Array | None:
        """Outcomes with every other one between them, shape (corners, dim); None
        where these are not known, or more than so many.
        """
        if not isinstance(self.region, UncertaintySet):
            return None
        return self.region.corners(most)

    def _one(self, direction: Array) -> Array:
        region = self.region
        try:
            outcome = region.worst_case(direction)
        except Unbounded:
            return np.full(self.dim, np.nan)
        if not isinstance(region, UncertaintySet) or not direction.any():
            return outcome
        believed = _lies_on(region, direction, outcome)
        return outcome if believed else np.full(self.dim, np.nan)


def _lies_on(region: UncertaintySet, direction: Array, outcome: Array) -> bool:
    """Whether an outcome is in a set, and steps along the direction lead out."""
    if isinstance(region, Union):
        best = max(region.sets, key=lambda member: member.support(direction))
        return _lies_on(best, direction, outcome)
    if not region.contains(outcome, INSIDE):
        return False
    if isinstance(region, Finite):
        values = region.points @ direction
        slack = INSIDE * np.ptp(values) + EDGE * float(
            np.abs(direction) @ np.abs(outcome)
        )
        return bool(direction @ outcome >= values.max() - slack)
    if isinstance(region, LabelSet | Mixed):
        # Labels have no boundary to step over; their oracle is an enumeration.
        return True
    if isinstance(region, Box) and not region.is_bounded:
        # There may be no way to the opposite end; which end is meant is a sign.
        return True
    opposite = region.worst_case(-direction)
    way = outcome - opposite
    gains = direction * way
    rounding = EDGE * float(np.abs(direction) @ (np.abs(outcome) + np.abs(opposite)))
    if gains.sum() <= rounding:
        # The set has no width here, or it is the answer to another question.
        nudges = _nudges(direction, outcome)
        if isinstance(region, ProbabilityBall):
            # A divergence is of second order: small steps in it are lost in rounding.
            nudges = nudges[np.abs(nudges).max(axis=1) >= STEP]
        inside = region.contains(outcome + nudges, EDGE)
        return bool(gains.sum() >= -rounding and not np.any(inside))
    size = np.maximum(STEP * np.abs(way), ROUNDING * np.abs(outcome))
    each = np.flatnonzero(gains >= SHARE * gains.sum())
    steps = np.zeros((1 + len(each), len(way)))
    steps[0] = np.sign(way) * np.where(way, size, 0.0)
    steps[1 + np.arange(len(each)), each] = (np.sign(direction) * size)[each]
    if direction @ steps[0] <= 0:
        steps[0] = STEP * way
    return not np.any(region.contains(outcome + steps, EDGE))


def _nudges(direction: Array, outcome: Array) -> Array:
    """Steps of all sizes that gain: along one component, or from one to another."""
    steps = np.diag(np.sign(direction))
    exchange = np.zeros(len(direction))
    exchange[np.argmax(direction)] += 1
    exchange[np.argmin(direction)] -= 1
    steps = np.vstack([steps, exchange])
    steps = steps[steps @ direction > 0] * (float(np.abs(outcome).max()) or 1.0)
    return np.concatenate([nudge * steps for nudge in NUDGES])


@dataclass(frozen=True)
class BatchOracle:
    """The sets of a batch, with what is declared of the signs of outcomes.

    Attributes
    ----------
    batch : the sets
    nonneg : which entries are not negative, shape (dim,)
    """

    batch: Batch
    nonneg: npt.NDArray[np.bool_]

    @property
    def dim(self) -> int:
        """Number of entries of an outcome."""
        return len(self.nonneg)

    def worst_case(self, directions: Array) -> Array:
        """Each set's worst outcome in its direction, shape (n, dim)."""
        outcomes = _believed(self.batch.parts, directions)
        # An outcome that is worst without regard to signs, and has the right ones, is
        # worst with them; the others are asked for one by one.
        if self.nonneg.any():
            wrong = (outcomes[:, self.nonneg] < 0).any(axis=1)
            for i in np.flatnonzero(wrong).tolist():
                one = FixedOracle(self.region(i), self.nonneg)
                outcomes[i] = one.worst_case(directions[[i]])[0]
        return outcomes

    def worst_on(self, entries: Indices, directions: Array) -> Array:
        """Some entries of the worst outcome in directions that see only these."""
        if len(entries) < self.dim and not self.nonneg.any():
            shadows = [_shadow(part, entries) for part in self.batch.parts]
            parts = [part for part in shadows if part is not None]
            if len(parts) == len(shadows):
                return _believed(parts, directions)
        full = _spread(entries, directions, self.dim)
        return self.worst_case(full)[:, entries]

    def narrowed(self, rows: Rows) -> BatchOracle:
        """The same at some contexts."""
        batch: Any = self.batch[rows]
        return replace(self, batch=batch)

    def blocks(self) -> Indices:
        """Which entries of an outcome move together, shape (dim,)."""
        parts = self.batch.parts
        if len(parts) > 1:
            return np.zeros(self.dim, dtype=int)
        return parts[0].loss.block_numbers(self.dim)

    def maxima(self, directions: Array) -> Array | None:
        """How far the set of the only context goes, shape (n,); or None."""
        return None if self.nonneg.any() else self.batch[0].maxima(directions)

    def signed(self, outcomes: Array) -> Array:
        """Outcomes without the rounding below zero of entries that are not negative."""
        return np.where(self.nonneg, np.maximum(outcomes, 0.0), outcomes)

    def region(self, i: int) -> UncertaintySet:
        """Set i and the signs."""
        floor = np.where(self.nonneg, 0.0, -np.inf)
        region: UncertaintySet = self.batch[i]
        return region & Box(floor, np.full(self.dim, np.inf))

    def trouble(self) -> npt.NDArray[np.str_]:
        """Why a context has no worst case, or "": strings of shape (n,)."""
        endless = np.zeros((), dtype=bool)
        for part in self.batch.parts:
            endless = endless | ~np.isfinite(part.effective_budgets)
        trouble = np.where(endless, "unbounded_set", "")
        if self.nonneg.any() and not endless.all():
            ready = np.flatnonzero(~endless)
            trouble[ready[self.narrowed(ready).without_outcomes()]] = "empty_set"
        return trouble

    def without_outcomes(self) -> npt.NDArray[np.bool_]:
        """Whether no outcome of each set has the right signs, shape (n,)."""
        parts = self.batch.parts
        far = np.all([self._far(part) for part in parts], axis=0)
        if not all(part.loss.separates(part.prediction) for part in parts):
            # What costs least is known by component only where the loss is.
            with _ONE_AT_A_TIME:
                for i in np.flatnonzero(far).tolist():
                    far[i] = is_empty(self.region(i))
        return np.asarray(far)

    def _far(self, part: SetBatch) -> npt.NDArray[np.bool_]:
        """Whether the prediction, made nonnegative, is outside its set."""
        nearest = np.where(self.nonneg, np.maximum(part.points, 0.0), part.points)
        scores = part.loss.score(part.prediction, nearest)
        return np.asarray(scores > part.effective_budgets)


def _believed(parts: Sequence[SetBatch], directions: Array) -> Array:
    """Worst outcomes of a union of batches, nan where an answer is not believed."""
    each = [_checked(part, directions) for part in parts]
    if len(each) == 1:
        return each[0]
    values = np.stack([np.sum(directions * outcomes, axis=1) for outcomes in each])
    # nan is the largest to argmax: what is not believed of one part spoils the union.
    best = np.argmax(values, axis=0)
    return np.asarray(np.stack(each)[best, np.arange(len(directions))])


def _checked(part: SetBatch, directions: Array) -> Array:
    guard = nullcontext() if part.loss.closed_form else _ONE_AT_A_TIME
    with guard:
        outcomes = np.array(part.worst_case(directions))
    about = part.loss, part.prediction, part.budgets
    if isinstance(part.loss, LabelLoss) or has_labels(part.loss):
        good = membership(*about, outcomes, INSIDE)
    else:
        step = outcomes - part.points
        step *= STEP
        gains = np.einsum("ij,ij->i", directions, step)
        size = np.einsum("ij,ij->i", np.abs(directions), np.abs(outcomes))
        step += outcomes
        good, inside = memberships(*about, [(outcomes, INSIDE), (step, EDGE)])
        out = ~inside
        # Where the set has no width there is no step to take; an outcome that is
        # better than the middle is the answer to another question.
        narrow = gains <= EDGE * size
        if narrow.any() and (narrow & directions.any(axis=1)).any():
            unit = np.abs(outcomes).max(axis=1, keepdims=True)
            unit = np.sign(directions) * np.where(unit > 0, unit, 1.0)
            wide = [membership(*about, outcomes + k * unit, EDGE) for k in NUDGES]
            narrow &= ~np.any(wide, axis=0) | ~directions.any(axis=1)
        good = good & np.where(gains >= -EDGE * size, out | narrow, False)
    if not good.all():
        outcomes[~good] = np.nan
    return outcomes


def _spread(entries: Indices, directions: Array, dim: int) -> Array:
    """The directions with zeros for the entries they do not see, shape (n, dim)."""
    if len(entries) == dim:
        return directions
    full = np.zeros((len(directions), dim))
    full[:, entries] = directions
    return full


def _shadow(part: SetBatch, entries: Indices) -> SetBatch | None:
    """The sets' shadows on some entries, where these are sublevel sets; or None."""
    seen = part.loss.shadow(part.prediction, part.effective_budgets, entries)
    if seen is None:
        return None
    loss, prediction, budgets = seen
    return SetBatch(loss, prediction, budgets, Outcomes((Numbers(len(entries)),)), ())


def outcomes_of(oracle: SetOracle, n: int) -> list[Array]:
    """All outcomes of a set value of few, or its corners, each for n contexts."""
    if not isinstance(oracle, FixedOracle):
        return []
    outcomes = oracle.listed(MOST_LISTED)
    if outcomes is None:
        outcomes = oracle.corners(MOST_CORNERS)
    return [] if outcomes is None else [np.tile(row, (n, 1)) for row in outcomes]
