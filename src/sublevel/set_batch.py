"""The sets of many contexts, kept as arrays until one is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .checks import Array
from .errors import InvalidParameter
from .losses import Loss
from .predictions import AnyPrediction, Labels, Outcomes, outcomes_of, predict
from .sets import UncertaintySet, Union
from .sets.base import TOLERANCE
from .sets.sublevel import sublevel_set, within

if TYPE_CHECKING:
    import pandas as pd


class Batch(Sequence[UncertaintySet]):
    """What one set answers, answered row by row for a batch of contexts."""

    outcomes: Outcomes
    names: tuple[str, ...]
    index: Any

    def _point(self) -> Array:
        raise NotImplementedError

    def contains(self, Y: Any, tol: float = TOLERANCE) -> Any:
        """Whether row i of Y (numbers or labels) is in set i, shape (n,)."""
        raise NotImplementedError

    def support(self, directions: Any) -> Array:
        """Largest `direction @ y` over each set, shape (n,)."""
        raise NotImplementedError

    def bounds(self) -> tuple[Array, Array]:
        """Least and largest value of each component: two arrays of shape (n, m)."""
        axes = np.eye(self.outcomes.width)
        upper = np.stack([self.support(axis) for axis in axes], axis=1)
        lower = np.stack([-self.support(-axis) for axis in axes], axis=1)
        return lower, upper

    def to_pandas(self) -> pd.DataFrame:
        """Bounds and prediction by component name, one row a context.

        For labels, `upper` is 1 where the class is possible.
        """
        import pandas as pd

        lower, upper = self.bounds()
        parts = {"lower": lower, "point": self._point(), "upper": upper}
        frame = {
            (name, part): values[:, j]
            for j, name in enumerate(self.names)
            for part, values in parts.items()
        }
        columns = pd.MultiIndex.from_tuples(list(frame), names=["component", "value"])
        found = pd.DataFrame(dict(enumerate(frame.values())), index=self.index)
        return found.set_axis(columns, axis=1)


@dataclass(frozen=True, eq=False)
class SetBatch(Batch):
    """Sublevel sets of one loss at n contexts.

    Parameters
    ----------
    loss : Loss
    prediction : Prediction of n contexts
    budgets : array of shape (n,)
    outcomes : how the columns of Y map to outcome vectors
    names : names of the components
    index : row labels, or None
    """

    loss: Loss
    prediction: AnyPrediction
    budgets: Array
    outcomes: Outcomes
    names: tuple[str, ...]
    index: Any = None

    def __len__(self) -> int:
        return len(self.budgets)

    @overload
    def __getitem__(self, rows: int) -> UncertaintySet: ...
    @overload
    def __getitem__(self, rows: slice) -> SetBatch: ...
    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, int | np.integer):
            if not -len(self) <= rows < len(self):
                raise IndexError(f"row {rows} of a batch of {len(self)} sets")
            classes = [b.classes for b in self.outcomes.blocks if isinstance(b, Labels)]
            budget = float(self.budgets[rows])
            return sublevel_set(self.loss, self.prediction[rows], budget, classes)
        index = None if self.index is None else self.index[rows]
        return SetBatch(
            self.loss,
            self.prediction[rows],
            self.budgets[rows],
            self.outcomes,
            self.names,
            index,
        )

    def __iter__(self) -> Iterator[UncertaintySet]:
        return (self[i] for i in range(len(self)))

    def contains(self, Y: Any, tol: float = TOLERANCE) -> Any:
        """Whether row i of Y (numbers or labels) is in set i, shape (n,)."""
        vectors = self.outcomes.encode(Y, "SetBatch.contains")
        if len(vectors) != len(self):
            raise InvalidParameter(
                f"SetBatch.contains(Y) must have one row for each of the {len(self)} "
                f"sets, got {len(vectors)}."
            )
        scores = self.loss.score(self.prediction, vectors)
        return within(scores, self._budgets(), tol)

    def worst_case(self, directions: Any) -> Array:
        """The outcome of each set that maximises `direction @ y`, shape (n, m).

        `directions` is of shape (m,), the same for all, or (n, m).
        """
        directions = self._directions(directions)
        return self.loss.worst_case(self.prediction, self._budgets(), directions)

    def support(self, directions: Any) -> Array:
        """Largest `direction @ y` over each set, shape (n,); inf if the budget is."""
        directions = self._directions(directions)
        found = np.where(directions.any(axis=1), np.inf, 0.0)
        budgets = self._budgets()
        finite = np.isfinite(budgets)
        if finite.any():
            found[finite] = self.loss.support(
                self.prediction[finite], budgets[finite], directions[finite]
            )
        return found

    def _point(self) -> Array:
        return self.prediction.point

    def _budgets(self) -> Array:
        return np.maximum(self.budgets, self.loss.floor(self.prediction))

    def _directions(self, directions: Any) -> Array:
        found = np.asarray(directions, dtype=float)
        shape = (len(self), self.outcomes.width)
        if found.shape not in (shape, shape[1:]):
            raise InvalidParameter(
                f"SetBatch(directions=...) must be of shape {shape[1:]} or {shape}, "
                f"got shape {found.shape}."
            )
        return np.broadcast_to(found, shape)


@dataclass(frozen=True, eq=False)
class UnionBatch(Batch):
    """Unions, context by context, of several batches (one a fold of CV+)."""

    parts: tuple[SetBatch, ...]

    @property
    def outcomes(self) -> Outcomes:  # type: ignore[override]
        """How the columns of Y map to outcome vectors."""
        return self.parts[0].outcomes

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the components."""
        return self.parts[0].names

    @property
    def index(self) -> Any:
        """Row labels, or None."""
        return self.parts[0].index

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, rows: Any) -> Any:
        members = tuple(part[rows] for part in self.parts)
        if isinstance(rows, slice):
            return UnionBatch(members)
        return Union(members)

    def contains(self, Y: Any, tol: float = TOLERANCE) -> Any:
        """Whether row i of Y is in some fold's set i, shape (n,)."""
        return np.any([part.contains(Y, tol) for part in self.parts], axis=0)

    def support(self, directions: Any) -> Array:
        """Largest value over the folds' sets, shape (n,)."""
        return np.asarray(np.max([p.support(directions) for p in self.parts], axis=0))

    def _point(self) -> Array:
        return np.asarray(np.mean([part._point() for part in self.parts], axis=0))


def predict_batch(
    model: Any, loss: Any, X: Any, budgets: Array, names: Any = None
) -> SetBatch:
    """The sublevel sets of a model and loss at every row of X."""
    said = predict(model, X, loss.needs)
    loss.check(said)
    outcomes = outcomes_of(model, said)
    found = names or outcomes.names([f"y{k}" for k in range(outcomes.columns)])
    index = getattr(X, "index", None)
    return SetBatch(loss, said, budgets, outcomes, found, index)
