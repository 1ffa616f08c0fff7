"""The sets of many contexts, kept as arrays until one is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeGuard, overload

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray, as_matrix, as_vector, briefly, require_tolerance
from ..errors import InvalidParameter, Unbounded
from ..losses import Combined, LabelLoss, Loss
from ..predictions import AnyPrediction, Labels, Outcomes, Table
from ..sets import UncertaintySet, Union
from ..sets.base import TOLERANCE
from ..sets.sublevel import membership, sublevel_set
from ..tables import html_table

if TYPE_CHECKING:
    import pandas as pd


#: Numbers or flags of some rows.
Indices = npt.NDArray[np.integer[Any] | np.bool_]


class Batch(Sequence[UncertaintySet]):
    """What one set answers, answered row by row for a batch of contexts."""

    outcomes: Outcomes
    names: tuple[str, ...]
    index: Any
    #: The batches a union is made of; a batch of plain sets is its own only part.
    parts: tuple[SetBatch, ...]

    @overload
    def __getitem__(self, rows: int) -> UncertaintySet: ...
    @overload
    def __getitem__(self, rows: slice | Indices) -> Self: ...
    def __getitem__(self, rows: int | slice | Indices) -> UncertaintySet | Self:
        """One set, or the batch of some contexts."""
        raise NotImplementedError

    def at_budgets(self, rows: Indices, budgets: Array) -> Batch:
        """The sets of some contexts, each at another budget: (k,) and (k,)."""
        raise NotImplementedError

    @property
    def points(self) -> Array:
        """The predicted outcome at each context, shape (n, m)."""
        raise NotImplementedError

    def contains(self, Y: Table, tol: float = TOLERANCE) -> BoolArray:
        """Whether row i of Y (numbers or labels) is in set i, shape (n,)."""
        raise NotImplementedError

    def worst_case(self, directions: npt.ArrayLike) -> Array:
        """The outcome of each set that maximises `direction @ y`, shape (n, m).

        `directions` is of shape (m,), the same for all, or (n, m).
        """
        raise NotImplementedError

    def support(self, directions: npt.ArrayLike) -> Array:
        """Largest `direction @ y` over each set, shape (n,)."""
        raise NotImplementedError

    def bounds(self) -> tuple[Array, Array]:
        """Least and largest value of each component: two arrays of shape (n, m)."""
        axes = np.eye(self.outcomes.width)
        upper = np.stack([self.support(axis) for axis in axes], axis=1)
        lower = np.stack([-self.support(-axis) for axis in axes], axis=1)
        # Adding zero turns -0.0 into 0.0.
        return lower + 0.0, upper + 0.0

    def to_pandas(self) -> pd.DataFrame:
        """Bounds and prediction by component name, one row a context.

        For labels, `upper` is 1 where the class is possible.
        """
        import pandas as pd

        lower, upper = self.bounds()
        parts = {"lower": lower, "point": self.points, "upper": upper}
        # By position: components of the same name are still different ones.
        values = [part[:, j] for j in range(len(self.names)) for part in parts.values()]
        heads = [(name, part) for name in self.names for part in parts]
        columns = pd.MultiIndex.from_tuples(heads, names=["component", "value"])
        table = pd.DataFrame(dict(enumerate(values)), index=self.index)
        return table.set_axis(columns, axis=1)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self)} sets of {self.outcomes.width} "
            f"components, {', '.join(self.described)})"
        )

    def _repr_html_(self) -> str:
        facts = [
            ("contexts", f"{len(self)}"),
            ("components", ", ".join(self.names)),
            ("sets", ", ".join(self.described)),
        ]
        return html_table(type(self).__name__, facts)

    @property
    def described(self) -> tuple[str, ...]:
        """Of how many folds, of which loss and at which budgets, in a few words."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class SetBatch(Batch):
    """Sublevel sets of one loss at n contexts.

    Parameters
    ----------
    loss : Loss
    prediction : Prediction of n contexts
    budgets : array of shape (n,)
    outcomes : how the columns of Y map to outcome vectors
    named : names of the components; none, to call them by their columns
    index : row labels, or None
    """

    loss: Loss
    prediction: AnyPrediction
    budgets: Array
    outcomes: Outcomes
    named: tuple[str, ...]
    index: Any = None

    def __len__(self) -> int:
        return len(self.budgets)

    @overload
    def __getitem__(self, rows: int) -> UncertaintySet: ...
    @overload
    def __getitem__(self, rows: slice | Indices) -> Self: ...
    def __getitem__(self, rows: int | slice | Indices) -> UncertaintySet | Self:
        if isinstance(rows, int | np.integer) and not isinstance(rows, bool):
            if not -len(self) <= rows < len(self):
                raise IndexError(f"row {rows} of a batch of {len(self)} sets")
            classes = [b.classes for b in self.outcomes.blocks if isinstance(b, Labels)]
            budget = float(self.budgets[rows])
            return sublevel_set(self.loss, self.prediction[rows], budget, classes)
        rows = rows if isinstance(rows, slice) else as_rows(rows)
        return replace(
            self,
            prediction=self.prediction[rows],
            budgets=self.budgets[rows],
            index=None if self.index is None else self.index[rows],
        )

    def at_budgets(self, rows: Indices, budgets: Array) -> SetBatch:
        """The sets of some contexts, each at another budget: (k,) and (k,)."""
        prediction = self.prediction[rows]
        return replace(self, prediction=prediction, budgets=budgets, index=None)

    def __iter__(self) -> Iterator[UncertaintySet]:
        return (self[i] for i in range(len(self)))

    def contains(self, Y: Table, tol: float = TOLERANCE) -> BoolArray:
        """Whether row i of Y (numbers or labels) is in set i, shape (n,)."""
        require_tolerance("SetBatch.contains", tol)
        vectors = self.outcomes.encode(Y, "SetBatch.contains")
        if len(vectors) != len(self):
            raise InvalidParameter(
                f"SetBatch.contains(Y) must have one row for each of the {len(self)} "
                f"sets, got {len(vectors)}."
            )
        return membership(self.loss, self.prediction, self.budgets, vectors, tol)

    def worst_case(self, directions: npt.ArrayLike) -> Array:
        """The outcome of each set that maximises `direction @ y`, shape (n, m).

        `directions` is of shape (m,), the same for all, or (n, m).
        """
        wanted = self._directions(directions)
        easy = self._easy()
        if easy.all() and len(easy):
            every = self.prediction, self.effective_budgets, wanted
            return self.loss.worst_case(*every)
        outcomes = np.empty(wanted.shape)
        if easy.any():
            outcomes[easy] = self._ask(self.loss.worst_case, easy, wanted)
        for row in np.flatnonzero(~easy).tolist():
            try:
                outcomes[row] = self[row].worst_case(wanted[row])
            except Unbounded as error:
                raise Unbounded(f"Row {row}: {error}") from error
        return outcomes

    def support(self, directions: npt.ArrayLike) -> Array:
        """Largest `direction @ y` over each set, shape (n,)."""
        wanted = self._directions(directions)
        values = np.where(wanted.any(axis=1), np.inf, 0.0)
        easy = self._easy()
        if easy.any():
            values[easy] = self._ask(self.loss.support, easy, wanted)
        if any(isinstance(part, LabelLoss) for part in _parts(self.loss)):
            # Labels are bounded whatever the budget: the set itself knows.
            for row in np.flatnonzero(~easy).tolist():
                values[row] = self[row].support(wanted[row])
        return values

    def _easy(self) -> BoolArray:
        """Rows whose answer the loss has: a finite budget, or nothing but labels."""
        return np.isfinite(self.effective_budgets) | isinstance(self.loss, LabelLoss)

    def _ask(
        self, question: Callable[..., Array], rows: BoolArray, directions: Array
    ) -> Array:
        return question(
            self.prediction[rows], self.effective_budgets[rows], directions[rows]
        )

    @property
    def parts(self) -> tuple[SetBatch, ...]:  # type: ignore[override]
        """The batch itself."""
        return (self,)

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the components."""
        return self.named or self.outcomes.names(self.outcomes.column_names)

    @property
    def points(self) -> Array:
        """The predicted outcome at each context, shape (n, m)."""
        return self.prediction.point

    @property
    def effective_budgets(self) -> Array:
        """Each budget, or the least loss any outcome has where that is more: (n,)."""
        return np.maximum(self.budgets, self.loss.floor(self.prediction))

    @property
    def below_least(self) -> BoolArray:
        """Contexts where no outcome has a loss within the budget, shape (n,).

        Their sets would be empty; they are those of the least loss instead, which can
        only add coverage.
        """
        return np.asarray(self.budgets < self.loss.floor(self.prediction))

    def _directions(self, directions: npt.ArrayLike) -> Array:
        return as_directions(directions, len(self), self.outcomes.width)

    @property
    def described(self) -> tuple[str, ...]:
        """The loss and the budgets in a few words."""
        words = type(self.loss).__name__, _span(self.budgets)
        count = int(self.below_least.sum())
        if not count:
            return words
        return *words, f"below every loss at {count} of {len(self)} contexts"


@dataclass(frozen=True, eq=False, repr=False)
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

    @overload
    def __getitem__(self, rows: int) -> UncertaintySet: ...
    @overload
    def __getitem__(self, rows: slice | Indices) -> Self: ...
    def __getitem__(self, rows: int | slice | Indices) -> UncertaintySet | Self:
        if is_one_row(rows):
            return Union(tuple(part[rows] for part in self.parts))
        some = as_rows(rows)
        return replace(self, parts=tuple(part[some] for part in self.parts))

    def at_budgets(self, rows: Indices, budgets: Array) -> UnionBatch:
        """The unions of some contexts, each at another budget: (k,) and (k,)."""
        return UnionBatch(tuple(part.at_budgets(rows, budgets) for part in self.parts))

    def contains(self, Y: Table, tol: float = TOLERANCE) -> BoolArray:
        """Whether row i of Y is in some fold's set i, shape (n,)."""
        inside = [part.contains(Y, tol) for part in self.parts]
        return np.asarray(np.any(inside, axis=0))

    def worst_case(self, directions: npt.ArrayLike) -> Array:
        """The best of the folds' outcomes, shape (n, m)."""
        shape = len(self), self.outcomes.width
        wanted = as_directions(directions, *shape)
        outcomes = np.stack([part.worst_case(wanted) for part in self.parts])
        best = np.argmax(np.sum(outcomes * wanted, axis=2), axis=0)
        return np.asarray(outcomes[best, np.arange(len(self))])

    def support(self, directions: npt.ArrayLike) -> Array:
        """Largest value over the folds' sets, shape (n,)."""
        return np.asarray(np.max([p.support(directions) for p in self.parts], axis=0))

    @property
    def points(self) -> Array:
        """The mean of the folds' predicted outcomes, shape (n, m)."""
        return np.asarray(np.mean([part.points for part in self.parts], axis=0))

    @property
    def described(self) -> tuple[str, ...]:
        """Of how many folds, of which loss and at which budgets, in a few words."""
        return f"unions of {len(self.parts)} folds", *self.parts[0].described


def is_one_row(rows: object) -> TypeGuard[int]:
    """Whether an index means one set, not a smaller batch."""
    return isinstance(rows, int | np.integer) and not isinstance(rows, bool)


def as_rows(rows: object) -> slice | Indices:
    """A slice, or an array of integers or truth values."""
    if isinstance(rows, slice):
        return rows
    try:
        chosen = np.asarray(rows)
    except ValueError:
        chosen = np.asarray(None)
    if not chosen.size and chosen.ndim == 1:
        return chosen.astype(int)
    if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
        raise InvalidParameter(
            "SetBatch[rows] must be a row number, a slice, or a list of row numbers or "
            f"truth values, got {briefly(rows)}."
        )
    return chosen


def as_directions(directions: npt.ArrayLike, n: int, m: int) -> Array:
    """Directions of shape (n, m) from one of shape (m,) or n of them."""
    try:
        given = np.shape(directions)
        got = f"shape {given}" if given else briefly(directions)
    except ValueError:
        given, got = None, "rows of different lengths"
    if given not in ((m,), (n, m)):
        raise InvalidParameter(
            f"SetBatch(directions=...) must be of shape {(m,)} or {(n, m)}, got {got}."
        )
    if not n:
        return np.empty((0, m))
    if given == (m,):
        wanted = as_vector("SetBatch", "directions", directions, m)
    else:
        wanted = as_matrix("SetBatch", "directions", directions, (n, m))
    return np.broadcast_to(wanted, (n, m))


def _parts(loss: Loss) -> tuple[Loss, ...]:
    """The losses a combined one is made of, or the loss itself."""
    return tuple(loss.losses) if isinstance(loss, Combined) else (loss,)


def _span(budgets: Array) -> str:
    """The budgets in a few words."""
    if not len(budgets):
        return "no budgets"
    low, high = np.min(budgets), np.max(budgets)
    if low == high:
        return f"budget {low:.4g}"
    return f"budgets {low:.4g} to {high:.4g}"
