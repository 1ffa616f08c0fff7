"""RobustProblem: an ordinary CVXPY model, made robust over uncertainty sets."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ..errors import EmptySet, InvalidParameter, NotRobustifiable, Unbounded
from ..sets import Box, UncertaintySet
from ..sets.emptiness import is_empty
from .audit import audit
from .counterpart import Key, RobustConstraint, UncertainRow, take_apart
from .cuts import solve_by_cuts
from .decision import Decision
from .solving import solve_checked
from .support_bound import row_bound, support_bound
from .uncertain import Uncertain, uncertain_in


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
        self.objective = objective
        self.constraints = list(constraints)
        self.uncertainty = {_as_key(key): value for key, value in uncertainty.items()}
        self._check_keys()
        self._goal = cp.Variable(name="worst case of the objective")
        self._certain, self._robust = self._take_apart()

    def solve(
        self, X: Any = None, engine: str = "auto", solver: str | None = None
    ) -> Decision:
        """The decision at one context (one row of X), or with set values only.

        Parameters
        ----------
        X : covariates of one context; not needed where every set is a value
        engine : "auto", "dual" or "cuts"
            The conic dual of the sets in one solve, or cutting planes with the sets'
            own oracles. "auto" takes the dual, unless there are integer variables or
            a set has no exact dual.
        solver : name of a solver CVXPY finds installed, optional
            By default CLARABEL, or HIGHS where there are integer variables.
        """
        if engine not in ("auto", "dual", "cuts"):
            raise InvalidParameter(
                f"RobustProblem.solve(engine=...) must be 'auto', 'dual' or 'cuts', "
                f"got {engine!r}."
            )
        sets = self._sets_at(X)
        integer = self._is_mixed_integer
        solver = solver or ("HIGHS" if integer else "CLARABEL")
        if engine == "auto" and (integer or not self._has_dual(sets)):
            engine = "cuts"
        solve = self._solve_cuts if engine == "cuts" else self._solve_dual
        return audit(self, sets, solve(sets, solver))

    def _solve_dual(self, sets: dict[Key, UncertaintySet], solver: str) -> str:
        conditions = self._all_certain()
        for row in self._rows():
            conditions += row.counterpart(
                lambda key, slope, entries: row_bound(sets[key], slope, entries)
            )
        return solve_checked(cp.Problem(self._bounded_goal(), conditions), solver)

    def _solve_cuts(self, sets: dict[Key, UncertaintySet], solver: str) -> str:
        goal, certain = self._bounded_goal(), self._all_certain()
        return solve_by_cuts(goal, certain, self._rows(), sets, solver)

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

    def _all_certain(self) -> list[Any]:
        return self._certain + [c for part in self._robust for c in part.certain]

    def _rows(self) -> list[UncertainRow]:
        return [row for part in self._robust for row in part.rows]

    @property
    def _is_mixed_integer(self) -> bool:
        return cp.Problem(self.objective, self.constraints).is_mixed_integer()  # type: ignore[no-any-return]

    @property
    def _has_uncertain_objective(self) -> bool:
        return bool(uncertain_in(self.objective))

    def _take_apart(self) -> tuple[list[Any], list[RobustConstraint]]:
        keys = tuple(self.uncertainty)
        certain = [c for c in self.constraints if not uncertain_in(c)]
        robust = [take_apart(c, keys) for c in self.constraints if uncertain_in(c)]
        if self._has_uncertain_objective:
            value = self.objective.args[0]
            minimise = isinstance(self.objective, cp.Minimize)
            bound = value <= self._goal if minimise else value >= self._goal
            robust.append(take_apart(bound, keys))
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

    def _sets_at(self, X: Any) -> dict[Key, UncertaintySet]:
        """Each key's set at the context, with declared signs taken into account."""
        return {key: _set_at(key, value, X) for key, value in self.uncertainty.items()}


def _as_key(key: Any) -> Key:
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if not isinstance(part, Uncertain):
            raise InvalidParameter(
                "RobustProblem(uncertainty=...) must map sl.Uncertain parameters to "
                f"sets, got a key of type {type(part).__name__}."
            )
    return tuple(parts)


def _set_at(key: Key, value: Any, X: Any) -> UncertaintySet:
    name = ", ".join(parameter.name() for parameter in key)
    if not isinstance(value, UncertaintySet):
        value = _predicted(name, value, X)
    size = sum(parameter.size for parameter in key)
    if value.dim != size:
        raise InvalidParameter(
            f"The set for {name!r} must have dimension {size}, got {value.dim}."
        )
    if not value.is_bounded:
        raise Unbounded(
            f"The set for {name!r} is unbounded, so no worst case exists. If its "
            "budget is inf, calibrate with more data or at a larger alpha."
        )
    signs = np.concatenate([np.full(p.size, p.is_nonneg()) for p in key])
    if signs.any():
        floor = np.where(signs, 0.0, -np.inf)
        if (value.bounds()[0] < floor).any():
            signed: UncertaintySet = value & Box(floor, np.full(size, np.inf))
            if is_empty(signed):
                raise EmptySet(
                    f"The set for {name!r} has no outcome that is nonneg=True, as it "
                    "was declared."
                )
            return signed
    found: UncertaintySet = value
    return found


def _predicted(name: str, sets: Any, X: Any) -> UncertaintySet:
    if not hasattr(sets, "predict_set"):
        raise InvalidParameter(
            f"The set for {name!r} must be a LossSet or a set value, got "
            f"{type(sets).__name__}."
        )
    if X is None:
        raise InvalidParameter(
            f"RobustProblem.solve(X) needs the covariates of one context, as the set "
            f"for {name!r} is a LossSet."
        )
    batch = sets.predict_set(X)
    if len(batch) != 1:
        raise InvalidParameter(
            f"RobustProblem.solve(X) takes one context, got {len(batch)} rows. Take "
            "one row, X[:1]."
        )
    found: UncertaintySet = batch[0]
    return found
