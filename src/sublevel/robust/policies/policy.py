"""Policy: a robust problem compiled once, that decides for any number of contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import Array, require_positive
from ...errors import InvalidParameter
from ..auditing.decisions import Decisions, Named
from ..calibrating.fallback import fall_back
from ..compiled.chunk import ChunkTask
from ..compiled.chunk_solver import Clarabel
from ..compiled.compiling import Compiled, ordinary_values
from ..compiled.preparing import prepare
from ..modelling.sets_at import as_contexts, count_contexts, is_predicted
from .calibrated import Calibrates
from .deciding import decide_chunks, decide_each
from .gathering import Gathering, named
from .policy_file import write_file
from .policy_layout import to_layout
from .predicting import Sets
from .progress import Bar

#: Most contexts, and most numbers, that are decided in one go.
MOST_CONTEXTS, MOST_NUMBERS = 1000, 2_000_000


@dataclass(frozen=True)
class Recipe:
    """All it takes to decide: arrays and names, no CVXPY.

    Attributes
    ----------
    compiled : the compiled program and its rows
    fixed : slot vector with the ordinary parameters' values
    variables : the model's variables, with their columns
    keys : uncertain parameters, as they share sets
    """

    compiled: Compiled
    fixed: Array
    variables: dict[Named, Any]
    keys: tuple[tuple[Named, ...], ...]

    @property
    def chunk(self) -> int:
        """Contexts that share the work and fit in memory together."""
        program = self.compiled.program
        numbers = len(program.indices) + program.b.shape[0] + program.width
        return int(np.clip(MOST_NUMBERS // numbers, 1, MOST_CONTEXTS))

    def room(self, rows: int) -> Gathering:
        """Room for the decisions of so many contexts."""
        return Gathering(rows, list(self.variables), self.keys, self.compiled.parts)

    def task(self, solver: Any) -> ChunkTask:
        """What workers are sent."""
        outputs = np.concatenate(list(self.variables.values()))
        return ChunkTask(self.compiled, self.fixed, outputs, solver)


class Policy(Calibrates):
    """From covariates to audited robust decisions; made by `RobustProblem.compile`.

    Attributes
    ----------
    problem : the RobustProblem it was made from
    engine, solver : as given to `compile`

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, sublevel as sl
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> Y = X + 0.1 * rng.normal(size=(300, 3))
    >>> sets = sl.LossSet(LinearRegression()).fit(X[:100], Y[:100])
    >>> sets = sets.calibrate(X[100:200], Y[100:200], alpha=0.1)
    >>> r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    >>> problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    >>> decisions = problem.compile().decide(X[200:])
    >>> decisions, decisions.value(w).shape
    (Decisions(100 contexts: 100 optimal), (100, 3))
    """

    def __init__(self, problem: Any, engine: Any, solver: Any) -> None:
        self.problem = problem
        self.engine = engine
        self.solver = solver
        self._prepared = prepare(problem, engine, solver)

    @property
    def one_by_one(self) -> str | None:
        """Why contexts cannot share one compiled program, or None if they do.

        Solved one by one they are decided just as exactly, only slower.
        """
        return self._prepared.reason

    def decide(
        self,
        X: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
        chunk: int | None = None,
    ) -> Decisions:
        """The decision at every row of X.

        A context that fails is a status, "invalid_prediction" where the model cannot
        predict. Only if no context can be predicted is that an error.

        Parameters
        ----------
        X : covariates of n contexts; None where every set is a value. Predictions do
            as well: a Prediction, or a dict from names of parameters to Predictions.
        n_jobs : int, optional
            Workers, as in joblib: threads by default, or the backend that
            `joblib.parallel_config` names ("loky", "dask"). Contexts that are solved
            one by one are solved in this process.
        progress : bool, default False
            Show a bar.
        chunk : int, optional
            Contexts that go to a worker together; by default as many as share the
            work well and fit in memory.
        """
        if chunk is not None:
            require_positive("Policy.decide", chunk=chunk)
        rows = self._count(X)
        sets = Sets(self._keys(), self._sources(), self._losses(), as_contexts(X))
        recipe = self._recipe(sets)
        with Bar(rows, progress) as bar:
            if recipe is None:
                found = self._one_by_one(sets, rows, bar)
            else:
                step = recipe.chunk if chunk is None else int(chunk)
                task = recipe.task(self._chunk_solver)
                found = recipe.room(rows)
                decide_chunks(task, sets, found, step, n_jobs, bar)
        told = found.decisions(self._told(), _index(X))
        return fall_back(told, self._fallback)

    def save(self, path: Any) -> None:
        """Write the policy to a file that `sl.load_policy` reads: arrays and JSON.

        Models are not written (that would need pickle); `load_policy` takes them, or
        the loaded policy takes predictions. Ordinary parameters keep the values they
        have now.
        """
        sets = Sets(self._keys(), self._sources(), self._losses(), None)
        recipe = self._recipe(sets)
        if recipe is None:
            raise InvalidParameter(
                f"Policy.save() needs a compiled program, and {self.one_by_one}. Save "
                "the model's code and its LossSets instead."
            )
        given = self._to_save(), self._losses(), self._fallback, self._probe()
        write_file(path, *to_layout(recipe, *given))

    def _recipe(self, sets: Sets) -> Recipe | None:
        """What the present values of ordinary parameters make of the program."""
        prepared = self._prepared
        compiled = prepared.compiled(self.problem, sets.first)
        if compiled is None:
            return None
        columns = compiled.program.variables
        return Recipe(
            compiled,
            ordinary_values(prepared.ordinary, compiled),
            {named(v): columns[v.id] for v in prepared.variables},
            self._keys(),
        )

    def _one_by_one(self, sets: Sets, rows: int, bar: Bar) -> Gathering:
        parts = self.problem._uncertain_parts
        found = Gathering(rows, self._named_variables(), self._keys(), parts)
        solver = self.solver if isinstance(self.solver, str) else None
        decide_each(self.problem, sets, found, self.engine, solver, bar)
        return found

    @property
    def _chunk_solver(self) -> Any:
        named = self.solver is None or isinstance(self.solver, str)
        return Clarabel() if named else self.solver

    def _keys(self) -> tuple[tuple[Named, ...], ...]:
        return tuple(tuple(named(p) for p in key) for key in self.problem.uncertainty)

    def _given(self) -> list[Any]:
        """For each key its LossSet or set value."""
        return list(self.problem.uncertainty.values())

    def _named_variables(self) -> list[Named]:
        return [named(v) for v in self._prepared.variables]

    def _losses(self) -> list[Any]:
        """For each key the losses it was compiled for, or None."""
        return [self._prepared.losses.get(key) for key in self.problem.uncertainty]

    def _count(self, X: Any) -> int:
        if X is None and any(is_predicted(source) for source in self._sources()):
            raise InvalidParameter(
                "Policy.decide(X) needs covariates, as some sets are LossSets."
            )
        rows = 1 if X is None else count_contexts(X)
        if not rows:
            raise InvalidParameter(
                "Policy.decide(X) must have at least one context, got no rows."
            )
        return rows


def _index(X: Any) -> Any:
    """Labels of the rows; a list has an `index` too, a method."""
    return X.index if hasattr(X, "iloc") else None
