"""Sums of maxima: rows in which nature cannot make every term worst at once.

    5 pos(d - q) + pos(q - d) <= t

Each of the two terms has a worst outcome of its own, so bounding them one by one would
give something away. The terms are put into groups that share no block of outcomes; over
groups the worst cases add up. Within a group there are two exact ways,

    max over the combinations of pieces:   max(5 (d - q), q - d, ...)
    both ends of every entry:              the sum at d = lower, and at d = upper,

of which the first asks for few pieces, the second for few entries that move alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ...conic.canonical import cone_form
from ...conic.cone_form import ConeForm
from ...conic.substitution import substituted
from ...errors import NotRobustifiable
from .collinear import merged
from .ends import Ends
from .nature import Nature
from .refusal import Refusal
from .set_shape import SIDES, SetShape
from .summands import Summand, Summands, total
from .uncertain import Key, Uncertain, key_name, uncertain_in

#: Most combinations of pieces that a group is written out in.
MOST_COMBINED = 256
#: Most choices of ends, 2 ** entries.
MOST_ENDS = 64
#: Most combinations of pieces that are searched, context by context.
MOST_SEARCHED = 2**20

#: An entry of the outcome: number of its key, and of the entry.
Entry = tuple[int, int]
#: A block of entries: number of the key, and of the block.
Block = tuple[int, int]


class TooMany(Refusal):
    """More combinations than are written out, or than could be searched.

    Attributes
    ----------
    can_be_searched : whether a search over the pieces finds the worst outcome
    """

    def __init__(self, reason: str, can_be_searched: bool) -> None:
        self.can_be_searched = can_be_searched
        super().__init__(reason)


@dataclass(frozen=True, eq=False)
class Group:
    """Terms of a row that share blocks of the outcome, and no other term does.

    Attributes
    ----------
    bent : terms that are not linear in the outcome
    linear : the part of the row that is, as far as it sees the same blocks; or None
    entries : the entries of the outcome they see
    alone : whether each of the entries is a block of its own
    """

    bent: list[Summand]
    linear: cp.Expression | None
    entries: list[Entry]
    alone: bool

    @property
    def value(self) -> cp.Expression:
        """The sum of the terms."""
        parts = [part.value for part in self.bent]
        return total(parts if self.linear is None else [self.linear, *parts])


class SumsOfMaxima:
    """Writes rows so that every term of a sum can be made worst at once.

    Parameters
    ----------
    keys : the uncertain parameters, those that share a set together
    shapes : key -> shape of its sets
    ends : the ends of the keys
    is_exact : whether a constraint can be made robust as it is
    """

    def __init__(
        self,
        keys: tuple[Key, ...],
        shapes: Mapping[Key, SetShape],
        ends: Ends,
        is_exact: Callable[[cp.Constraint], bool],
    ) -> None:
        self._keys, self._shapes, self._ends = keys, shapes, ends
        self._is_exact = is_exact
        self._summands = Summands()
        self._where: dict[int, Entry] = {}
        for number, key in enumerate(keys):
            start = 0
            for parameter in key:
                self._where[parameter.id] = number, start
                start += parameter.size

    def rewritten(self, constraint: cp.Constraint) -> cp.Constraint:
        """The same for every outcome, row by row; Refusal where there is no such."""
        residual = residual_of(constraint)
        rows = []
        hard: list[Group] = []
        for i in range(residual.size):
            row, too_many = self._row(residual, i)
            rows.append(row)
            hard += too_many
        if hard:
            raise self._too_many(hard)
        return (rows[0] if len(rows) == 1 else cp.hstack(rows)) <= 0

    def groups(
        self, residual: cp.Expression, i: int
    ) -> tuple[cp.Expression, list[Group]]:
        """What a row is without its groups, and the groups."""
        parts = self._summands.of(residual, i)
        if parts is None:
            raise Refusal(
                f"{residual} has parts that cannot be told apart by entry. Write them "
                "with CVXPY's maxima, entry by entry."
            )
        bent = [part for part in parts if part.bent]
        seen = [self._entries(part.body) for part in bent]
        even = [part.value for part in parts if not part.bent]
        rest = [value for value in even if not uncertain_in(value)]
        plain = [value for value in even if uncertain_in(value)]
        form = self._table(total(plain)) if plain else None
        if plain and form is None:
            # Products with curves of the decision: one term that is not split.
            bent.append(Summand(1.0, total(plain), False))
            seen.append(self._entries(total(plain)))
        clusters = self._clusters(seen)
        taken = {block for blocks, _ in clusters for block in blocks}
        if form is not None:
            rest.append(self._linear(form, taken, outside=True))
        groups = []
        for blocks, numbers in clusters:
            linear = None
            if form is not None and self._is_seen(form, blocks):
                linear = self._linear(form, blocks, outside=False)
            entries = {entry for k in numbers for entry in seen[k]}
            if form is not None:
                every = _entries_of(form, self._where)
                entries |= {entry for entry in every if self._block(entry) in blocks}
            alone = all(self._size(block) == 1 for block in blocks)
            groups.append(
                Group([bent[k] for k in numbers], linear, sorted(entries), alone)
            )
        return total(rest), groups

    def _row(
        self, residual: cp.Expression, i: int
    ) -> tuple[cp.Expression, list[Group]]:
        """A row written anew, and the groups for which that cannot be done."""
        rest, groups = self.groups(residual, i)
        hard: list[Group] = []
        parts = [rest]
        for group in groups:
            written = self._written(group)
            if written is None:
                hard.append(group)
            else:
                parts.append(written)
        return total(parts), hard

    def _too_many(self, groups: list[Group]) -> Refusal:
        """Why groups cannot be written out, and what can be written instead."""
        pieces = [self.pieces(group) for group in groups]
        read = [each for each in pieces if each is not None]
        if len(read) < len(pieces):
            return Refusal("it bends the outcome, and is no maximum of linear pieces.")
        counts = [prod(map(len, each)) for each in read]
        worst = groups[int(np.argmax(counts))]
        return TooMany(
            rewrite(worst, max(counts), self._keys), max(counts) <= MOST_SEARCHED
        )

    def _written(self, group: Group) -> cp.Expression | None:
        """A group as one function whose worst case is that of the sum."""
        single = len(group.bent) == 1 and group.linear is None
        if single and self._is_exact(group.value <= cp.Variable()):
            return group.value
        read = self.pieces(group)
        combined = None if read is None else prod(map(len, read))
        ends = 2 ** len(group.entries) if group.alone else None
        if ends is not None and ends > MOST_ENDS:
            ends = None
        if (
            read is not None
            and combined is not None
            and combined <= (ends or MOST_COMBINED)
        ):
            return _combined(read, group.linear)
        # Of a single entry nothing but its ends matters, whatever it moves with.
        if ends is not None or len(group.entries) == 1:
            return self._at_ends(group)
        return None

    def pieces(self, group: Group) -> list[list[cp.Expression]] | None:
        """The group's terms, each as pieces; None if some term has none."""
        pieces = [self._summands.pieces(part) for part in group.bent]
        read = [p for p in pieces if p is not None]
        return merged(read) if len(read) == len(pieces) else None

    def _at_ends(self, group: Group) -> cp.Expression | None:
        """The group at every choice of ends of its entries: nothing uncertain."""
        value = group.value
        if not Nature(value).is_convex:
            return None
        copies = []
        for sides in product(SIDES, repeat=len(group.entries)):
            chosen = dict(zip(group.entries, sides, strict=True))
            copies.append(substituted(value, self._outcome(chosen, value)))
        return _largest(copies)

    def _outcome(
        self, chosen: Mapping[Entry, str], value: cp.Expression
    ) -> dict[int, cp.Expression]:
        """Parameter id -> its entries at the chosen ends, where they are chosen."""
        outcome = {}
        for parameter in uncertain_in(value):
            number, start = self._where[parameter.id]
            key = self._keys[number]
            # The value does not depend on entries that are not chosen.
            entries: list[cp.Expression] = [cp.Constant(0.0)] * parameter.size
            for k in range(parameter.size):
                side = chosen.get((number, start + k))
                if side is not None:
                    entries[k] = self._ends.of(key, side, start + k)
            flat = cp.hstack(entries)
            outcome[parameter.id] = cp.reshape(flat, parameter.shape, order="F")
        return outcome

    # -- which entries meet --------------------------------------------------------

    def _entries(self, body: cp.Expression) -> set[Entry]:
        """The entries of the outcome that an expression depends on."""
        if not uncertain_in(body):
            return set()
        if self._summands.is_linear(body):
            form = self._table(body)
            if form is not None:
                return _entries_of(form, self._where)
            entries = set()
            for parameter in uncertain_in(body):
                number, start = self._where[parameter.id]
                entries |= {(number, start + k) for k in range(parameter.size)}
            return entries
        return set().union(*(self._entries(arg) for arg in body.args))

    def _block(self, entry: Entry) -> Block:
        number, k = entry
        return number, int(self._shapes[self._keys[number]].blocks[k])

    def _size(self, block: Block) -> int:
        number, label = block
        return int(np.sum(self._shapes[self._keys[number]].blocks == label))

    def _clusters(self, seen: list[set[Entry]]) -> list[tuple[set[Block], list[int]]]:
        """Terms that share blocks, together: the blocks, and which terms."""
        clusters: list[tuple[set[Block], list[int]]] = []
        for number, entries in enumerate(seen):
            blocks, terms, apart = {self._block(e) for e in entries}, [number], []
            for cluster in clusters:
                if cluster[0] & blocks:
                    blocks |= cluster[0]
                    terms = [*cluster[1], *terms]
                else:
                    apart.append(cluster)
            clusters = [*apart, (blocks, terms)]
        return clusters

    # -- the part that is linear in the outcome ------------------------------------

    def _table(self, plain: cp.Expression) -> ConeForm | None:
        """What multiplies each entry of the outcome in a scalar expression."""
        constraint = cp.NonNeg(plain)
        if not plain.is_affine() or not constraint.is_dcp(dpp=True):
            return None
        try:
            form = cone_form(constraint)
        except (NotRobustifiable, cp.error.DCPError, cp.error.DPPError, ValueError):
            return None
        if form.auxiliary or form.constant.shape[0] != 1:
            return None
        return form

    def _is_seen(self, form: ConeForm, blocks: set[Block]) -> bool:
        entries = _entries_of(form, self._where)
        return any(self._block(entry) in blocks for entry in entries)

    def _linear(
        self, form: ConeForm, blocks: set[Block], outside: bool
    ) -> cp.Expression:
        """The part that sees some blocks only, or all others and what is certain."""
        parts = [form.certain(0)] if outside else []
        for parameter, terms in form.parameters.items():
            if not isinstance(parameter, Uncertain):
                continue
            number, start = self._where[parameter.id]
            chosen = [
                k
                for k in np.unique(terms.entry).tolist()
                if (self._block((number, start + k)) in blocks) != outside
            ]
            if chosen:
                table = terms.matrix(parameter.size, form.width)
                slopes = form.affine(table[chosen])
                flat = cp.vec(parameter, order="F")
                parts.append(flat[chosen] @ slopes)
        return total(parts)


def residual_of(constraint: cp.Constraint) -> cp.Expression:
    """What must not be positive; Refusal if the constraint is not an inequality.

    Examples
    --------
    >>> x = cp.Variable(name="x")
    >>> str(residual_of(x <= 3))
    'x + -3.0'
    """
    kind = type(constraint).__name__
    if kind == "Inequality":
        return constraint.args[0] - constraint.args[1]
    if kind == "NonNeg":
        return -constraint.args[0]
    raise Refusal(f"it is no inequality but {kind}.")


def _entries_of(form: ConeForm, where: Mapping[int, Entry]) -> set[Entry]:
    entries = set()
    for parameter, terms in form.parameters.items():
        if isinstance(parameter, Uncertain):
            number, start = where[parameter.id]
            entries |= {(number, start + k) for k in np.unique(terms.entry).tolist()}
    return entries


def _combined(
    terms: list[list[cp.Expression]], linear: cp.Expression | None
) -> cp.Expression:
    """The largest of all sums of one piece a term: one product for all of them."""
    ends = np.cumsum([0, *map(len, terms)])
    spans = [range(a, b) for a, b in pairwise(ends.tolist())]
    picked = np.array(list(product(*spans)))
    shape = (len(picked), int(ends[-1]))
    rows = np.repeat(np.arange(len(picked)), picked.shape[1])
    table = sp.csr_array((np.ones(picked.size), (rows, picked.ravel())), shape=shape)
    sums = table @ cp.hstack([piece for pieces in terms for piece in pieces])
    return cp.max(sums if linear is None else sums + linear)


def _largest(parts: list[cp.Expression]) -> cp.Expression:
    return parts[0] if len(parts) == 1 else cp.max(cp.hstack(parts))


def key_names(keys: Sequence[Key], group: Group) -> str:
    """The keys that a group sees, in words."""
    numbers = sorted({number for number, _ in group.entries})
    return ", ".join(repr(key_name(keys[number])) for number in numbers)


def rewrite(group: Group, count: int, keys: Sequence[Key]) -> str:
    """Why a sum of maxima has no counterpart, and what to write in its place."""
    numbers = sorted({number for number, _ in group.entries})
    name = ", ".join(p.name() for number in numbers for p in keys[number])
    terms = len(group.bent)
    shown = [f"t[{k}] >= {part.value}" for k, part in enumerate(group.bent[:2])]
    more = "" if terms <= 2 else f", and so on to t[{terms - 1}]"
    linear = "" if group.linear is None else f"{group.linear} + "
    return (
        f"it adds up {terms} maxima over entries of {key_names(keys, group)} that move "
        f"together, {count:.3g} combinations of pieces; at most {MOST_SEARCHED} are "
        "searched. Ways out: a looser set whose entries move independently, "
        f"{{{name}: sl.sets.Box(*U.bounds())}}, which is exact however many there are; "
        f"one maximum in place of the sum, with every combination that matters as an "
        f"argument of cp.maximum(...); or a bound for each term, which is safe and "
        f"not exact: t = cp.Variable({terms}), with {linear}cp.sum(t) in place of the "
        f"sum and the constraints {', '.join(shown)}{more}. A rule gives away less: "
        f"t = sl.affine_rule({name}, shape={terms})."
    )
