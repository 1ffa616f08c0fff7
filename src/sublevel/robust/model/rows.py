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
from ...epigraph import Epigraph
from ...errors import NotRobustifiable
from .exactness import exact_form
from .lifting import lifted_in
from .refusal import Refusal
from .running_sums import spelled_out
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

    `equalities` are uncertain rows that must be zero, not just nonnegative.
    """

    written: cp.Constraint
    certain: list[cp.Constraint]
    rows: list[UncertainRow]
    equalities: list[UncertainRow] = field(default_factory=list)


def take_apart(
    constraint: cp.Constraint,
    keys: tuple[Key, ...],
    written: cp.Constraint | None = None,
) -> RobustConstraint:
    """The rows of an uncertain constraint; NotRobustifiable where exactness is lost.

    `written` is the constraint as the user wrote it, if values were put into it.
    """
    written = constraint if written is None else written
    try:
        return replace(_taken_apart(constraint, keys), written=written)
    except Refusal as reason:
        raise NotRobustifiable(
            f"The constraint {written} cannot be made robust: {reason}"
        ) from None


def _taken_apart(constraint: cp.Constraint, keys: tuple[Key, ...]) -> RobustConstraint:
    form = exact_form(spelled_out(constraint), keys)
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
