"""Policies that are not robust problems themselves, judged on known outcomes alike.

They go by sets of one outcome each, read off the columns of a table. Robust decisions
over these are ordinary decisions at known numbers, so scenario models and clairvoyants
go through the same compiled programs and audits as robust ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from ..checks import Array, as_matrix, as_numbers, require_having
from ..epigraph import Epigraph
from ..errors import InvalidParameter
from ..evaluation import Evaluation
from ..losses.base import Slots, location_of
from ..predictions import Numbers, Outcomes, Prediction, Table, count_rows
from ..robust import Decisions, RobustProblem
from ..robust.clairvoyant import clairvoyant
from ..robust.evaluating import Decides, evaluation_of
from ..robust.judge.tape import flat
from ..robust.labelled import Outcome
from ..sets import Box
from .shapes import Located, Shape, ShapeBatch


@dataclass(frozen=True)
class Pinned(Shape):
    """Squared distance from the only outcome; the budget plays no part.

    Examples
    --------
    >>> Pinned().worst_case(np.array([1.0, 2.0]), 9.0, np.array([1.0, 0.0]))
    array([1., 2.])
    """

    def components(self, prediction: Located, outcome: npt.ArrayLike) -> Array:
        """Squared residuals."""
        return np.asarray((np.asarray(outcome) - location_of(prediction)) ** 2)

    def expression(self, prediction: Located, outcome: cp.Expression) -> cp.Expression:
        """Sum of squares."""
        return cp.sum_squares(outcome - location_of(prediction))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Located
    ) -> Epigraph:
        """Location'v: without a cone, linear models stay linear."""
        del multiplier
        return Epigraph(location_of(prediction) @ slope)

    def slots(self, prediction: Located, budget: npt.ArrayLike) -> Slots:
        """The location."""
        del budget
        return {"location": np.asarray(location_of(prediction), dtype=float)}

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """Location'v."""
        return Epigraph(slots["location"] @ direction)

    def narrowed(self, entries: object) -> Pinned:
        """The same of fewer components."""
        del entries
        return self

    def worst_case(
        self, prediction: Located, budget: npt.ArrayLike, direction: npt.ArrayLike
    ) -> Array:
        """The outcome itself."""
        del budget, direction
        return np.asarray(location_of(prediction), dtype=float)

    def region(self, prediction: Located, budget: float) -> Box:
        """A box of no width."""
        del budget
        return Box(location_of(prediction), location_of(prediction))


@dataclass(frozen=True)
class Columns:
    """A source of sets: columns `start` to `stop` of X, taken for the outcome.

    Examples
    --------
    >>> Columns(1, 3).predict_set(np.array([[9.0, 1.0, 2.0]])).support([1.0, 1.0])
    array([3.])
    """

    start: int
    stop: int
    budget_: float = 0.0
    certificate_: None = None
    training_marks: None = None
    calibration_marks: None = None

    @property
    def losses_(self) -> tuple[Pinned, ...]:
        """One."""
        return (Pinned(),)

    def predict_set(self, X: Table, budget: npt.ArrayLike | None = None) -> ShapeBatch:
        """The outcome at every row of X; a budget changes nothing."""
        del budget
        points = Prediction(np.asarray(X, dtype=float)[:, self.start : self.stop])
        outcomes = Outcomes((Numbers(points.width),))
        names = tuple(f"y{k}" for k in range(points.width))
        return ShapeBatch(Pinned(), points, np.zeros(len(points)), outcomes, names)


class Judged(ABC):
    """What a policy of another kind needs to be evaluated like a Policy."""

    problem: RobustProblem

    @abstractmethod
    def decide(
        self, X: Table, n_jobs: int | None = None, progress: bool = False
    ) -> Decisions:
        """The decision at every row of X."""

    @abstractmethod
    def _vectors(self, Y: Outcome, owner: str) -> list[Array]:
        """Outcome vectors, shape (n, m), for each key of the problem."""

    def evaluate(self, X: Table, Y: Outcome, n_jobs: int | None = None) -> Evaluation:
        """What the decisions are worth at known outcomes, as for a Policy.

        A violation is a broken constraint, or a cost above the one announced. No such
        policy promises against that; the rate says how often it would be wrong to.
        """
        owner = f"{type(self).__name__}.evaluate"
        vectors = self._vectors(Y, owner)
        if count_rows(X) != len(vectors[0]):
            raise InvalidParameter(
                f"{owner}: X and Y must have as many rows, got {count_rows(X)} and "
                f"{len(vectors[0])}."
            )
        best = clairvoyant(self.problem, vectors, n_jobs)
        policy: Decides = self
        decisions = policy.decide(self._seen(X, Y), n_jobs=n_jobs)
        return evaluation_of(policy, decisions, vectors, best)

    def _seen(self, X: Outcome, Y: Outcome) -> Outcome:
        """What the policy decides by."""
        del Y
        return X

    def _own(self, decisions: Decisions, index: object = None) -> Decisions:
        """The decisions, without variables and outcomes that are not the user's."""
        layout = self.problem.prepared().layout
        arrays = layout.room(decisions.status)
        by_id = {name.id: values for name, values in decisions.variables.items()}
        parts = [flat(by_id[name.id]) for name in layout.variables]
        arrays.values[:] = np.hstack([np.zeros((len(decisions), 0)), *parts])
        arrays.objective[:], arrays.bound[:] = decisions.objective, decisions.bound
        arrays.gap[:] = decisions.audit.gap
        # Nothing is protected against, so nothing is audited but the model at hand.
        arrays.slack[:] = arrays.violations[:] = 0.0
        return Decisions(arrays, layout, None, index)


class Clairvoyant(Judged):
    """Decides as if the outcome were known: nobody can do better.

    `decide` takes the outcomes in place of covariates.

    Parameters
    ----------
    problem : RobustProblem
        Its objective and constraints are used, its sets are not.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, sublevel as sl
    >>> r, w = sl.Uncertain(2, name="returns"), cp.Variable(2, nonneg=True)
    >>> U = sl.sets.Box([0.0, 0.0], [1.0, 1.0])
    >>> problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: U})
    >>> Clairvoyant(problem).decide(np.array([[0.1, 0.4], [0.3, 0.2]])).objective
    array([0.4, 0.3])
    """

    def __init__(self, problem: RobustProblem) -> None:
        model = "a RobustProblem"
        require_having("Clairvoyant", "uncertainty", model, problem=problem)
        self.problem = problem
        widths = [sum(p.size for p in key) for key in problem.uncertainty]
        ends = np.cumsum(widths).tolist()
        self._widths = widths
        points = {
            key: Columns(end - width, end)
            for key, width, end in zip(problem.uncertainty, widths, ends, strict=True)
        }
        knowing = RobustProblem(problem.objective, problem.constraints, points)
        self._policy = knowing.compile()

    def decide(
        self, X: Outcome, n_jobs: int | None = None, progress: bool = False
    ) -> Decisions:
        """The best decision at every outcome, a row of X each.

        For several uncertain parameters X is a dict by name.
        """
        table = np.hstack(self._vectors(X, "Clairvoyant.decide"))
        decisions = self._policy.decide(table, n_jobs=n_jobs, progress=progress)
        return self._own(decisions)

    def _seen(self, X: Outcome, Y: Outcome) -> Outcome:
        del X
        return Y

    def _vectors(self, Y: Outcome, owner: str) -> list[Array]:
        names = [", ".join(p.name() for p in key) for key in self.problem.uncertainty]
        if not isinstance(Y, dict):
            Y = {names[0]: Y} if len(names) == 1 else {}
        missing = [name for name in names if name not in Y]
        if missing:
            raise InvalidParameter(
                f"{owner}(Y) must be a dict with the outcomes of each of {names}."
            )
        return [
            as_matrix(owner, "Y", _columns(Y[name]), (count_rows(Y[name]), width))
            for name, width in zip(names, self._widths, strict=True)
        ]


def _columns(Y: object) -> Array:
    """Outcomes of one component may come without a second axis."""
    columns = as_numbers("Clairvoyant", "Y", Y)
    return columns[:, None] if columns.ndim == 1 else columns
