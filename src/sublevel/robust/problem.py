"""RobustProblem: an ordinary CVXPY model, made robust over uncertainty sets."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from ..checks import Array, as_numbers, briefly
from ..conic.by_name import SOLVERS
from ..conic.solver import Solver
from ..errors import InvalidParameter, OneByOne, SolverFailed
from ..loss_set.source import SetSource, budget_of
from ..predictions import Table
from ..sets import UncertaintySet
from ..tables import html_table, number_in_short
from .contexts import count_contexts
from .decisions import Audit, Decision, named
from .judge.set_oracles import FixedOracle
from .keys import UncertainKey, check_source
from .largest_budget import LargestBudget, largest_budget
from .model.affine_rule import signs
from .model.oracle import Oracle
from .model.products import products_in, stamp
from .model.robust_model import read_model
from .model.set_shape import SetShape
from .model.uncertain import Key, Uncertain, key_name, key_signs, uncertain_in
from .model.written import check_model, require_variables
from .policy import Policy
from .solve.cuts.cuts import Cuts
from .solve.mixed.integers import Integers
from .solve.prepared import Prepared
from .solve.set_at import set_value

#: What gives a key its sets.
AnySource = SetSource | UncertaintySet | Oracle


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
        self,
        objective: cp.Minimize | cp.Maximize,
        constraints: Sequence[cp.Constraint | bool],
        uncertainty: Mapping[Uncertain | Key, AnySource],
    ) -> None:
        # To a type checker `==` may be a truth value; as an object that is refused.
        check_model(objective, constraints)
        self.objective = objective
        self.constraints = [*constraints, *signs([objective, *constraints])]
        self.uncertainty = _as_uncertainty(uncertainty)
        self._check_keys()
        require_variables([objective, *self.constraints])
        self._goal = cp.Variable(name="worst case of the objective")
        self._products = products_in([self.objective, *self.constraints])
        self._prepared: tuple[tuple[bytes, ...], Prepared] | None = None
        self._keys = tuple(
            UncertainKey(tuple(named(p) for p in key), key_signs(key), source, key)
            for key, source in self.uncertainty.items()
        )
        self._policies: dict[Any, Policy] = {}
        self._values: tuple[bytes, ...] = ()
        self._sources: dict[Key, tuple[object, object]] = {}
        self._shapes: dict[Key, tuple[UncertaintySet, SetShape]] = {}
        if all(p.value is not None for p in self._products):
            self.prepared()

    def solve(
        self,
        X: Table | None = None,
        engine: str | Cuts | Integers = "auto",
        solver: str | Solver | None = None,
    ) -> Decision:
        """The decision at one context (one row of X), or with set values only.

        It is what `compile` and `decide` give at this context; where they would report
        that the set, the model or the solver has no answer, that is an error here.

        Parameters
        ----------
        X : covariates of one context; not needed where every set is a value
        engine : "auto", "dual", "cuts", sl.robust.Cuts(...) or sl.robust.Integers(...)
            The conic dual of the sets in one solve, or cutting planes with the sets'
            own oracles. "auto" takes the dual, unless a set has no exact one, and
            cutting planes where that fails. With integer variables the dual is
            branched on, within the limits of Integers.
        solver : name of a solver CVXPY finds installed, optional
            By default CLARABEL; HIGHS where there are integer variables, and for
            cutting planes where all else is linear. SCIP, GUROBI, MOSEK and others take
            integer variables and cones outright.
        """
        _check_engine("solve", engine, solver)
        self._check_context(X)
        decision = self._policy(engine, solver).decide_one(X)[0]
        if decision.status in ("unbounded_set", "empty_set", "solver_failed"):
            self._explain(X)
        if decision.decided:
            # As after solving a CVXPY problem.
            for variable in self.prepared().model.variables:
                variable.save_value(decision.value(variable))
        return decision

    def compile(
        self, engine: str | Cuts | Integers = "auto", solver: str | Solver | None = None
    ) -> Policy:
        """A policy that decides for any number of contexts.

        Where the sets' counterparts allow, one cone program is compiled now and only
        its numbers change from context to context; otherwise (integer variables,
        labels, cutting planes) contexts are solved one by one.

        Parameters
        ----------
        engine : as in `solve`
        solver : as in `solve`, or an object with the methods of `sl.robust.Solver`
        """
        _check_engine("compile", engine, solver)
        policy = Policy(self, engine, solver)
        posed_anew = isinstance(solver, str) and solver not in SOLVERS
        if posed_anew and not policy.one_by_one:
            warnings.warn(
                f"RobustProblem.compile(solver={solver!r}): contexts are posed to "
                "CVXPY one by one, which takes milliseconds each. CLARABEL, the "
                "default, keeps one live solver for all of them.",
                OneByOne,
                stacklevel=2,
            )
        return policy

    def audit(
        self, values: Mapping[cp.Variable | str, npt.ArrayLike], X: Table | None = None
    ) -> Audit:
        """What a decision is worth in the worst case, wherever it comes from.

        Parameters
        ----------
        values : dict from every variable of the model (or its name) to its value
        X : covariates of the context; not needed where every set is a value
        """
        self._check_context(X)
        prepared = self.prepared()
        if not isinstance(values, Mapping):
            raise InvalidParameter(
                "RobustProblem.audit(values) must be a dict from variables to values, "
                f"got {briefly(values)}."
            )
        given = {
            k.name() if isinstance(k, cp.Variable) else str(k): v
            for k, v in values.items()
        }
        names = [v.name() for v in prepared.model.variables]
        if set(given) != set(names):
            raise InvalidParameter(
                f"RobustProblem.audit(values) must have a value for each variable, "
                f"{sorted(names)}, got {sorted(given)}."
            )
        entries = [
            np.ravel(_entry(v, given[v.name()]), "F") for v in prepared.model.variables
        ]
        oracles = [FixedOracle(self._region(k, X), k.nonneg) for k in self.keys]
        judged = prepared.ruler.judge(
            np.concatenate(entries)[None],
            np.full(1, np.nan),
            prepared.ordinary(),
            oracles,
        )
        binding = int(judged.binding[0])
        return Audit(
            float(judged.objective[0]),
            0.0,
            tuple(judged.violations[0].tolist()),
            binding if binding >= 0 else None,
            bool(judged.passed[0]),
            (),
            tuple(judged.slack[0].tolist()),
            float(judged.miss[0]),
        )

    def largest_budget(
        self,
        X: Table,
        parameter: Uncertain | Key | None = None,
        tolerance: float = 1e-4,
        engine: str | Cuts | Integers = "auto",
        solver: str | Solver | None = None,
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
        _check_engine("largest_budget", engine, solver)
        if parameter is not None:
            _as_key(parameter)
        return largest_budget(self, X, parameter, tolerance, engine, solver)

    @property
    def keys(self) -> tuple[UncertainKey, ...]:
        """The uncertain keys, each with what gives its sets."""
        for key in self._keys:
            if self.uncertainty[key.parameters] is not key.source:
                self._keys = tuple(
                    other.with_source(self.uncertainty[other.parameters])
                    for other in self._keys
                )
                break
        return self._keys

    @property
    def has_products(self) -> bool:
        """Whether parameters multiply outcomes, and so are part of the model."""
        return bool(self._products)

    def prepared(self) -> Prepared:
        """The model and its judge, at the present values of its products."""
        now = stamp(self._products) if self._products else ()
        as_it_was = self._prepared is not None and now == self._values
        for key in self.keys:
            # The shape of sets is a matter of their losses, or of the value itself.
            source, losses = self._sources.get(key.parameters, (None, None))
            as_it_was &= source is key.source and losses == key.losses
        if not as_it_was:
            self._read(now)
        assert self._prepared is not None
        return self._prepared[1]

    def _read(self, values: tuple[bytes, ...]) -> None:
        """Read the model, unless values and shapes of sets are as they were."""
        shapes = {key.parameters: self._shape(key) for key in self.keys}
        now = (*values, *(b for s in shapes.values() for b in s.stamp))
        if self._prepared is None or self._prepared[0] != now:
            model = read_model(
                self.objective,
                self.constraints,
                tuple(self.uncertainty),
                self._goal,
                self._products,
                shapes,
            )
            self._prepared = now, Prepared(model)
        self._values = values
        self._sources = {k.parameters: (k.source, k.losses) for k in self.keys}

    def _shape(self, key: UncertainKey) -> SetShape:
        """The shape of a key's sets; that of a value is found out once."""
        if not isinstance(key.source, UncertaintySet):
            return key.shape
        before = self._shapes.get(key.parameters)
        if before is None or before[0] is not key.source:
            self._shapes[key.parameters] = before = key.source, key.shape
        return before[1]

    def over(self, sources: Sequence[AnySource]) -> RobustProblem:
        """The same model over other sets."""
        other = copy.copy(self)
        other.uncertainty = dict(zip(self.uncertainty, sources, strict=True))
        vars(other).update(_policies={}, _shapes=dict(self._shapes))
        return other

    def __repr__(self) -> str:
        facts = "; ".join(f"{name} {what}" for name, what in self._facts())
        return f"RobustProblem({facts})"

    def _repr_html_(self) -> str:
        return html_table("RobustProblem", self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        sense = "minimises" if isinstance(self.objective, cp.Minimize) else "maximises"
        uncertain = sum(bool(uncertain_in(c)) for c in self.constraints)
        over = [f"{k.name} over {_in_short(k.source)}" for k in self.keys]
        return [
            (sense, str(self.objective.args[0])),
            ("constraints", f"{len(self.constraints)}, {uncertain} of them uncertain"),
            ("uncertain", ", ".join(over)),
        ]

    def _policy(
        self, engine: str | Cuts | Integers, solver: str | Solver | None
    ) -> Policy:
        """One policy for all contexts that are solved alike."""
        key = tuple(a if isinstance(a, str) else id(a) for a in (engine, solver))
        policy = self._policies.get(key)
        if (
            policy is None
            or policy.engine is not engine
            or _is_stale(policy, self.keys)
        ):
            self._policies[key] = policy = Policy(self, engine, solver)
        return policy

    def _check_context(self, X: Table | None) -> None:
        for key in self.keys:
            if key.predicted is not None and X is None:
                raise InvalidParameter(
                    "RobustProblem.solve(X) needs the covariates of one context, as "
                    f"the set for {key.name!r} is a LossSet."
                )
        if X is not None and any(key.predicted is not None for key in self.keys):
            rows = count_contexts(X)
            if rows != 1:
                raise InvalidParameter(
                    f"RobustProblem.solve(X) takes one context, got {rows} rows. Take "
                    "one row, X[:1]."
                )

    def _region(self, key: UncertainKey, X: Table | None) -> Any:
        source = key.predicted
        value: Any = key.source if source is None else source.predict_set(X)[0]  # type: ignore[arg-type]
        return set_value(key, value)

    def _explain(self, X: Table | None) -> None:
        """Raise what lies behind a status: a set's trouble, or the solver's."""
        for key in self.keys:
            self._region(key, X)
        raise SolverFailed(
            "No solver came to an answer on the robust problem. Rescale the model, or "
            "try another solver or engine='cuts'."
        )

    def _check_keys(self) -> None:
        every = [parameter for key in self.uncertainty for parameter in key]
        if len({id(parameter) for parameter in every}) < len(every):
            raise InvalidParameter(
                "RobustProblem(uncertainty=...) must name each Uncertain once."
            )
        for part in [self.objective, *self.constraints]:
            for parameter in uncertain_in(part):
                if not any(parameter is other for other in every):
                    raise InvalidParameter(
                        f"RobustProblem(uncertainty=...) must give a set for "
                        f"{parameter.name()!r}, which the model uses."
                    )


def _entry(variable: cp.Variable, value: object) -> Array:
    """A value of a variable, of its shape."""
    owner = "RobustProblem.audit"
    entries = as_numbers(owner, variable.name(), value)
    if entries.shape not in ((), variable.shape) or not np.isfinite(entries).all():
        raise InvalidParameter(
            f"{owner}(values[{variable.name()!r}]) must be finite and of shape "
            f"{variable.shape}, got {briefly(value)}."
        )
    return np.broadcast_to(entries, variable.shape)


def _as_uncertainty(given: object) -> dict[Key, AnySource]:
    if not isinstance(given, Mapping):
        raise InvalidParameter(
            "RobustProblem(uncertainty=...) must be a dict from sl.Uncertain to sets, "
            f"got {type(given).__name__}."
        )
    uncertainty = {_as_key(key): source for key, source in given.items()}
    if len(uncertainty) < len(given):
        raise InvalidParameter(
            "RobustProblem(uncertainty=...) must name each Uncertain once, got one "
            "alone and in a tuple."
        )
    for key, source in uncertainty.items():
        check_source(key_name(key), source)
    return uncertainty


def _as_key(key: object) -> Key:
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if not isinstance(part, Uncertain):
            raise InvalidParameter(
                "RobustProblem(uncertainty=...) must map sl.Uncertain parameters to "
                f"sets, got a key of type {type(part).__name__}."
            )
    return tuple(parts)


def _check_engine(method: str, engine: object, solver: object) -> None:
    by_name = isinstance(engine, str) and engine in ("auto", "dual", "cuts")
    if not (by_name or isinstance(engine, Cuts | Integers)):
        raise InvalidParameter(
            f"RobustProblem.{method}(engine=...) must be 'auto', 'dual', 'cuts' or "
            f"sl.robust.Cuts(...) or Integers(...), got {briefly(engine)}."
        )
    if not (solver is None or isinstance(solver, str | Solver)):
        raise InvalidParameter(
            f"RobustProblem.{method}(solver=...) must be the name of a solver or an "
            f"sl.robust.Solver, got {briefly(solver)}."
        )


def _is_stale(policy: Policy, keys: tuple[UncertainKey, ...]) -> bool:
    """Whether a source was exchanged, or fitted again, since a policy was made."""
    pairs = zip(policy.keys, keys, strict=True)
    return any(a.source is not b.source or a.losses != b.losses for a, b in pairs) or (
        policy.compiled_losses != tuple(key.losses for key in keys)
    )


def _in_short(source: AnySource) -> str:
    budget = budget_of(source)
    at = "" if budget is None else f" at budget {number_in_short(budget)}"
    return f"{type(source).__name__}{at}"
