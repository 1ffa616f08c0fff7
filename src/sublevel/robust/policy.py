"""Policy: a robust problem compiled once, that decides for any number of contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array, require_positive
from ..errors import InvalidParameter
from .calibrated import Calibrates
from .chunk import decide_chunk
from .compiling import Compiled, ordinary_values, refreshed
from .decisions import Decisions, Named
from .fallback import fall_back
from .gathering import gather, named
from .one_by_one import as_result, decide_one
from .parallel import each
from .policy_file import save_recipe
from .preparing import prepare
from .sets_at import count_contexts, is_predicted, sets_of

#: Contexts decided in one go: enough to share the work, few enough to hold in memory.
CHUNK = 1000


@dataclass(frozen=True)
class Recipe:
    """All it takes to decide: arrays, names and certificates, no CVXPY.

    Attributes
    ----------
    compiled : the compiled program and its rows
    fixed : slot vector with the ordinary parameters' values
    variables : the model's variables, with their columns
    keys : uncertain parameters, as they share sets
    certificates : what each key's sets promise, or None
    """

    compiled: Compiled
    fixed: Array
    variables: dict[Named, Any]
    keys: tuple[tuple[Named, ...], ...]
    certificates: Any


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

    def __init__(self, problem: Any, engine: str, solver: str | None) -> None:
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
        chunk: int = CHUNK,
    ) -> Decisions:
        """The decision at every row of X.

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
        chunk : int
            Contexts that go to a worker together.
        """
        require_positive("Policy.decide", chunk=chunk)
        rows = self._count(X)
        recipe = self._recipe(X)
        if recipe is None:
            found = self._decide_one_by_one(X, rows, progress)
            return fall_back(found, self._fallback)
        spans = [
            np.arange(a, min(a + int(chunk), rows)) for a in range(0, rows, int(chunk))
        ]
        given = ((self._batches(X, span), recipe.fixed, len(span)) for span in spans)
        jobs = ((decide_chunk, (recipe.compiled, *one)) for one in given)
        results = each(jobs, len(spans), n_jobs, progress, "chunks")
        found = gather(
            results, recipe.variables, recipe.keys, recipe.certificates, _index(X)
        )
        return fall_back(found, self._fallback)

    def save(self, path: Any) -> None:
        """Write the policy to a file that `sl.load_policy` reads: arrays and JSON.

        Models are not written (that would need pickle); `load_policy` takes them, or
        the loaded policy takes predictions. Ordinary parameters keep the values they
        have now.
        """
        recipe = self._recipe(None)
        if recipe is None:
            raise InvalidParameter(
                f"Policy.save() needs a compiled program, and {self.one_by_one}. Save "
                "the model's code and its LossSets instead."
            )
        save_recipe(path, recipe, self._sources(), self._losses())

    def _recipe(self, X: Any) -> Recipe | None:
        """What the present values of ordinary parameters make of the program."""
        compiled = self._prepared.compiled(self.problem, lambda: self._batches(X, [0]))
        if compiled is None:
            return None
        columns = compiled.program.variables
        return Recipe(
            refreshed(self.problem, compiled),
            ordinary_values(self.problem, compiled),
            {named(v): columns[v.id] for v in self.problem._variables},
            self._keys(),
            self._certificates(),
        )

    def _decide_one_by_one(self, X: Any, rows: int, progress: bool) -> Decisions:
        variables = [named(v) for v in self.problem._variables]
        keys, parts = self._keys(), self.problem._uncertain_parts
        problem = self.problem._over(self._sources())
        jobs = (
            (decide_one, (problem, X, i, self.engine, self.solver)) for i in range(rows)
        )
        found = each(jobs, rows, None, progress, "contexts")
        results = [as_result(d, variables, keys, parts) for d in found]
        ends = np.cumsum([v.size for v in variables])
        blocks = np.split(np.arange(ends[-1]), ends[:-1])
        columns = dict(zip(variables, blocks, strict=True))
        return gather(results, columns, keys, self._certificates(), _index(X))

    def _keys(self) -> tuple[tuple[Named, ...], ...]:
        return tuple(tuple(named(p) for p in key) for key in self.problem.uncertainty)

    def _given(self) -> list[Any]:
        """For each key its LossSet or set value."""
        return list(self.problem.uncertainty.values())

    def _named_variables(self) -> list[Named]:
        return [named(v) for v in self.problem._variables]

    def _certificates(self) -> dict[Any, Any]:
        """What each key's sets promise, or None."""
        pairs = zip(self._keys(), self._sources(), strict=True)
        return {key: getattr(source, "certificate_", None) for key, source in pairs}

    def _losses(self) -> list[Any]:
        """For each key the losses it was compiled for, or None."""
        return [self._prepared.losses.get(key) for key in self.problem.uncertainty]

    def _batches(self, X: Any, rows: Any) -> list[Any]:
        """For each key its batch of sets at some rows, or None for a set value."""
        known = zip(self._keys(), self._sources(), self._losses(), strict=True)
        return [
            sets_of(key, source, losses, X, rows) if is_predicted(source) else None
            for key, source, losses in known
        ]

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
