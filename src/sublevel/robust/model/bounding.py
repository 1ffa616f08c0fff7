"""The rewrite of a constraint that no exact form is known for: safe, not exact.

Whatever is curved in the outcome gives way to a variable that bounds it for every
outcome, entry by entry. Each bound is a function of one number, so it is exact alone;
what is given away is that nature cannot make all of them tight at once.

    cp.sum(cp.huber(y - q)) <= t0      becomes   cp.huber(y - q) <= t, cp.sum(t) <= t0
    cp.norm(y - q) <= t0               becomes   cp.abs(y - q) <= t, cp.norm(t) <= t0
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

import cvxpy as cp
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.elementwise.elementwise import Elementwise

from .as_python import as_python
from .nature import Nature
from .rewriting import LENGTHS, SENSES
from .uncertain import uncertain_in


@dataclass(frozen=True, eq=False)
class Bounding:
    """A constraint in other words, which hold only if it does.

    Attributes
    ----------
    variables : bound what is curved
    bounds : a constraint for each of the variables
    whole : the constraint with these variables in it, linear in the outcome
    swaps : what was replaced, and by what
    """

    variables: list[cp.Variable]
    bounds: list[cp.Constraint]
    whole: cp.Constraint
    swaps: list[tuple[cp.Expression, cp.Expression]]

    def in_words(self) -> str:
        """What to type."""
        lines = [_declared(variable) for variable in self.variables]
        rows = [" <= ".join(map(as_python, bound.args)) for bound in self.bounds]
        swaps = [
            f"{as_python(by)} in place of {as_python(old)}" for old, by in self.swaps
        ]
        kind = "constraint" if len(rows) == 1 else "constraints"
        return (
            f"{', '.join(lines)}, the {kind} {', '.join(rows)}, and {', '.join(swaps)}"
        )


def bounding(
    constraint: cp.Constraint, is_exact: Callable[[cp.Constraint], bool]
) -> Bounding | None:
    """The rewrite, every part of which can be made robust; None if there is none.

    Examples
    --------
    >>> from sublevel.robust import Uncertain
    >>> y, q = Uncertain(2, name="y"), cp.Variable(2, name="q")
    >>> print(bounding(cp.norm(y - q) <= 3, lambda _: True).in_words())
    t = cp.Variable(2, nonneg=True), the constraint cp.abs(y - q) <= t, and cp.norm(t)
    in place of cp.norm(y - q)
    """
    senses = SENSES.get(type(constraint))
    if senses is None:
        return None
    walk = _Walk({variable.name() for variable in constraint.variables()})
    try:
        pairs = zip(constraint.args, senses, strict=True)
        sides = [walk.through(side, sense) for side, sense in pairs]
    except _Lost:
        return None
    whole = type(constraint)(*sides)
    parts = [*walk.bounds, whole]
    accepted = all(part.is_dcp() for part in parts) and all(
        is_exact(part) for part in parts if uncertain_in(part)
    )
    if not walk.swaps or not accepted:
        return None
    return Bounding(walk.variables, walk.bounds, whole, walk.swaps)


class _Lost(Exception):
    """Something that no bound on its entries is a bound of."""


class _Walk:
    """Replaces what is curved; `sense` is 1 where nature wants it large, -1 small."""

    def __init__(self, taken: set[str]) -> None:
        self.variables: list[cp.Variable] = []
        self.bounds: list[cp.Constraint] = []
        self.swaps: list[tuple[cp.Expression, cp.Expression]] = []
        self._names = (name for name in _names() if name not in taken)

    def through(self, node: cp.Expression, sense: int) -> cp.Expression:
        """The expression, with variables for what is curved in the outcome."""
        if not uncertain_in(node) or Nature(node).is_affine:
            return node
        if isinstance(node, AffAtom):
            given = list(node.args)
            pairs = enumerate(given)
            sides = [self.through(arg, sense * _slope(node, i)) for i, arg in pairs]
            return node.copy(sides)
        stand_in = self._curved(node, sense)
        self.swaps.append((node, stand_in))
        return stand_in

    def _curved(self, node: cp.Expression, sense: int) -> cp.Expression:
        if sense == 0:
            raise _Lost
        if _is_of_numbers(node):
            return self._variable(node, sense)
        first, *others = node.args
        if any(uncertain_in(other) for other in others):
            raise _Lost
        if isinstance(node, LENGTHS):
            sizes = first if first.is_nonneg() else cp.abs(first)
            return node.copy([self._variable(sizes, 1), *others])
        slope = _slope(node, 0)
        if slope == 0:
            raise _Lost
        return node.copy([self._variable(first, sense * slope), *others])

    def _variable(self, node: cp.Expression, sense: int) -> cp.Variable:
        nonneg = bool(node.is_nonneg()) and sense > 0
        variable = cp.Variable(node.shape, name=next(self._names), nonneg=nonneg)
        self.variables.append(variable)
        self.bounds.append(node <= variable if sense > 0 else variable <= node)
        return variable


def _is_of_numbers(node: cp.Expression) -> bool:
    """Whether each entry is a function of one entry of the arguments."""
    single = node.size == 1 and all(argument.size == 1 for argument in node.args)
    return single or isinstance(node, Elementwise)


def _slope(node: cp.Expression, i: int) -> int:
    return 1 if node.is_incr(i) else -1 if node.is_decr(i) else 0


def _names() -> Iterator[str]:
    yield "t"
    for number in count(1):
        yield f"t{number}"


def _declared(variable: cp.Variable) -> str:
    shape = variable.shape
    size = "" if shape == () else str(shape[0]) if len(shape) == 1 else str(shape)
    parts = [part for part in (size, "nonneg=True" * variable.is_nonneg()) if part]
    return f"{variable.name()} = cp.Variable({', '.join(parts)})"
