"""A model taken apart: what is certain, and rows that must hold for every outcome.

Ordinary parameters that multiply an outcome are read at their present values, so a
`RobustModel` belongs to these values; when they change the model is read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import cvxpy as cp

from ...checks import Array
from ...conic.substitution import substituted
from ...sets import UncertaintySet
from .ends import End, Ends, end_values, ends_in
from .equalities import holding
from .exactness import Shapes
from .products import at_values
from .rows import RobustConstraint, UncertainRow, take_apart
from .uncertain import Key, Uncertain, uncertain_in
from .written import spelled_out_choices


@dataclass(frozen=True, eq=False)
class RobustModel:
    """A model as rows.

    Attributes
    ----------
    objective : as written
    constraints : as written, the signs of rules included
    keys : the uncertain parameters, those that share a set together
    goal : stands for the worst case of an uncertain objective
    certain : constraints without the outcome
    robust : the uncertain constraints, that of the objective last
    """

    objective: cp.Minimize | cp.Maximize
    constraints: tuple[cp.Constraint, ...]
    keys: tuple[Key, ...]
    goal: cp.Variable
    certain: tuple[cp.Constraint, ...]
    robust: tuple[RobustConstraint, ...]

    @cached_property
    def rows(self) -> tuple[UncertainRow, ...]:
        """Rows that must not be negative, whatever the outcome."""
        return tuple(row for part in self.robust for row in part.rows)

    @cached_property
    def equalities(self) -> tuple[UncertainRow, ...]:
        """Rows that must be zero, whatever the outcome."""
        return tuple(row for part in self.robust for row in part.equalities)

    @cached_property
    def uncertain_constraints(self) -> tuple[cp.Constraint, ...]:
        """The user's constraints that see an outcome, as written."""
        return tuple(c for c in self.constraints if uncertain_in(c))

    @cached_property
    def certain_constraints(self) -> tuple[cp.Constraint, ...]:
        """The user's constraints that see none, as written."""
        return tuple(c for c in self.constraints if not uncertain_in(c))

    @cached_property
    def variables(self) -> tuple[cp.Variable, ...]:
        """The user's variables."""
        return tuple(cp.Problem(self.objective, list(self.constraints)).variables())

    @cached_property
    def ordinary(self) -> tuple[cp.Parameter, ...]:
        """The parameters nature does not choose."""
        every = cp.Problem(self.objective, list(self.constraints)).parameters()
        return tuple(p for p in every if not isinstance(p, Uncertain))

    @cached_property
    def is_mixed_integer(self) -> bool:
        """Whether some variable takes whole numbers only."""
        choices = [c for c in self.certain if any(_is_whole(v) for v in c.variables())]
        return bool(choices) or any(_is_whole(v) for v in self.variables)

    @cached_property
    def has_uncertain_objective(self) -> bool:
        """Whether the objective sees an outcome."""
        return bool(uncertain_in(self.objective))

    @property
    def minimises(self) -> bool:
        """Whether the objective is a cost."""
        return isinstance(self.objective, cp.Minimize)

    @property
    def sense(self) -> float:
        """1.0 to minimise, -1.0 to maximise."""
        return 1.0 if self.minimises else -1.0

    def bounded_goal(self) -> cp.Minimize | cp.Maximize:
        """The objective, or what stands for its worst case."""
        goal = self.goal if self.has_uncertain_objective else self.objective.args[0]
        return type(self.objective)(goal)

    def all_certain(
        self, sets: Mapping[Key, UncertaintySet] | None = None
    ) -> list[cp.Constraint]:
        """Constraints without the outcome; without sets, for any context's."""
        parts = [*self.certain, *(c for part in self.robust for c in part.certain)]
        values = end_values(list(self.ends), sets or {})
        if values:
            parts = [_with_values(c, values) for c in parts]
        return parts + holding(self.equalities, sets or {})

    @cached_property
    def ends(self) -> tuple[End, ...]:
        """The ends of outcomes that certain constraints mention."""
        return tuple(ends_in([c for part in self.robust for c in part.certain]))

    @cached_property
    def is_held(self) -> bool:
        """Whether some constraint must be held against outcomes one by one."""
        return any(part.held is not None for part in self.robust)

    @property
    def needs_sets(self) -> bool:
        """Whether what is certain depends on where the sets lie."""
        return bool(self.equalities or self.ends)


def read_model(
    objective: cp.Minimize | cp.Maximize,
    constraints: Sequence[cp.Constraint],
    keys: tuple[Key, ...],
    goal: cp.Variable,
    products: Sequence[cp.Parameter],
    shapes: Shapes | None = None,
) -> RobustModel:
    """Take a model apart, at the present values of the `products`.

    `shapes` says what is known of the sets of each key.
    """
    certain, choices = spelled_out_choices(
        [c for c in constraints if not uncertain_in(c)]
    )
    written = [c for c in constraints if uncertain_in(c)]
    if uncertain_in(objective):
        value = objective.args[0]
        minimise = isinstance(objective, cp.Minimize)
        written.append(value <= goal if minimise else value >= goal)
    ends = Ends()
    robust = [
        take_apart(at_values(c, products), keys, c, shapes, ends) for c in written
    ]
    return RobustModel(
        objective,
        tuple(constraints),
        keys,
        goal,
        (*certain, *choices),
        tuple(robust),
    )


def _with_values(
    constraint: cp.Constraint, values: Mapping[int, Array]
) -> cp.Constraint:
    """A constraint with some parameters' values written in; itself if it has none."""
    if not any(parameter.id in values for parameter in constraint.parameters()):
        return constraint
    return constraint.copy([substituted(side, values) for side in constraint.args])


def _is_whole(variable: cp.Variable) -> bool:
    return bool(variable.attributes["boolean"] or variable.attributes["integer"])
