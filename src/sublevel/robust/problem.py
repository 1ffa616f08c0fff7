"""RobustProblem: an ordinary CVXPY model, made robust over uncertainty sets."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import cvxpy as cp

from ..errors import InvalidParameter, NotRobustifiable
from ..sets import UncertaintySet
from .auditing.audit import audit
from .auditing.decision import Decision
from .cutting.cuts import Cuts, decide_by_cuts
from .cutting.linear_model import LinearModel, linear_model
from .largest_budget import LargestBudget, largest_budget
from .modelling.affine_rule import signs
from .modelling.counterpart import Key, RobustConstraint, UncertainRow, take_apart
from .modelling.equalities import holding
from .modelling.lifted_set import with_lifted
from .modelling.products import at_values, products_in, stamp
from .modelling.sets_at import set_at
from .modelling.solving import solve_checked
from .modelling.support_bound import row_bound, support_bound
from .modelling.uncertain import Uncertain, uncertain_in
from .modelling.written import check_model
from .policies.policy import Policy


class RobustProblem:
    """A model whose uncertain constraints hold for every outcome in its sets.

    Parameters
    ----------
    objective : cp.Minimize or cp.Maximize
        May be uncertain: its worst case is optimised.
    constraints : list of CVXPY constraints
    uncertainty : dict
        From an Uncertain (or a tuple of them that share one set) to a LossSet or a
        set value.

    Examples
    --------
    >>> import sublevel as sl
    >>> r, w = Uncertain(2, name="returns"), cp.Variable(2, nonneg=True)
    >>> U = sl.sets.Box([0.0, 0.1], [1.0, 0.2])
    >>> problem = RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: U})
    >>> decision = problem.solve()
    >>> round(float(decision.objective), 6), decision.value(w).round(3)
    (0.1, array([0., 1.]))
    """

    def __init__(
        self, objective: Any, constraints: list[Any], uncertainty: dict[Any, Any]
    ) -> None:
        check_model(objective, constraints)
        self.objective = objective
        self.constraints = [*constraints, *signs([objective, *constraints])]
        self.uncertainty = {_as_key(key): value for key, value in uncertainty.items()}
        self._check_keys()
        self._goal = cp.Variable(name="worst case of the objective")
        self._products = products_in([self.objective, *self.constraints])
        self._apart: tuple[Any, ...] = ()
        if all(p.value is not None for p in self._products):
            self._parts()

    def solve(
        self, X: Any = None, engine: str | Cuts = "auto", solver: str | None = None
    ) -> Decision:
        """The decision at one context (one row of X), or with set values only.

        Parameters
        ----------
        X : covariates of one context; not needed where every set is a value
        engine : "auto", "dual", "cuts" or sl.robust.Cuts(...)
            The conic dual of the sets in one solve, or cutting planes with the sets'
            own oracles. "auto" takes the dual, unless there are integer variables or
            a set has no exact dual.
        solver : name of a solver CVXPY finds installed, optional
            By default CLARABEL; HIGHS where there are integer variables, and for
            cutting planes where all else is linear.
        """
        _check_engine("solve", engine)
        return self._decide(self._sets_at(X), engine, solver)

    def compile(self, engine: str = "auto", solver: str | None = None) -> Policy:
        """A policy that decides for any number of contexts.

        Where the sets' counterparts allow, one cone program is compiled now and only
        its numbers change from context to context; otherwise (integer variables,
        labels, cutting planes) contexts are solved one by one.

        Parameters
        ----------
        engine, solver : as in `solve`
        """
        _check_engine("compile", engine)
        return Policy(self, engine, solver)

    def largest_budget(
        self,
        X: Any,
        parameter: Any = None,
        tolerance: float = 1e-4,
        engine: str | Cuts = "auto",
        solver: str | None = None,
    ) -> LargestBudget:
        """The largest budget at which the context has a robust decision.

        Sets grow with their budget, so there is one. Several LossSets keep the same
        share of what their calibrated budgets leave above the least loss.

        Parameters
        ----------
        X : covariates of one context
        parameter : Uncertain, or tuple of those that share a set, optional
            Whose budget to search; the others stay as calibrated. By default all.
        tolerance : float, default 1e-4
            Relative accuracy.
        engine, solver : as in `solve`
        """
        _check_engine("largest_budget", engine)
        return largest_budget(self, X, parameter, tolerance, engine, solver)

    def _decide(
        self, sets: dict[Key, Any], engine: str | Cuts, solver: str | None
    ) -> Decision:
        sets = with_lifted(sets, self._rows())
        integer = self._is_mixed_integer
        if engine == "auto" and (integer or not self._has_dual(sets)):
            engine = "cuts"
        if engine == "cuts":
            engine = Cuts()
        if isinstance(engine, Cuts):
            return decide_by_cuts(self, sets, engine, solver)
        solver = solver or ("HIGHS" if integer else "CLARABEL")
        found = audit(self, sets, self._solve_dual(sets, solver))
        if found.status != cp.OPTIMAL or integer:
            return found
        return replace(found, bound=float(self._bounded_goal().value))

    def _solve_dual(self, sets: dict[Key, UncertaintySet], solver: str) -> str:
        conditions = self._all_certain(sets)
        for row in self._rows():
            conditions += row.counterpart(
                lambda key, slope, entries: row_bound(sets[key], slope, entries)
            )
        return solve_checked(cp.Problem(self._bounded_goal(), conditions), solver)

    def _has_dual(self, sets: dict[Key, UncertaintySet]) -> bool:
        try:
            for region in sets.values():
                support_bound(region, cp.Variable(region.dim))
        except NotRobustifiable:
            return False
        return True

    def _bounded_goal(self) -> Any:
        goal = self._goal if self._has_uncertain_objective else self.objective.args[0]
        return type(self.objective)(goal)

    def _all_certain(self, sets: dict[Key, Any] | None = None) -> list[Any]:
        """Constraints without the outcome; without sets, for any context's."""
        found = self._certain + [c for part in self._robust for c in part.certain]
        return found + holding(self._equalities(), sets or self._values())

    def _equalities(self) -> list[UncertainRow]:
        return [row for part in self._robust for row in part.equalities]

    def _values(self) -> dict[Key, UncertaintySet]:
        """The sets that are the same at every context."""
        given = self.uncertainty.items()
        return {key: value for key, value in given if isinstance(value, UncertaintySet)}

    def _rows(self) -> list[UncertainRow]:
        return [row for part in self._robust for row in part.rows]

    def _parts(self) -> tuple[Any, ...]:
        """What the model was taken apart into, at the values of `_products`."""
        now = stamp(self._products)
        if not self._apart or self._apart[0] != now:
            self._apart = (now, *self._take_apart())
            self.__dict__.pop("_linear_model", None)
        return self._apart

    @property
    def _stamp(self) -> Any:
        """Changes whenever the model has to be taken apart, and compiled, again."""
        return self._parts()[0]

    @property
    def _certain(self) -> list[Any]:
        found: list[Any] = self._parts()[1]
        return found

    @property
    def _robust(self) -> list[RobustConstraint]:
        found: list[RobustConstraint] = self._parts()[2]
        return found

    @cached_property
    def _linear_model(self) -> LinearModel | None:
        """The model as arrays for HiGHS, if it is linear but for the outcomes."""
        return linear_model(self._bounded_goal(), self._all_certain(), self._rows())

    @property
    def _is_mixed_integer(self) -> bool:
        return cp.Problem(self.objective, self.constraints).is_mixed_integer()  # type: ignore[no-any-return]

    @property
    def _ordinary(self) -> list[Any]:
        """The parameters nature does not choose."""
        known = cp.Problem(self.objective, self.constraints).parameters()
        return [p for p in known if not isinstance(p, Uncertain)]

    @property
    def _variables(self) -> list[Any]:
        """The user's variables."""
        return cp.Problem(self.objective, self.constraints).variables()  # type: ignore[no-any-return]

    def _over(self, sources: list[Any]) -> RobustProblem:
        """The same model over other sets."""
        found = copy.copy(self)
        found.uncertainty = dict(zip(self.uncertainty, sources, strict=True))
        return found

    @property
    def _uncertain_parts(self) -> int:
        """Number of uncertain constraints, the objective not counted."""
        return len(self._robust) - int(self._has_uncertain_objective)

    @property
    def _certificates(self) -> dict[Key, Any]:
        given = self.uncertainty.items()
        return {key: getattr(value, "certificate_", None) for key, value in given}

    @property
    def _has_uncertain_objective(self) -> bool:
        return bool(uncertain_in(self.objective))

    def _take_apart(self) -> tuple[list[Any], list[RobustConstraint]]:
        keys = tuple(self.uncertainty)
        certain = [c for c in self.constraints if not uncertain_in(c)]
        written = [c for c in self.constraints if uncertain_in(c)]
        if self._has_uncertain_objective:
            value = self.objective.args[0]
            minimise = isinstance(self.objective, cp.Minimize)
            written.append(value <= self._goal if minimise else value >= self._goal)
        robust = [take_apart(at_values(c, self._products), keys, c) for c in written]
        return certain, robust

    def _check_keys(self) -> None:
        known = [parameter for key in self.uncertainty for parameter in key]
        if len({id(parameter) for parameter in known}) < len(known):
            raise InvalidParameter(
                "RobustProblem(uncertainty=...) must name each Uncertain once."
            )
        for part in [self.objective, *self.constraints]:
            for parameter in uncertain_in(part):
                if not any(parameter is other for other in known):
                    raise InvalidParameter(
                        f"RobustProblem(uncertainty=...) must give a set for "
                        f"{parameter.name()!r}, which the model uses."
                    )

    def _sets_at(self, X: Any) -> dict[Key, Any]:
        """Each key's set at the context, with declared signs taken into account."""
        return {key: set_at(key, value, X) for key, value in self.uncertainty.items()}


def _check_engine(method: str, engine: Any) -> None:
    if engine not in ("auto", "dual", "cuts") and not isinstance(engine, Cuts):
        raise InvalidParameter(
            f"RobustProblem.{method}(engine=...) must be 'auto', 'dual', 'cuts' or "
            f"sl.robust.Cuts(...), got {engine!r}."
        )


def _as_key(key: Any) -> Key:
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if not isinstance(part, Uncertain):
            raise InvalidParameter(
                "RobustProblem(uncertainty=...) must map sl.Uncertain parameters to "
                f"sets, got a key of type {type(part).__name__}."
            )
    return tuple(parts)
