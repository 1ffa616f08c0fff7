"""The worst outcome of a sum: group by group, each exactly.

Terms that share no block of an outcome are made worst independently. Within a group the
worst outcome is at the ends of its entries, if these move alone; or it is the answer to
the slope of one combination of pieces; or it is found by branching on the pieces.
Whatever is tried is evaluated as it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Protocol

import numpy as np

from ...checks import Array
from ...conic.program import Indices
from .branching import largest_sum, steepest
from .place import Place
from .set_oracles import FixedOracle, SetOracle, outcomes_of
from .sum_row import BentTerm, SumRow, entries_of

#: Most combinations of ends, or of pieces, that are tried one by one.
MOST_ENDS, MOST_COMBINED = 256, 512

#: Number of a key, and of an entry or of a block.
Pair = tuple[int, int]
#: Key number -> outcomes, shape (n, dim).
Joint = dict[int, Array]


class Decided(Protocol):
    """What decisions are held against."""

    @property
    def values(self) -> Array: ...

    @property
    def ordinary(self) -> Array: ...

    @property
    def oracles(self) -> Sequence[SetOracle]: ...


@dataclass(frozen=True, eq=False)
class Group:
    """Terms that share blocks, and all entries of these."""

    terms: list[BentTerm]
    entries: list[Pair]
    alone: bool
    linear: bool


class WorstSum:
    """Finds the worst outcome of one row at n contexts.

    Parameters
    ----------
    row : the row as a sum
    held : decisions, and the sets at their contexts
    evaluate : from joint outcomes to the row as written, shape (n,)
    """

    def __init__(
        self, row: SumRow, held: Decided, evaluate: Callable[[Joint], Array]
    ) -> None:
        self._row, self._held, self._evaluate = row, held, evaluate
        self._oracles = held.oracles
        self._blocks = [oracle.blocks() for oracle in held.oracles]
        self._slopes: dict[int, tuple[Place, dict[int, Array]]] = {}

    def joint(self) -> Joint | None:
        """The outcome of every key; None where it cannot be told."""
        groups = self._groups()
        joint = self._start()
        for group in groups:
            candidates = self._candidates(group, joint)
            if candidates is None:
                return None
            joint = self._best(joint, candidates)
        return self._bent_down(groups, joint)

    def _bent_down(self, groups: list[Group], joint: Joint) -> Joint | None:
        """The joint outcome, with the keys of the concave part worst for that."""
        part = self._row.concave
        if part is None:
            return joint
        if any(key in part.keys for group in groups for key, _ in group.entries):
            return None
        worst = part.worst(self._held.values, self._held.ordinary, self._oracles)
        if not worst and not all(self._is_single(key) for key in part.keys):
            return None
        return self._best(joint, [joint | changed for changed in worst])

    def _is_single(self, key: int) -> bool:
        oracle = self._oracles[key]
        return isinstance(oracle, FixedOracle) and oracle.listed(1) is not None

    def _start(self) -> Joint:
        """An outcome that is worst for the linear part."""
        n = len(self._held.values)
        directions = [np.zeros((n, oracle.dim)) for oracle in self._oracles]
        if self._row.linear is not None:
            self._add(directions, self._row.linear, None)
        return {
            key: oracle.worst_case(directions[key])
            for key, oracle in enumerate(self._oracles)
        }

    def _best(self, joint: Joint, candidates: list[Joint]) -> Joint:
        """The joint outcome with the worst of some changes, context by context."""
        best, value = joint, self._evaluate(joint)
        for changed in candidates:
            worse = self._evaluate(changed)
            better = (worse > value) | (np.isnan(worse) & ~np.isnan(value))
            best = {k: np.where(better[:, None], changed[k], best[k]) for k in best}
            value = np.where(better, worse, value)
        return best

    # -- groups -----------------------------------------------------------------------

    def _block(self, pair: Pair) -> Pair:
        return pair[0], int(self._blocks[pair[0]][pair[1]])

    def _groups(self) -> list[Group]:
        clusters: list[tuple[set[Pair], list[BentTerm]]] = []
        for term in self._row.terms:
            blocks, terms, apart = {self._block(e) for e in term.entries}, [term], []
            for cluster in clusters:
                if cluster[0] & blocks:
                    blocks |= cluster[0]
                    terms = [*cluster[1], *terms]
                else:
                    apart.append(cluster)
            clusters = [*apart, (blocks, terms)]
        linear = set()
        if self._row.linear is not None:
            linear = {self._block(e) for e in entries_of(self._row.linear)}
        groups = []
        for blocks, terms in clusters:
            entries = [
                (key, int(k))
                for key, label in sorted(blocks)
                for k in np.flatnonzero(self._blocks[key] == label)
            ]
            alone = len(entries) == len(blocks)
            groups.append(Group(terms, entries, alone, bool(linear & blocks)))
        return groups

    def _candidates(self, group: Group, joint: Joint) -> list[Joint] | None:
        """Joint outcomes of which one is worst for a group."""
        ends = 2 ** min(len(group.entries), 60) if group.alone else None
        largest = all(term.is_largest for term in group.terms)
        count = prod(len(t.places) for t in group.terms) if largest else None
        if ends is not None and ends <= min(MOST_ENDS, count or MOST_ENDS):
            return self._at_ends(group, joint)
        if count is not None:
            # Combinations are tried for all contexts at once, or formulas asked for
            # all combinations, context by context.
            few = count <= 2 * len(self._held.values)
            if count <= MOST_COMBINED and (few or not self._has_formulas(group)):
                choices = product(*(term.places for term in group.terms))
                return [self._towards(group, joint, list(c)) for c in choices]
            return [self._branched(group, joint)]
        if len(group.terms) == 1 and not group.linear:
            return self._each(group, joint)
        return None

    def _has_formulas(self, group: Group) -> bool:
        keys = sorted({key for key, _ in group.entries})
        first = [self._oracles[key].narrowed(np.array([0])) for key in keys]
        return _reach(first, np.zeros(0, dtype=int)) is not None

    def _at_ends(self, group: Group, joint: Joint) -> list[Joint]:
        ends: list[tuple[Array, Array]] = []
        for key, k in group.entries:
            up = np.ones((len(self._held.values), 1))
            oracle, entry = self._oracles[key], np.array([k])
            ends.append(
                (
                    oracle.worst_on(entry, -up)[:, 0],
                    oracle.worst_on(entry, up)[:, 0],
                )
            )
        joints = []
        for choice in product((0, 1), repeat=len(ends)):
            changed = {key: outcomes.copy() for key, outcomes in joint.items()}
            for (key, k), side, end in zip(group.entries, choice, ends, strict=True):
                changed[key][:, k] = end[side]
            joints.append(changed)
        return joints

    def _towards(
        self, group: Group, joint: Joint, places: list[Place], sign: float = 1.0
    ) -> Joint:
        """The joint outcome, with the group's entries worst for a sum of places."""
        n = len(self._held.values)
        directions = [np.zeros((n, oracle.dim)) for oracle in self._oracles]
        for place in places:
            self._add(directions, place, group, sign)
        if self._row.linear is not None:
            self._add(directions, self._row.linear, group, sign)
        return self._changed(group, joint, directions)

    def _changed(
        self, group: Group, joint: Joint, directions: Sequence[Array]
    ) -> Joint:
        changed = dict(joint)
        for key in sorted({key for key, _ in group.entries}):
            own = np.array([k for other, k in group.entries if other == key])
            outcomes = self._oracles[key].worst_case(directions[key])
            changed[key] = joint[key].copy()
            changed[key][:, own] = outcomes[:, own]
        return changed

    def _add(
        self,
        directions: Sequence[Array],
        place: Place,
        group: Group | None,
        sign: float = 1.0,
    ) -> None:
        """Add a place's slope, as far as it sees a group's entries."""
        if id(place) not in self._slopes:
            slopes = place.directions(self._held.values, self._held.ordinary)
            self._slopes[id(place)] = place, slopes
        for key, slope in self._slopes[id(place)][1].items():
            entries = place.entries[key]
            if group is not None:
                own = [k for other, k in group.entries if other == key]
                slope = np.where(np.isin(entries, own), slope, 0.0)
            directions[key][:, entries] += sign * slope

    def _each(self, group: Group, joint: Joint) -> list[Joint]:
        """One function that is monotone in each of its places, or of one number, or
        the largest of such: every place both ways, and each in turn.
        """
        (term,) = group.terms
        single = [
            self._towards(group, joint, [place], sign)
            for place in term.places
            for sign in (1.0, -1.0)
        ]
        turned = joint
        for place in term.places:
            narrow = Group([term], self._same_blocks(place), group.alone, group.linear)
            both = [self._towards(narrow, turned, [place], s) for s in (1.0, -1.0)]
            turned = self._best(both[0], both[1:])
        return [*single, turned, *self._of_few(group, joint)]

    def _of_few(self, group: Group, joint: Joint) -> list[Joint]:
        """Every outcome of a set of few: what is worst in each place need not be worst
        in all of them.
        """
        keys = {key for key, _ in group.entries}
        if len(keys) > 1:
            return []
        (key,), own = keys, np.array([k for _, k in group.entries])
        joints = []
        for outcome in outcomes_of(self._oracles[key], len(self._held.values)):
            changed = joint[key].copy()
            changed[:, own] = outcome[:, own]
            joints.append({**joint, key: changed})
        return joints

    def _same_blocks(self, place: Place) -> list[Pair]:
        blocks = {self._block(e) for e in entries_of(place)}
        return [
            (key, int(k))
            for key, label in sorted(blocks)
            for k in np.flatnonzero(self._blocks[key] == label)
        ]

    def _branched(self, group: Group, joint: Joint) -> Joint:
        """The worst outcome where there are too many combinations to try."""
        keys = sorted({key for key, _ in group.entries})
        n, dims = len(self._held.values), [o.dim for o in self._oracles]
        base = [np.zeros((n, dim)) for dim in dims]
        if self._row.linear is not None:
            self._add(base, self._row.linear, group)
        constants, slopes = [], []
        for term in group.terms:
            certain, slope = [], []
            for place in term.places:
                towards = [np.zeros((n, dim)) for dim in dims]
                self._add(towards, place, None)
                certain.append(place.certain(self._held.values, self._held.ordinary))
                slope.append(np.hstack([towards[key] for key in keys]))
            constants.append(np.array(certain))
            slopes.append(np.array(slope))
        changed = {key: outcomes.copy() for key, outcomes in joint.items()}
        ends = np.cumsum([dims[key] for key in keys])[:-1]
        for i in range(n):
            oracles = [self._oracles[key].narrowed(np.array([i])) for key in keys]

            def worst(direction: Array, oracles: list[SetOracle] = oracles) -> Array:
                parts = zip(oracles, np.split(direction, ends), strict=True)
                return np.concatenate([o.worst_case(d[None])[0] for o, d in parts])

            question = (
                np.concatenate([base[key][i] for key in keys]),
                [c[:, i] for c in constants],
                [s[:, i] for s in slopes],
            )
            reach = _reach(oracles, ends)
            if reach is None:
                outcome = largest_sum(*question, worst)
            else:
                outcome = worst(steepest(*question, reach))
            for key, part in zip(keys, np.split(outcome, ends), strict=True):
                own = [k for other, k in group.entries if other == key]
                changed[key][i, own] = part[own]
        return changed


def _reach(
    oracles: Sequence[SetOracle], ends: Indices
) -> Callable[[Array], Array] | None:
    """How far the sets go together, where formulas say so; else None."""
    none = [oracle.maxima(np.zeros((1, oracle.dim))) for oracle in oracles]
    if any(answer is None for answer in none):
        return None

    def reach(directions: Array) -> Array:
        parts = zip(oracles, np.split(directions, ends, axis=1), strict=True)
        each = [oracle.maxima(part) for oracle, part in parts]
        answers = [answer for answer in each if answer is not None]
        return np.asarray(np.sum(answers, axis=0))

    return reach
