"""What is learned from: covariates, weights and folds that hold out each row once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, check_cv

from ..checks import Array, briefly, is_whole
from ..conic.program import Indices
from ..errors import InvalidParameter
from ..predictions import Table, take_rows

if TYPE_CHECKING:
    import pandas as pd


class Predictor(Protocol):
    """What predicts numbers from covariates."""

    def predict(self, X: Table) -> npt.ArrayLike: ...


class Regressor(Predictor, Protocol):
    """What scikit-learn calls a regressor."""

    def fit(self, X: Table, y: npt.ArrayLike) -> Any: ...


class Splitter(Protocol):
    """What scikit-learn calls a splitter."""

    def split(
        self, X: Table, y: npt.ArrayLike
    ) -> Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]: ...


def is_frame(X: Table) -> TypeGuard[pd.DataFrame]:
    """Whether X is a DataFrame, whose columns have types of their own."""
    return hasattr(X, "isetitem")


#: What scikit-learn calls a random state, or a generator.
RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None
#: What scikit-learn takes.
Seed: TypeAlias = int | np.random.RandomState | None
#: A number of folds, a splitter, or (training rows, held-out rows) of each fold.
Splits: TypeAlias = int | Splitter | Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]

#: (training rows, held-out rows) of each fold.
Folds = list[tuple[Indices, Indices]]


def as_seed(owner: str, random_state: RandomState) -> Seed:
    """What scikit-learn takes for a random state: of a Generator, a seed it draws.

    Examples
    --------
    >>> as_seed("MeanVarianceRegressor", 3)
    3
    >>> as_seed("MeanVarianceRegressor", np.random.default_rng(0))
    1826701614
    """
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    state = random_state is None or isinstance(random_state, np.random.RandomState)
    if not (state or (is_whole(random_state) and random_state < 2**32)):
        raise InvalidParameter(
            f"{owner}(random_state=...) must be an integer from 0 to 2**32 - 1, a "
            "np.random.RandomState, a np.random.Generator or None, got "
            f"{briefly(random_state)}."
        )
    return random_state


def partition(
    cv: Splits,
    X: Table,
    y: Array,
    random_state: Seed = 0,
    owner: str = "MeanVarianceRegressor",
) -> Folds:
    """The folds of `cv`, checked.

    Parameters
    ----------
    cv : int, splitter, or iterable of (training rows, held-out rows)
        A number means shuffled folds, at most one a row.

    Examples
    --------
    >>> [len(held) for _, held in partition(3, np.zeros((8, 1)), np.zeros(8))]
    [3, 3, 2]
    """
    n = len(y)
    if n < 2:
        raise InvalidParameter(
            f"{owner}.fit needs 2 rows or more, one to train on and one to hold out, "
            f"got n_samples = {n}."
        )
    if isinstance(cv, int | np.integer):
        if cv < 2:
            raise InvalidParameter(f"{owner}(cv=...) must be 2 or more, got {cv}.")
        cv = KFold(min(int(cv), n), shuffle=True, random_state=random_state)
    splits = check_cv(cv).split(X, y)
    folds = [(_places(train), _places(held)) for train, held in splits]
    _require_held_out(folds, n, owner)
    return folds


def _places(rows: npt.ArrayLike) -> Indices:
    """Row numbers, from row numbers or a mask."""
    places = np.asarray(rows)
    return np.flatnonzero(places) if places.dtype == bool else places


def _require_held_out(folds: Folds, n: int, owner: str) -> None:
    held = np.concatenate([held for _, held in folds])
    distinct = len(np.unique(held))
    if len(held) != n or distinct != n:
        raise InvalidParameter(
            f"{owner}(cv=...) must hold out each of the {n} rows exactly once, got "
            f"{len(held)} held-out rows, {distinct} of them distinct. Use KFold or "
            "GroupKFold, or a list of such splits."
        )
    if any(np.isin(held, train).any() for train, held in folds):
        raise InvalidParameter(
            f"{owner}(cv=...) must not train on the rows it holds out: their "
            "residuals would understate the noise."
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of covariates, how much each counts, and which are held out together.

    Parameters
    ----------
    X : covariates of n rows, as they came
    weight : array of shape (n,), or None where all rows count the same
    folds : list of (training rows, held-out rows)

    Examples
    --------
    >>> rows = Rows(np.eye(3), np.array([1.0, 1.0, 2.0]))
    >>> rows.mean(np.array([1.0, 1.0, 4.0])), rows.take(np.array([2])).X
    (array(2.5), array([[0., 0., 1.]]))
    """

    X: Table
    weight: Array | None = None
    folds: Folds | tuple[()] = ()

    def take(self, chosen: Indices) -> Rows:
        """The chosen rows, without folds."""
        weight = None if self.weight is None else self.weight[chosen]
        return Rows(take_rows(self.X, chosen), weight)

    def mean(self, values: Array) -> Array:
        """Weighted mean over the rows."""
        return np.asarray(np.average(values, axis=0, weights=self.weight))

    def shares(self, n: int) -> Array:
        """Weights of the n rows that sum to 1."""
        weight = np.ones(n) if self.weight is None else self.weight
        return np.asarray(weight / weight.sum())
