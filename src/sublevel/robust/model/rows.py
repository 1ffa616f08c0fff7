"""A constraint as rows that must hold for every outcome, and rows that are certain.

A row  constant(x) + y' coefficients(x) >= 0  holds for every y in U if and only if

    support_U(-coefficients(x)) <= constant(x),

one such condition a row, with the supports of independent sets added up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ...checks import Array
from ...conic.cone_form import ConeForm
from ...conic.program import Indices
from ...conic.substitution import substituted
from ...epigraph import Epigraph
from ...errors import NotRobustifiable
from .bounding import bounding
from .ends import Ends
from .exactness import WAY_OUT, Shapes, exact_form
from .lifting import lifted_in
from .maxima import SumsOfMaxima, TooMany, residual_of
from .nature import Nature
from .refusal import Refusal
from .set_shape import SetShape, tied
from .spelling import spelled_out
from .uncertain import Key, uncertain_in

#: The support of a key's set in a direction that sees some of its entries.
Bound = Callable[[Key, cp.Expression, Indices], Epigraph]


@dataclass(frozen=True)
class UncertainRow:
    """One row that must hold for every outcome.

    Attributes
    ----------
    form : the cone form it belongs to
    index : which of the form's rows it is
    constant : scalar expression, what the row is without the outcome
    slopes : for each key, minus the coefficients of those of its entries that enter:
        the direction in which the outcome hurts, shape (entries,)
    entries : for each key, which of its entries enter, sorted, shape (entries,)
    """

    form: ConeForm
    index: int
    constant: cp.Expression
    slopes: dict[Key, cp.Expression]
    entries: dict[Key, Indices]

    def at(self, outcomes: Mapping[Key, Array]) -> cp.Expression:
        """The row at given outcomes: what must not be negative."""
        hurt = [
            slope @ outcomes[key][self.entries[key]]
            for key, slope in self.slopes.items()
        ]
        return self.constant - sum(hurt[1:], hurt[0])

    def direction(self, key: Key) -> Array:
        """The direction that hurts, at the variables' values, for all of a key."""
        direction = np.zeros(sum(parameter.size for parameter in key))
        if key in self.slopes:
            direction[self.entries[key]] = self.slopes[key].value
        return direction

    def counterpart(self, bound: Bound) -> list[cp.Constraint]:
        """The row for every outcome, given each set's support bound."""
        bounds = [bound(k, slope, self.entries[k]) for k, slope in self.slopes.items()]
        total = sum((b.value for b in bounds[1:]), bounds[0].value)
        return [total <= self.constant, *(c for b in bounds for c in b.constraints)]

    def slope_matrix(self, key: Key) -> sp.csr_array:
        """The slopes of a key as sparse rows over the form's columns."""
        rows = _coefficients(self.form, self.index, key)
        return -rows[self.entries[key]]


@dataclass(frozen=True)
class RobustConstraint:
    """A user's constraint, taken apart: rows that are certain, rows that are not.

    `equalities` are uncertain rows that must be zero, not just nonnegative. `held` is
    the constraint, if it must be held against outcomes one by one.
    """

    written: cp.Constraint
    certain: list[cp.Constraint]
    rows: list[UncertainRow]
    equalities: list[UncertainRow] = field(default_factory=list)
    held: cp.Constraint | None = None


def take_apart(
    constraint: cp.Constraint,
    keys: tuple[Key, ...],
    written: cp.Constraint | None = None,
    shapes: Shapes | None = None,
    ends: Ends | None = None,
) -> RobustConstraint:
    """The rows of an uncertain constraint; NotRobustifiable where exactness is lost.

    Parameters
    ----------
    written : the constraint as the user wrote it, if values were put into it
    shapes : what is known of the sets
    ends : the ends of the keys, made once for a model
    """
    written = constraint if written is None else written
    way = _Ways(keys, shapes or {}, ends or Ends())
    try:
        return replace(way.taken_apart(spelled_out(constraint)), written=written)
    except Refusal as reason:
        raise NotRobustifiable(
            f"The constraint {written} cannot be made robust: {reason}"
        ) from None


class _Ways:
    """The ways to make a constraint robust exactly, the cheapest first."""

    def __init__(self, keys: tuple[Key, ...], shapes: Shapes, ends: Ends) -> None:
        self._keys, self._ends = keys, ends
        unknown = {key: tied(sum(p.size for p in key)) for key in keys}
        self._shapes = {**unknown, **shapes}

    def taken_apart(self, constraint: cp.Constraint) -> RobustConstraint:
        """Row by row, by its outcomes, as sums of maxima, or at the set's corners."""
        try:
            return _by_rows(
                constraint, exact_form(constraint, self._keys, self._shapes), self._keys
            )
        except Refusal as reason:
            refusal = reason
        if _has_hidden(constraint):
            raise refusal
        listed = self._listed(constraint, finite=True)
        if listed is not None:
            return listed
        sums = SumsOfMaxima(self._keys, self._shapes, self._ends, self._is_exact)
        try:
            rewritten = sums.rewritten(constraint)
            form = exact_form(rewritten, self._keys, self._shapes)
            return _by_rows(rewritten, form, self._keys)
        except Refusal as reason:
            if isinstance(reason, TooMany):
                refusal = reason
        listed = self._listed(constraint, finite=False)
        if listed is not None:
            return listed
        if isinstance(refusal, TooMany) and refusal.can_be_searched:
            return RobustConstraint(constraint, [], [], held=constraint)
        raise self._with_rewrite(constraint, refusal)

    def _with_rewrite(self, constraint: cp.Constraint, refusal: Refusal) -> Refusal:
        """The refusal with what to write instead, where anything is known to do."""
        safe = None
        if not isinstance(refusal, TooMany) and constraint.is_dcp():
            safe = bounding(constraint, self._is_exact)
        if safe is None:
            return refusal
        reason = str(refusal).removesuffix(WAY_OUT).rstrip()
        seen = [
            key
            for key in self._keys
            if {p.id for p in key} & {p.id for p in uncertain_in(constraint)}
        ]
        names = ", ".join(_as_typed(key) for key in seen)
        return Refusal(
            f"{reason} Ways out: a bound for each entry, which is safe and not exact: "
            f"{safe.in_words()}; or, exactly, a set of few outcomes, {{{names}: "
            "sl.sets.Finite(points)}" + self._apart(constraint, names) + "."
        )

    def _apart(self, constraint: cp.Constraint, names: str) -> str:
        """The way out of a set whose entries move independently, if it is one."""
        apart = {
            key: SetShape(np.arange(sum(p.size for p in key))) for key in self._keys
        }
        sums = SumsOfMaxima(
            self._keys, apart, Ends(), _Ways(self._keys, apart, Ends())._is_exact
        )
        try:
            exact_form(sums.rewritten(constraint), self._keys, apart)
        except Refusal:
            return ""
        return (
            f", or a looser one whose entries move independently, {{{names}: "
            "sl.sets.Box(*U.bounds())}"
        )

    def _is_exact(self, constraint: cp.Constraint) -> bool:
        try:
            exact_form(constraint, self._keys, self._shapes)
        except Refusal:
            return False
        return True

    def _listed(
        self, constraint: cp.Constraint, finite: bool
    ) -> RobustConstraint | None:
        """The constraint at every outcome of a set of few, or at every corner; None
        where there is no such set, or where corners are not all that matters.
        """
        seen = {p.id for p in uncertain_in(constraint)}
        for key in self._keys:
            shape = self._shapes[key]
            outcomes = shape.outcomes if finite else shape.corners
            if outcomes is None or not seen & {p.id for p in key}:
                continue
            if not finite and not _is_convex_in(constraint, key):
                continue
            parts = [self._at(constraint, key, outcome) for outcome in outcomes]
            return RobustConstraint(
                constraint,
                [c for part in parts for c in part.certain],
                [row for part in parts for row in part.rows],
                [row for part in parts for row in part.equalities],
            )
        return None

    def _at(
        self, constraint: cp.Constraint, key: Key, outcome: Array
    ) -> RobustConstraint:
        copy = at_outcome(constraint, key, outcome)
        if uncertain_in(copy):
            return self.taken_apart(copy)
        if not copy.is_dcp():
            raise Refusal(
                f"at the outcome {outcome} CVXPY does not know it to be convex (DCP)."
            )
        return RobustConstraint(copy, [copy], [])


def _as_typed(key: Key) -> str:
    """A key as it is written in the sets of a model."""
    names = ", ".join(parameter.name() for parameter in key)
    return names if len(key) == 1 else f"({names})"


def at_outcome(constraint: cp.Constraint, key: Key, outcome: Array) -> cp.Constraint:
    """A constraint with one outcome of a key written in.

    Examples
    --------
    >>> from sublevel.robust import Uncertain
    >>> y, x = Uncertain(2, name="y"), cp.Variable(2, value=[1.0, 1.0])
    >>> bool(at_outcome(y @ x <= 4, (y,), np.array([1.0, 2.0])).value())
    True
    """
    parts, start = {}, 0
    for parameter in key:
        part = outcome[start : start + parameter.size]
        parts[parameter.id] = part.reshape(parameter.shape, order="F")
        start += parameter.size
    return constraint.copy([substituted(side, parts) for side in constraint.args])


def _has_hidden(constraint: cp.Constraint) -> bool:
    """Whether uncertain data is no argument of anything, so nothing can replace it."""
    zeros = {p.id: np.zeros(p.shape) for p in uncertain_in(constraint)}
    sides = [substituted(side, zeros) for side in constraint.args]
    return any(uncertain_in(side) for side in sides)


def _is_convex_in(constraint: cp.Constraint, key: Key) -> bool:
    """Whether the worst outcomes of a key are at the corners of its set."""
    try:
        residual = residual_of(constraint)
    except Refusal:
        return False
    others = {p.id for p in uncertain_in(constraint)} - {p.id for p in key}
    return not others and Nature(residual).is_convex


def _by_rows(
    constraint: cp.Constraint, form: ConeForm, keys: tuple[Key, ...]
) -> RobustConstraint:
    certain, rows = [], {"nonneg": list[UncertainRow](), "zero": list[UncertainRow]()}
    uncertain = form.uncertain_rows()
    for cone in form.cones:
        if not uncertain_in(cone.constraint):
            certain.append(cone.constraint)
            continue
        if cone.kind not in rows:
            raise Refusal(
                f"a cone ({cone.kind}) mentions the uncertain parameter without "
                "depending on it. Rewrite it without the parameter."
            )
        for i in range(cone.rows.start, cone.rows.stop):
            if uncertain[i]:
                rows[cone.kind].append(_row(form, i, keys))
            else:
                value = form.certain(i)
                certain.append(value == 0 if cone.kind == "zero" else value >= 0)
    return RobustConstraint(constraint, certain, rows["nonneg"], rows["zero"])


def _row(form: ConeForm, index: int, keys: tuple[Key, ...]) -> UncertainRow:
    slopes: dict[Key, cp.Expression] = {}
    entries: dict[Key, Indices] = {}
    for key in keys:
        full = key + lifted_in(form, index, key)
        rows = _coefficients(form, index, full)
        enters = np.flatnonzero(np.diff(rows.indptr))
        if enters.size:
            slopes[full], entries[full] = form.affine(-rows[enters]), enters
    constant = form.certain(index)
    return UncertainRow(form, index, constant, slopes, entries)


def _coefficients(form: ConeForm, index: int, key: Key) -> sp.csr_array:
    """What multiplies each entry of a key in a row: sparse, over the form's columns."""
    terms = [
        form.parameters[parameter].of_row(index).matrix(parameter.size, form.width)
        if parameter in form.parameters
        else sp.csr_array((parameter.size, form.width))
        for parameter in key
    ]
    return sp.vstack(terms, format="csr")
