"""RobustProblem: an ordinary CVXPY model, made robust over uncertainty sets."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ..errors import InvalidParameter, Unbounded
from ..sets import Box, UncertaintySet
from .audit import audit
from .counterpart import Key, RobustConstraint, take_apart
from .decision import Decision
from .solving import solve_checked
from .support_bound import support_bound
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

    def solve(self, X: Any = None, solver: str = "CLARABEL") -> Decision:
        """The decision at one context (one row of X), or with set values only.

        Parameters
        ----------
        X : covariates of one context; not needed where every set is a value
        solver : name of a solver CVXPY finds installed
        """
        sets = self._sets_at(X)
        conditions = list(self._certain)
        for part in self._robust:
            conditions += part.certain
            for row in part.rows:
                conditions += row.counterpart(
                    lambda key, slope: support_bound(sets[key], slope)
                )
        goal = self._goal if self._has_uncertain_objective else self.objective.args[0]
        problem = cp.Problem(type(self.objective)(goal), conditions)
        status = solve_checked(problem, solver)
        return audit(self, sets, status)

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
