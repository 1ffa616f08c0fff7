"""The judge: what is kept, violated, decided and audited is measured here alone.

It answers four questions about decisions, for one context or many.

1. What is every constraint, as it was written, at its worst outcome?  (`judge`)
2. By how much does each row miss there, and is that small?  (`judge`)
3. Does a decision violate once its outcome is known?  (`realise`)
4. Is there a decision at all?  (`is_decided`)

**Small** means small against the row's own net size: the larger of what it compares,
the part without the outcome and the part with it, when all has cancelled. No other
row, no big constant that cancels and no fixed number plays a part, so the answer is the
same in any unit. What is left of terms that cancel is also small where it is less than
the last digits of the decision are worth in it. Where a row is made of variables that
are next to nothing (a rule that is best at zero) small means small against what these
are worth elsewhere: a miss that can be mended by moving them so little that no other
row would notice.

**A violation** is a miss beyond what the audit found at the worst outcome, the audited
slack, by more than the row's resolution: rounding, and what the solver's last digits of
the decision are worth between the worst outcome and this one. So an outcome inside its
set never violates, and no miss is too small to count because something else is large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ...conic.program import Indices
from .affine_rows import AffineRows, as_affine
from .judgement import AIM, TOLERANCE, Judgement
from .materiality import RESOLUTION, noise, sizes_elsewhere
from .realised import Realised
from .set_oracles import SetOracle
from .statuses import Flags, has_failed, is_decided
from .tape import Leaves, Tape
from .written_rows import Extremes, Held, WrittenRows

#: Relative size of rounding when a row is evaluated.
ROUNDING = 1e-12
#: Relative misses up to which rounding is looked at more closely, and its relative size
#: in terms that cancel.
NOTICED, LAST_DIGIT = 1e-6, 1e-14

#: Share of its variable's largest entry that an entry next to nothing counts for, where
#: the sizes of what a row adds up are asked for.
NEXT_TO_NOTHING = 5e-3

#: In the words of a certificate.
IN_WORDS = (
    f"A violation is a miss beyond the audited slack by more than the resolution of "
    f"the solver, {RESOLUTION:g} of what the decision adds up; the audit passes slacks "
    f"up to {TOLERANCE:g} of a row's own size."
)


@dataclass(frozen=True, eq=False)
class Ruler:
    """The judge of one model's decisions: arrays only, nothing of CVXPY.

    Attributes
    ----------
    uncertain : the uncertain constraints
    certain : the others
    objective : tape of the objective, as written
    cost : the objective as rows to be minimised, if it is uncertain; else None
    sense : 1.0 to minimise, -1.0 to maximise
    lower, upper : declared bounds of the variables' entries, shape (entries,)
    whole : which entries are whole numbers, shape (entries,)
    starts : where each variable's entries start
    """

    uncertain: tuple[WrittenRows, ...]
    certain: tuple[WrittenRows, ...]
    objective: Tape
    cost: WrittenRows | None
    sense: float
    lower: Array
    upper: Array
    whole: Flags
    starts: Indices

    @property
    def rows(self) -> int:
        """Number of uncertain rows."""
        return sum(part.size for part in self.uncertain)

    @property
    def tapes(self) -> list[Tape]:
        """All rows as written: uncertain, certain, and the objective."""
        parts = (*self.uncertain, *self.certain)
        return [*(part.residual for part in parts), self.objective]

    @cached_property
    def affine(self) -> list[AffineRows | None]:
        """The same, tape by tape, where they are affine in the decision."""
        return [as_affine(tape, len(self.lower)) for tape in self.tapes]

    def tidied(self, values: Array) -> Array:
        """Decisions within their declared bounds, whole where they are declared so."""
        tidy = np.clip(values, self.lower, self.upper)
        return np.where(self.whole, np.round(tidy), tidy) if self.whole.any() else tidy

    def judge(
        self,
        values: Array,
        promised: Array,
        ordinary: Array,
        oracles: Sequence[SetOracle],
        resolution: Array | None = None,
    ) -> Judgement:
        """Hold n decisions, tidied, against their sets.

        Parameters
        ----------
        values : shape (n, entries of the variables)
        promised : shape (n,), what the solver says the objective is worth; nan where it
            says nothing
        ordinary : values of the ordinary parameters
        oracles : for each key its sets at the n contexts
        resolution : shape (n,), differences of the objective that the solver cannot
            tell; a worst case next to nothing has no size of its own to measure by
        """
        held = Held(values, ordinary, oracles)
        extremes = [part.worst(held) for part in self.uncertain]
        cost = None if self.cost is None else self.cost.worst(held)
        objective = self._objective(held, cost)
        binding = _binding(extremes, len(held))
        outcomes = self._outcomes(held, extremes, cost, binding)
        leaves = Leaves(values, outcomes, ordinary)
        # Where nothing is promised, the worst case must be believed all the same.
        open_end = np.isnan(promised) & ~np.isnan(objective)
        gap = np.where(open_end, 0.0, np.abs(objective - promised))
        size = np.abs(objective) if cost is None else cost.size[:, 0]
        value, net = self._compared(extremes, leaves)
        value = np.column_stack([value, gap])
        size = np.fmax(size, np.abs(promised))
        if resolution is not None:
            size = np.maximum(size, resolution / AIM)
        net = np.column_stack([net, size])
        relative = self._mended(
            _relative(value, net), value, net, held, outcomes, extremes
        )
        slack = [np.maximum(each.value, 0.0) for each in extremes]
        n = len(values)
        return Judgement(
            objective,
            np.hstack([np.zeros((n, 0)), *slack]),
            np.column_stack([np.zeros((n, 0)), *(s.max(axis=1) for s in slack)]),
            binding,
            np.max(relative, axis=1),
            relative[:, -1],
            outcomes,
        )

    def realise(
        self,
        status: npt.ArrayLike,
        values: Array,
        slack: Array,
        certified: Array,
        feared: Sequence[Array],
        outcomes: Sequence[Array],
        ordinary: Array,
    ) -> Realised:
        """Hold n decisions against their outcomes.

        Parameters
        ----------
        status : shape (n,)
        values : shape (n, entries of the variables)
        slack : shape (n, rows), as audited
        certified : shape (n,), the objective at its worst; nan where none is promised
        feared, outcomes : for each key the worst outcome and the real one, (n, dim)
        ordinary : values of the ordinary parameters
        """
        decided, failed = is_decided(status), has_failed(status)
        n = len(decided)
        objective, miss = np.full(n, np.nan), np.full(n, -np.inf)
        at = np.flatnonzero(decided)
        if at.size:
            leaves = Leaves(values[at], [y[at] for y in outcomes], ordinary)
            worst = [
                _where(w[at], y) for w, y in zip(feared, leaves.outcomes, strict=True)
            ]
            objective[at] = self.objective.rows(leaves)[:, 0]
            miss[at] = self._missed(
                leaves, slack[at], certified[at], objective[at], worst
            )
        miss[failed] = np.inf
        return Realised(decided, (miss > 0) | failed, objective, miss)

    # -- misses once the outcome is known ------------------------------------------

    def _missed(
        self,
        leaves: Leaves,
        slack: Array,
        certified: Array,
        objective: Array,
        feared: list[Array],
    ) -> Array:
        """The largest relative miss of each context; -inf if nothing is missed."""
        over, size, bilinear = [], [], []
        start = 0
        for part in self.uncertain:
            value, net = part.at(leaves)
            over.append(value - slack[:, start : start + part.size])
            size.append(net)
            bilinear += [part.is_bilinear] * part.size
            start += part.size
        if self.cost is not None:
            value, net = self.cost.at(leaves)
            promised = np.where(np.isnan(certified), np.inf, self.sense * certified)
            over.append(value - promised[:, None])
            size.append(
                np.maximum(
                    net, np.where(np.isinf(promised), 0.0, np.abs(promised))[:, None]
                )
            )
            bilinear.append(self.cost.is_bilinear)
        if not over:
            return np.full(len(leaves), -np.inf)
        excess, net = np.hstack(over), np.hstack(size)
        # nan, as at an outcome that is infinite, keeps nothing.
        missed = ~(excess <= ROUNDING * net)
        rounded = np.flatnonzero((missed & (excess <= NOTICED * net)).any(axis=1))
        if rounded.size:
            gross = self._gross(_leaves_at(leaves, rounded))
            columns = [*range(self.rows), *([-1] if self.cost is not None else [])]
            least = LAST_DIGIT * gross[:, columns]
            missed[rounded] &= ~(excess[rounded] <= least)
        doubtful = np.flatnonzero((missed & np.array(bilinear)).any(axis=1))
        if doubtful.size:
            unclear = noise(
                self, _leaves_at(leaves, doubtful), [w[doubtful] for w in feared]
            )
            missed[doubtful] &= ~(excess[doubtful] <= unclear)
        relative = np.where(net > 0, excess / np.where(net > 0, net, 1.0), np.inf)
        relative = np.where(np.isnan(relative), np.inf, relative)
        return np.asarray(np.max(np.where(missed, relative, -np.inf), axis=1))

    # -- misses at the worst outcome -------------------------------------------------

    def _objective(self, held: Held, cost: Extremes | None) -> Array:
        if cost is None:
            return np.array(self.objective.rows(held.leaves({}))[:, 0])
        return self.sense * cost.value[:, 0]

    def _compared(
        self, extremes: list[Extremes], leaves: Leaves
    ) -> tuple[Array, Array]:
        """Values and net sizes of uncertain rows at their worst, then certain ones."""
        n = len(leaves)
        value = [np.zeros((n, 0)), *(each.value for each in extremes)]
        size = [np.zeros((n, 0)), *(each.size for each in extremes)]
        for part in self.certain:
            over, net = part.at(leaves)
            value.append(over)
            size.append(net)
        return np.hstack(value), np.hstack(size)

    def _gross(self, leaves: Leaves) -> Array:
        """Sizes of what all rows add up, the objective last: (n, rows).

        Entries next to nothing count as a share of their variable's largest.
        """
        floor = NEXT_TO_NOTHING * self._largest(leaves.values)
        return np.hstack([tape.gross(leaves, floor, self.whole) for tape in self.tapes])

    def _largest(self, values: Array) -> Array:
        """The largest entry of each entry's variable, shape (n, entries)."""
        if not len(self.starts):
            return np.abs(values)
        largest = np.maximum.reduceat(np.abs(values), self.starts, axis=1)
        counts = np.diff(np.append(self.starts, values.shape[1]))
        return np.repeat(largest, counts, axis=1)

    def _mended(
        self,
        relative: Array,
        value: Array,
        net: Array,
        held: Held,
        outcomes: Sequence[Array],
        extremes: list[Extremes],
    ) -> Array:
        """The misses, less what the last digits of a decision are worth, with rows of
        next to no size measured by what they are made of.
        """
        rows = np.flatnonzero(~(relative <= AIM).all(axis=1))
        if not rows.size:
            return relative
        leaves = _filled(held.at(rows), [y[rows] for y in outcomes])
        gross = self._gross(leaves)
        self._at_their_worst(gross, relative, value, rows, held, extremes)
        # Certain rows, as flows that are conserved, are a matter of solving only.
        digits = np.full(gross.shape[1], AIM)
        digits[: self.rows], digits[-1] = RESOLUTION, RESOLUTION
        within = value[rows] <= digits * gross
        relative[rows] = np.where(within, _relative(value[rows], gross), relative[rows])
        left = np.flatnonzero(~(relative[rows] <= AIM).all(axis=1))
        if left.size:
            elsewhere = sizes_elsewhere(self, _leaves_at(leaves, left))
            rows, within = rows[left], within[left]
            size = np.maximum(net[rows], elsewhere)
            measured = _relative(value[rows], size)
            better = np.minimum(relative[rows], measured)
            relative[rows] = np.where(within, relative[rows], better)
        return relative

    def _at_their_worst(
        self,
        gross: Array,
        relative: Array,
        value: Array,
        rows: Indices,
        held: Held,
        extremes: list[Extremes],
    ) -> None:
        """Write over sizes of rows that miss those at the row's own worst outcome: of a
        maximum another piece may count there, in other units; and measure the row by
        the piece that it is.
        """
        missed = ~(relative[rows] <= AIM)
        start = 0
        for part, extreme in zip(self.uncertain, extremes, strict=True):
            some = missed[:, start : start + part.size].any(axis=0)
            for row in np.flatnonzero(some).tolist():
                which = np.flatnonzero(missed[:, start + row])
                at = rows[which]
                here = held.at(at)
                worst = part.worst_outcomes(
                    here, _extremes_at(extreme, at), np.full(len(at), row)
                )
                none = [
                    np.full((len(at), oracle.dim), np.nan) for oracle in here.oracles
                ]
                leaves = _filled(here, [worst.get(k, y) for k, y in enumerate(none)])
                floor = NEXT_TO_NOTHING * self._largest(leaves.values)
                own = part.residual.gross(leaves, floor, self.whole)[:, row]
                gross[which, start + row] = own
                measured = _relative(value[at, start + row], part.piece(leaves, row))
                relative[at, start + row] = np.minimum(
                    relative[at, start + row], measured
                )
            start += part.size

    def _outcomes(
        self,
        held: Held,
        extremes: list[Extremes],
        cost: Extremes | None,
        binding: Indices,
    ) -> list[Array]:
        """The outcome worst for the objective, or for the row with the least room."""
        n = len(held)
        if self.cost is not None and cost is not None:
            worst = self.cost.worst_outcomes(held, cost, np.zeros(n, dtype=int))
            return [worst[k] for k in range(len(held.oracles))]
        outcomes = [np.full((n, oracle.dim), np.nan) for oracle in held.oracles]
        for number in np.unique(binding[binding >= 0]).tolist():
            at = np.flatnonzero(binding == number)
            part, extreme = self.uncertain[number], extremes[number]
            some = _extremes_at(extreme, at)
            least = np.argmax(_room(some), axis=1)
            worst = part.worst_outcomes(held.at(at), some, least)
            for key, values in worst.items():
                outcomes[key][at] = values
        return outcomes


def _relative(value: Array, size: Array) -> Array:
    """A miss in terms of its row's size; inf where there is a miss and no size."""
    value = np.asarray(value)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(
            value > 0, value / size, np.where(np.isnan(value), np.nan, 0.0)
        )
    return np.asarray(share)


def _room(extremes: Extremes) -> Array:
    """Values of rows in terms of their sizes: the largest has the least room."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = extremes.value / extremes.size
    return np.where(extremes.size > 0, share, np.sign(extremes.value))


def _binding(extremes: list[Extremes], n: int) -> Indices:
    """The constraint with the least room, by its rows' own sizes: shape (n,)."""
    if not extremes:
        return np.full(n, -1)
    room = np.column_stack([_room(e).max(axis=1) for e in extremes])
    return np.asarray(np.argmax(room, axis=1))


def _where(feared: Array, outcome: Array) -> Array:
    """The worst outcome, or the real one where none is known."""
    return np.where(np.isfinite(feared), feared, outcome)


def _filled(held: Held, outcomes: Sequence[Array]) -> Leaves:
    """The leaves at given outcomes; where there is none, at some outcome of the set."""
    given = {}
    for key, (outcome, oracle) in enumerate(zip(outcomes, held.oracles, strict=True)):
        lost = ~np.isfinite(outcome).all()
        other = oracle.worst_case(np.zeros(outcome.shape)) if lost else outcome
        given[key] = _where(outcome, other)
    return held.leaves(given)


def _extremes_at(extremes: Extremes, rows: Indices) -> Extremes:
    chosen = None if extremes.chosen is None else extremes.chosen[rows]
    joints = tuple({k: v[rows] for k, v in j.items()} for j in extremes.joints)
    return Extremes(extremes.value[rows], extremes.size[rows], joints, chosen)


def _leaves_at(leaves: Leaves, rows: Indices) -> Leaves:
    outcomes: Any = [y[rows] for y in leaves.outcomes]
    return Leaves(leaves.values[rows], outcomes, leaves.ordinary)
