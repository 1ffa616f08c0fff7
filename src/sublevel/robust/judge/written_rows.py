"""One of the user's constraints, or the objective, as it was written: row by row.

A row is what must not be positive (of an equality: what must be zero; of the objective:
the cost). At a decision it is a function of the outcome, and its worst value over the
sets is found by asking the sets' own oracles, in the directions in which the written
expression meets the outcome, and evaluating the written expression at their answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...checks import Array, BoolArray
from ...conic.program import Indices
from ...sets import Finite
from .place import Place, ProbedPlace, value_at
from .set_oracles import FixedOracle, SetOracle, outcomes_of
from .sum_row import SumRow
from .tape import Leaves, Tape, flat
from .worst_sum import WorstSum

if TYPE_CHECKING:
    from .concave import ConcavePart

#: Outcomes of different sets are joined in all ways while these are at most so many.
MOST_JOINED = 1024
#: Outcomes of a finite set that are tried one by one where there is another set beside.
MOST_OUTCOMES = 200

#: Relative difference of a row and its piece that is rounding.
ROUNDED = 1e-12

#: Key number -> outcomes, shape (n, dim).
Joint = dict[int, Array]


@dataclass(frozen=True, eq=False)
class Held:
    """What decisions are held against.

    Attributes
    ----------
    values : array of shape (n, entries of the user's variables)
    ordinary : values of the ordinary parameters
    oracles : for each key, its sets at the n contexts
    """

    values: Array
    ordinary: Array
    oracles: Sequence[SetOracle]

    def __len__(self) -> int:
        return len(self.values)

    def leaves(self, outcomes: Mapping[int, Array]) -> Leaves:
        """The leaves at given outcomes; what is not given plays no part."""
        n = len(self)
        every = [
            outcomes[k] if k in outcomes else np.zeros((n, oracle.dim))
            for k, oracle in enumerate(self.oracles)
        ]
        return Leaves(self.values, every, self.ordinary)

    def at(self, rows: Indices) -> Held:
        """The same at some contexts."""
        oracles = [oracle.narrowed(rows) for oracle in self.oracles]
        return replace(self, values=self.values[rows], oracles=oracles)


@dataclass(frozen=True, eq=False)
class Extremes:
    """Rows at their worst outcomes.

    Attributes
    ----------
    value : array of shape (n, rows), the worst value
    size : array of shape (n, rows), net size of what the row compares there
    joints : candidate outcomes, where the rows are not each a place of its own; else
        the worst outcome of the keys that a single row sees as a whole
    chosen : which of them is worst, shape (n, rows)
    """

    value: Array
    size: Array
    joints: tuple[Joint, ...] = ()
    chosen: Indices | None = None


@dataclass(frozen=True, eq=False)
class WrittenRows:
    """The rows of a written constraint, or of the objective.

    Attributes
    ----------
    text : the constraint in CVXPY's words
    equal : whether rows must be zero
    residual : tape of what must not be positive
    free : tape of its terms without the outcome, or None if there are none
    sides : tapes of what is compared
    plain : for each row the rest of it as one place, or None if it is not
    places : where the outcome enters, if the rows are not plain
    concave : parts that bend the outcome downwards, if the rows are not plain
    sums : for each row what it adds up, where trying each place by itself may not find
        the worst outcome; else none
    """

    text: str
    equal: bool
    residual: Tape
    free: Tape | None
    sides: tuple[Tape, ...]
    plain: tuple[Place, ...] | None
    places: tuple[Place, ...] = ()
    concave: tuple[ConcavePart, ...] = ()
    sums: tuple[SumRow, ...] = ()

    @cached_property
    def size(self) -> int:
        """Number of rows."""
        return int(np.prod(self.residual.shape, dtype=int))

    @property
    def is_bilinear(self) -> bool:
        """Whether what multiplies the outcome depends on the decision."""
        return any(place.is_bilinear for place in self.plain or self.places) or bool(
            self.concave
        )

    @property
    def storable(self) -> str | None:
        """What no file can hold, or None."""
        tapes = [self.residual, *self.sides, *([self.free] if self.free else [])]
        places = [*(self.plain or ()), *self.places]
        places += [place for row in self.sums for place in row.places]
        if self.concave or any(isinstance(place, ProbedPlace) for place in places):
            return "a function that bends the outcome, or what multiplies it"
        return next((t.storable for t in tapes if t.storable), None)

    def at(self, leaves: Leaves) -> tuple[Array, Array]:
        """The rows at known outcomes, and their net sizes: shape (n, rows) each."""
        if self.plain is None:
            within = self._within
            if within is None:
                return self._signed(self.residual.rows(leaves)), self._sides(leaves)
            *sides, value = map(flat, self.residual.results(leaves, within[0]))
            return self._signed(value), self._sized([*sides, *within[1]], len(leaves))
        free = self._free(leaves)
        certain, moved = np.empty_like(free), np.empty_like(free)
        for r, place in enumerate(self.plain):
            certain[:, r], moved[:, r] = value_at(place, leaves)
        certain += free
        size = np.maximum(np.abs(certain), np.abs(moved))
        return self._signed(certain + moved), size

    def gross(
        self, leaves: Leaves, floor: Array, whole: BoolArray | bool = False
    ) -> Array:
        """Size of what the rows add up, before the decision cancels: (n, rows)."""
        return self.residual.gross(leaves, floor, whole)

    def piece(self, leaves: Leaves, row: int) -> Array:
        """Net size of the piece of a maximum that a row is, at known outcomes: (n,).

        0 where the row is none of its pieces as it stands. A row is as large as what it
        compares, however it is put together with others.
        """
        value, size = np.abs(self.residual.rows(leaves)[:, row]), np.zeros(len(leaves))
        for place in self.places:
            certain, moved = value_at(place, leaves)
            own = np.maximum(np.abs(certain), np.abs(moved))
            same = np.abs(np.abs(certain + moved) - value) <= ROUNDED * own
            size = np.maximum(size, np.where(same, own, 0.0))
        return size

    def worst(self, held: Held) -> Extremes:
        """The rows at their worst outcomes."""
        if self.plain is not None:
            return self._by_place(held)
        return self._by_outcomes(held) or self._by_sums(held) or self._by_trial(held)

    def worst_outcomes(
        self, held: Held, extremes: Extremes, rows: Indices
    ) -> dict[int, Array]:
        """The outcome of each key that is worst for one row a context: (n, dim)."""
        n = len(held)
        outcomes = {}
        if self.plain is None:
            assert extremes.chosen is not None
            best = extremes.chosen[np.arange(n), rows]
            for key, oracle in enumerate(held.oracles):
                outcomes[key] = np.full((n, oracle.dim), np.nan)
            for number in np.unique(best).tolist():
                at = np.flatnonzero(best == number)
                for key, values in extremes.joints[number].items():
                    outcomes[key][at] = values[at]
            return outcomes
        if extremes.joints and len(extremes.joints[0]) == len(held.oracles):
            # A single row has asked for them already.
            return extremes.joints[0]
        directions = {k: np.zeros((n, o.dim)) for k, o in enumerate(held.oracles)}
        for r in np.unique(rows).tolist():
            at, place = np.flatnonzero(rows == r), self.plain[r]
            slopes = place.directions(held.values[at], held.ordinary)
            for key, slope in slopes.items():
                directions[key][np.ix_(at, place.entries[key])] = slope
        return {k: o.worst_case(directions[k]) for k, o in enumerate(held.oracles)}

    # -- a row that is one place: its slope asks, its value answers ------------------

    def _by_place(self, held: Held) -> Extremes:
        assert self.plain is not None
        free = np.zeros((len(held), self.size))
        if self.free is not None:
            free = self._free(held.leaves({}))
        value, size = np.empty_like(free), np.empty_like(free)
        whole: Joint = {}
        for r, place in enumerate(self.plain):
            certain = free[:, r] + place.certain(held.values, held.ordinary)
            high, low = np.zeros(len(held)), np.zeros(len(held))
            for key, slope in place.directions(held.values, held.ordinary).items():
                oracle, entries = held.oracles[key], place.entries[key]
                outcomes = oracle.worst_on(entries, slope)
                high += np.sum(slope * outcomes, axis=1)
                if len(self.plain) == 1 and len(entries) == oracle.dim:
                    whole[key] = outcomes
                if self.equal:
                    low += np.sum(slope * oracle.worst_on(entries, -slope), axis=1)
            value[:, r] = certain + high
            if self.equal:
                value[:, r] = np.maximum(np.abs(value[:, r]), np.abs(certain + low))
            size[:, r] = np.maximum(np.abs(certain), np.abs(high))
        return Extremes(value, size, (whole,))

    # -- a row of maxima and curves: every candidate is tried -----------------------

    def _by_outcomes(self, held: Held) -> Extremes | None:
        """One outcome of a set of few after another, if there are other sets too."""
        seen = {key for place in self.places for key in place.entries}
        seen |= {key for part in self.concave for key in part.keys}
        for key in sorted(seen) if len(seen) > 1 else ():
            oracle = held.oracles[key]
            if not isinstance(oracle, FixedOracle):
                continue
            outcomes = oracle.listed(MOST_OUTCOMES)
            if outcomes is None or len(outcomes) == 1:
                continue
            joints: list[Joint] = []
            for outcome in outcomes:
                single = FixedOracle(Finite(outcome[None]), oracle.nonneg)
                oracles = [
                    single if k == key else o for k, o in enumerate(held.oracles)
                ]
                joints += self.worst(replace(held, oracles=oracles)).joints
            return self._tried(held, joints)
        return None

    def _by_sums(self, held: Held) -> Extremes | None:
        """Rows that add up several functions of the outcome, each as a sum."""
        joints = []
        for r, row in enumerate(self.sums):

            def evaluate(joint: Joint, r: int = r) -> Array:
                return self._row_at(held, joint, r)

            joint = WorstSum(row, held, evaluate).joint()
            if joint is None:
                return None
            joints.append(joint)
        return self._tried(held, joints) if joints else None

    def _by_trial(self, held: Held) -> Extremes:
        return self._tried(held, self._joined(held, self._candidates(held)))

    def _tried(self, held: Held, joints: Sequence[Joint]) -> Extremes:
        best, chosen = np.full((len(held), self.size), -np.inf), None
        chosen = np.zeros(best.shape, dtype=int)
        size = np.zeros(best.shape)
        for number, joint in enumerate(joints):
            leaves = held.leaves(joint)
            value = self._signed(self.residual.rows(leaves))
            # nan is worse than anything: an outcome that is not believed, or a function
            # that is not defined there.
            better = (value > best) | (np.isnan(value) & ~np.isnan(best))
            best = np.where(better, value, best)
            chosen = np.where(better, number, chosen)
            size = np.where(better, self._sides(leaves), size)
        return Extremes(best, size, tuple(joints), chosen)

    def _candidates(self, held: Held) -> list[Joint]:
        """Outcomes of some keys each, of which the worst ones are made."""
        candidates: list[Joint] = []
        for place in self.places:
            slopes = place.directions(held.values, held.ordinary)
            for sign in (1.0, -1.0):
                joint = {}
                for key, slope in slopes.items():
                    oracle = held.oracles[key]
                    full = np.zeros((len(held), oracle.dim))
                    full[:, place.entries[key]] = sign * slope
                    joint[key] = oracle.worst_case(full)
                candidates.append(joint)
        for part in self.concave:
            candidates += part.worst(held.values, held.ordinary, held.oracles)
        seen = {key for place in self.places for key in place.entries}
        seen |= {key for part in self.concave for key in part.keys}
        for key in sorted(seen):
            candidates += [
                {key: each} for each in outcomes_of(held.oracles[key], len(held))
            ]
        return candidates

    def _joined(self, held: Held, candidates: list[Joint]) -> list[Joint]:
        """Candidates of different keys put together."""
        groups: dict[frozenset[int], list[Joint]] = {}
        for joint in candidates:
            groups.setdefault(frozenset(joint), []).append(joint)
        apart = _are_apart(list(groups))
        if len(groups) == 1:
            return candidates
        count = int(np.prod([len(group) for group in groups.values()], dtype=float))
        if apart and count <= MOST_JOINED:
            return [_merged(parts) for parts in product(*groups.values())]
        return self._ascended(held, candidates)

    def _ascended(self, held: Held, candidates: list[Joint]) -> list[Joint]:
        """One joint outcome a row and start, improved key by key while that helps."""
        joints = []
        for start in candidates:
            for r in range(self.size):
                joint = self._climb(
                    held, dict(candidates[0]) | dict(start), candidates, r
                )
                joints.append(joint)
            if len(joints) >= MOST_JOINED:
                break
        return joints

    def _climb(
        self, held: Held, joint: Joint, candidates: list[Joint], r: int
    ) -> Joint:
        for other in candidates:
            for key, values in other.items():
                joint.setdefault(key, values)
        value = self._row_at(held, joint, r)
        for _ in range(3):
            before = value
            for other in candidates:
                trial = _merged([joint, other])
                worse = self._row_at(held, trial, r)
                better = worse > value
                joint = {
                    k: np.where(better[:, None], trial[k], joint[k]) for k in joint
                }
                value = np.where(better, worse, value)
            if (value <= before).all():
                break
        return joint

    def _row_at(self, held: Held, joint: Joint, r: int) -> Array:
        return self._signed(self.residual.rows(held.leaves(joint)))[:, r]

    def _free(self, leaves: Leaves) -> Array:
        if self.free is None:
            return np.zeros((len(leaves), self.size))
        rows = self.free.rows(leaves)
        return np.array(np.broadcast_to(rows, (len(leaves), self.size)))

    def _sides(self, leaves: Leaves) -> Array:
        """The largest net size of what is compared, shape (n, rows)."""
        return self._sized([side.rows(leaves) for side in self.sides], len(leaves))

    def _sized(self, sides: Sequence[Array], n: int) -> Array:
        """The largest of what is compared, from its rows."""
        size = np.zeros((n, self.size))
        for side in sides:
            rows = np.abs(side)
            if rows.shape[1] != size.shape[1]:
                rows = rows.max(axis=1, keepdims=True)
            size = np.maximum(size, rows)
        return size

    @cached_property
    def _within(self) -> tuple[list[int], list[Array]] | None:
        """Where sides are among the steps of the residual, and sides that are numbers;
        None where some are neither.
        """
        steps, numbers = [], []
        for side in self.sides:
            at = self.residual.position(side)
            if at is not None:
                steps.append(at)
            elif len(side.steps) == 1 and side.steps[0].name == "constant":
                numbers.append(flat(np.asarray(side.steps[0].data[0])[None]))
            else:
                return None
        return steps, numbers

    def _signed(self, value: Array) -> Array:
        return np.abs(value) if self.equal else np.asarray(value)


def _merged(parts: Sequence[Joint]) -> Joint:
    joint: Joint = {}
    for part in parts:
        joint |= part
    return joint


def _are_apart(groups: list[frozenset[int]]) -> bool:
    seen: set[int] = set()
    for group in groups:
        if seen & group:
            return False
        seen |= group
    return True
