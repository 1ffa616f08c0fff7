"""An uncertain constraint with its curves moved to where nothing is uncertain.

The worst case goes through any function that is nondecreasing in what is uncertain,

    sup_y f(a(x, y)) = f(sup_y a(x, y)),

so wherever a curved atom has an uncertain argument, the argument gives way to a
variable that is never below it. (Never above it, where f is nonincreasing.) A convex f
that is not monotone is largest at one of the two ends of a(x, y), so it gets two
variables. What is left mentions the outcome in linear rows only. Whether these may be
made robust one by one is for `exactness` to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.atom import Atom
from cvxpy.atoms.elementwise.elementwise import Elementwise
from cvxpy.constraints import Inequality, NonNeg

from ...conic.substitution import substituted
from .lifting import Lifts
from .refusal import Refusal
from .summands import Summands
from .uncertain import Key, uncertain_in

#: Atoms that are maxima (or minima) of their entries: the worst case of a maximum is
#: the maximum of the worst cases, however these depend on one another.
MAXIMA = (cp.max, cp.min, cp.maximum, cp.minimum, cp.norm_inf, cp.cummax)

#: Functions that grow with the size of every entry of their first argument.
LENGTHS = (cp.Pnorm, cp.quad_over_lin)

#: Which way nature wants each side of a constraint to go; other kinds stay as they are.
SENSES = {Inequality: (1, -1), NonNeg: (-1,)}


@dataclass(frozen=True)
class Bound:
    """A constraint that is linear in the outcome, and must hold for each.

    Attributes
    ----------
    constraint : CVXPY constraint; the variables of curves stand for these
    variable : what it bounds from below; None if it is the user's own constraint
    """

    constraint: cp.Constraint
    variable: cp.Variable | None = None


@dataclass(frozen=True)
class Curve:
    """A curved function of variables that are bounds already: nothing uncertain.

    Attributes
    ----------
    expression : CVXPY expression, convex; minus the function where that is concave
    variable : stands for it
    arguments : for each uncertain argument the variables that bound it
    joint : whether the function is a maximum of its entries
    elementwise : whether each entry of it depends on the same entry of the arguments
    """

    expression: cp.Expression
    variable: cp.Variable
    arguments: tuple[tuple[cp.Variable, ...], ...]
    joint: bool
    elementwise: bool


Step = Bound | Curve


def layers(constraint: cp.Constraint, keys: tuple[Key, ...]) -> list[Step]:
    """The constraint in steps, what is innermost first; itself if nothing is curved.

    Examples
    --------
    >>> from sublevel.robust import Uncertain
    >>> r, x = Uncertain(2, name="r"), cp.Variable(2, name="x")
    >>> first, curve, last = layers(cp.exp(r @ x) <= 3, ((r,),))
    >>> [type(step).__name__ for step in (first, curve, last)]
    ['Bound', 'Curve', 'Bound']
    >>> len(layers(r @ x + cp.norm(x) <= 3, ((r,),)))
    1
    """
    rewriter = _Rewriter(keys)
    senses = SENSES.get(type(constraint))
    if senses is not None:
        given = list(constraint.args)
        pairs = zip(given, senses, strict=True)
        sides = [rewriter.walk(side, sense) for side, sense in pairs]
        if any(new is not old for new, old in zip(sides, given, strict=True)):
            constraint = type(constraint)(*sides)
    return [*rewriter.steps, Bound(constraint)]


def assembled(steps: list[Step]) -> list[cp.Constraint]:
    """The linear constraints of all steps, with curves in the place of their variables.

    Together they are the user's constraint for every outcome, if the steps are exact.
    """
    curves: dict[int, cp.Expression] = {}
    constraints = []
    for step in steps:
        if isinstance(step, Curve):
            curves[step.variable.id] = substituted(step.expression, curves)
        elif curves:
            sides = [substituted(side, curves) for side in step.constraint.args]
            constraints.append(type(step.constraint)(*sides))
        else:
            constraints.append(step.constraint)
    return constraints


class _Rewriter:
    """Walks an expression; `sense` is 1 where nature wants it large, -1 small."""

    def __init__(self, keys: tuple[Key, ...]) -> None:
        self.steps: list[Step] = []
        self._lifts = Lifts(keys)
        # What stands for curves, and the variables in it.
        self._curves: list[tuple[cp.Expression, cp.Variable]] = []

    def walk(self, node: cp.Expression, sense: int) -> cp.Expression:
        """The expression with its uncertain curves replaced by variables."""
        if not node.args or not uncertain_in(node):
            return node
        if not node.variables():
            stand_in = self._lifts.stand_in(node, sense)
            if stand_in is not None:
                return stand_in
        if not isinstance(node, AffAtom):
            return self._curve(node, sense)
        given = list(node.args)
        pairs = enumerate(given)
        arguments = [self.walk(arg, sense * _slope(node, i)) for i, arg in pairs]
        if all(new is old for new, old in zip(arguments, given, strict=True)):
            return node
        return node.copy(arguments)

    def _curve(self, node: Atom, sense: int) -> cp.Expression:
        """What stands for a curved atom whose uncertain arguments are bounded."""
        _require_matching_curve(node, sense)
        bounds = [self._argument(node, i, sense) for i in range(len(node.args))]
        if sum(len(ends) > 1 for ends in bounds) > 1:
            raise Refusal(_SEVERAL.format(node))
        first, *second = [
            _signed(node.copy([e[min(k, len(e) - 1)][0] for e in bounds]), sense)
            for k in range(max(len(ends) for ends in bounds))
        ]
        curve = cp.maximum(first, *second) if second else first
        if uncertain_in(curve):
            raise Refusal(f"{node} has uncertain data that is no argument of it.")
        variable = cp.Variable(node.shape, nonneg=bool(curve.is_nonneg()))
        pairs = zip(bounds, node.args, strict=True)
        uncertain = [ends for ends, arg in pairs if uncertain_in(arg)]
        bounding = tuple(tuple(v for _, v in ends) for ends in uncertain)
        joint, elementwise = isinstance(node, MAXIMA), isinstance(node, Elementwise)
        self.steps.append(Curve(curve, variable, bounding, joint, elementwise))
        self._curves.append((_signed(variable, sense), variable))
        return self._curves[-1][0]

    def _argument(self, node: Atom, i: int, sense: int) -> list[tuple[Any, Any]]:
        """What stands for an argument of a curved atom, and the variable in it.

        One such pair for each end of the argument that can be worst.
        """
        argument = node.args[i]
        if not uncertain_in(argument):
            return [(argument, None)]
        slope = sense * _slope(node, i)
        if slope > 0 and _has_domain(node) and not argument.is_nonneg():
            # A bound from above would hide that the argument leaves the domain.
            slope = 0
        if slope == 0:
            if not (argument.size == 1 or isinstance(node, Elementwise | cp.norm_inf)):
                return self._several(node, argument)
            inner = self.walk(argument, 0)
            return [self._bounded(inner, 1), self._bounded(inner, -1)]
        return [self._bounded(self.walk(argument, slope), slope)]

    def _several(self, node: Atom, argument: cp.Expression) -> list[tuple[Any, Any]]:
        """What stands for an argument of several entries, none of a sign."""
        if isinstance(node, LENGTHS) and node.args[0] is argument:
            sizes = self.walk(cp.abs(argument), 1)
            return [self._bounded(sizes, 1)]
        return self._one_entry(node, argument)

    def _one_entry(self, node: Atom, argument: cp.Expression) -> list[tuple[Any, Any]]:
        """The ends of an argument of which a single entry is uncertain."""
        entries = [Summands().entry(argument, k) for k in range(argument.size)]
        single = [entry for entry in entries if entry is not None]
        moving = [k for k, entry in enumerate(single) if uncertain_in(entry)]
        if len(single) < len(entries) or len(moving) != 1:
            raise Refusal(_SEVERAL.format(node))
        (k,) = moving
        inner, ends = self.walk(single[k], 0), []
        for sense in (1, -1):
            bound, variable = self._bounded(inner, sense)
            flat = cp.hstack([*single[:k], bound, *single[k + 1 :]])
            ends.append((cp.reshape(flat, argument.shape, order="F"), variable))
        return ends

    def _bounded(
        self, expression: cp.Expression, sense: int
    ) -> tuple[cp.Expression, cp.Variable]:
        for stand_in, variable in self._curves:
            if expression is stand_in:
                return stand_in, variable
        # Bounded from below in either case, as CVXPY's own auxiliary variables are.
        least = _signed(expression, sense)
        variable = cp.Variable(expression.shape, nonneg=bool(least.is_nonneg()))
        self.steps.append(Bound(least <= variable, variable))
        return _signed(variable, sense), variable


def _signed(expression: cp.Expression, sense: int) -> cp.Expression:
    return expression if sense > 0 else -expression


def _slope(node: Atom, i: int) -> int:
    """1 where an atom is nondecreasing in an argument, -1 nonincreasing, else 0."""
    return 1 if node.is_incr(i) else -1 if node.is_decr(i) else 0


def _has_domain(node: Atom) -> bool:
    try:
        return len(node.domain) > sum(len(arg.domain) for arg in node.args)
    except ValueError:  # the domain of a power depends on an exponent without a value
        return True


def _require_matching_curve(node: Atom, sense: int) -> None:
    if any(argument.is_complex() for argument in node.args):
        raise Refusal(f"{node} has complex arguments. Write it with real ones.")
    convex, concave = node.is_atom_convex(), node.is_atom_concave()
    if not ((sense > 0 and convex) or (sense < 0 and concave)):
        raise Refusal(
            f"its worst case over the outcome in {node} is not a convex problem. A "
            "function that bends the outcome must be concave where nature wants it "
            "large, and convex where it wants it small."
        )


#: Only functions of one number take their largest value at an end of it.
_SEVERAL = (
    "{} has uncertain data in several entries and is not monotone in them, so its "
    "worst case is not a convex problem. Where the sign of its argument is known, "
    "declare it (nonneg=True)."
)
