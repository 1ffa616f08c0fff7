"""Past outcomes with weights that depend on the context (Bertsimas & Kallus 2020).

Each scheme says how much every past outcome counts at a context:

    nearest   1/k for the k nearest contexts
    kernel    K((X_i - X) / bandwidth), divided by the sum
    forest    mean over trees of 1 / leaf size, in the same leaf

All give `Sample` values: weights and outcomes of a fixed number of scenarios a context.
So does the truth, for the policy that knows the law of the outcome.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import NearestNeighbors

from ..checks import (
    Array,
    as_generator,
    as_numbers,
    briefly,
    is_whole,
    require_choice,
    require_having,
    require_positive,
)
from ..conic.program import Indices
from ..errors import InvalidParameter, NotCalibrated
from ..guarantees.exact import require_whole
from ..predictions import Outcomes, Table, column_names, count_rows
from .source import read_outcomes, require_rows

#: Kernels of a distance in units of the bandwidth, up to a factor.
KERNELS: dict[str, Callable[[Array], Array]] = {
    "uniform": lambda d: np.where(d <= 1, 1.0, 0.0),
    "epanechnikov": lambda d: np.maximum(1 - d**2, 0.0),
    "tricubic": lambda d: np.maximum(1 - d**3, 0.0) ** 3,
    "gaussian": lambda d: np.exp(-(d**2) / 2),
}


@dataclass(frozen=True, eq=False)
class Sample:
    """Weighted scenarios of n contexts.

    Attributes
    ----------
    weights : array of shape (n, k), nonnegative, each row sums to one
    outcomes : array of shape (n, k, m); where the weight is zero, any outcome of
        positive weight again
    """

    weights: Array
    outcomes: Array

    @property
    def mean(self) -> Array:
        """Weighted mean outcome, shape (n, m)."""
        return np.asarray(np.einsum("nk,nkm->nm", self.weights, self.outcomes))


class Weights(BaseEstimator, ABC):  # type: ignore[misc]
    """Base of the schemes."""

    outcomes_: Outcomes
    names_: tuple[str, ...]

    def fit(self, X: Table, Y: Table) -> Self:
        """Remember past contexts and outcomes: numbers, or one column of labels."""
        owner = f"{type(self).__name__}.fit"
        require_rows(X, Y, owner)
        self.outcomes_ = read_outcomes(Y)
        self.names_ = self.outcomes_.names(column_names(Y))
        self._past = self.outcomes_.encode(Y, owner)
        self._learn(X)
        return self

    def sample(self, X: Table) -> Sample:
        """Weighted scenarios at every row of X."""
        if "_past" not in vars(self):
            raise NotCalibrated(
                f"{type(self).__name__}.sample(X) needs past outcomes: call "
                "fit(X_train, Y_train) first."
            )
        # A neighbour search that is asked about None answers about its own past.
        count_rows(X)
        return _packed(sp.csr_array(self._weigh(X)), self._past)

    @abstractmethod
    def _learn(self, X: Table) -> None:
        """Prepare for questions about contexts."""

    @abstractmethod
    def _weigh(self, X: Table) -> sp.csr_array:
        """Weights of all past outcomes at every row of X, shape (n, N), sparse."""


class NearestWeights(Weights):
    """Equal weights for the nearest past contexts.

    Distances are Euclidean: bring covariates to one unit first.

    Parameters
    ----------
    n_neighbors : int, optional
        By default sqrt(N).

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> sample = NearestWeights(2).fit(X, [10.0, 20.0, 30.0]).sample([[0.4]])
    >>> sample.weights, sample.outcomes.ravel()
    (array([[0.5, 0.5]]), array([10., 20.]))
    """

    def __init__(self, n_neighbors: int | None = None) -> None:
        self.n_neighbors = n_neighbors

    def _learn(self, X: Table) -> None:
        n, k = len(self._past), self.n_neighbors
        if k is None:
            k = ceil(sqrt(n))
        if not (is_whole(k, least=1) and k <= n):
            raise InvalidParameter(
                "NearestWeights(n_neighbors=...) must be a whole number from 1 to the "
                f"{n} past contexts, got {briefly(k)}."
            )
        self.n_neighbors_ = int(k)
        self._index = NearestNeighbors(n_neighbors=self.n_neighbors_).fit(X)

    def _weigh(self, X: Table) -> sp.csr_array:
        return self._index.kneighbors_graph(X) / self.n_neighbors_


class KernelWeights(Weights):
    """Weights that fall with the distance of the context.

    A context with no past one within reach takes the outcome of the nearest.

    Parameters
    ----------
    bandwidth : float, optional
        By default the median distance to the sqrt(N)-th nearest past context.
    kernel : "epanechnikov", "tricubic", "uniform" or "gaussian"

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> scheme = KernelWeights(2.0).fit(X, [10.0, 20.0, 30.0])
    >>> scheme.sample([[0.0], [99.0]]).mean.ravel().round(3)
    array([14.286, 30.   ])
    """

    def __init__(
        self, bandwidth: float | None = None, kernel: str = "epanechnikov"
    ) -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel

    def _learn(self, X: Table) -> None:
        require_choice("KernelWeights", sorted(KERNELS), kernel=self.kernel)
        n = len(self._past)
        self._index = NearestNeighbors(n_neighbors=1).fit(X)
        if self.bandwidth is None:
            rank = min(n, ceil(sqrt(n)) + 1)
            reach = self._index.kneighbors(X, rank)[0][:, -1]
            self.bandwidth_ = float(np.median(reach)) or 1.0
        else:
            require_positive("KernelWeights", bandwidth=self.bandwidth)
            self.bandwidth_ = float(self.bandwidth)

    def _weigh(self, X: Table) -> sp.csr_array:
        n = len(self._past)
        distance, where = self._index.kneighbors(X, n)
        weight = KERNELS[self.kernel](distance / self.bandwidth_)
        lost = weight.sum(axis=1) <= 0
        weight[lost, 0] = 1.0
        weight = weight / weight.sum(axis=1, keepdims=True)
        rows = np.repeat(np.arange(len(where)), n)
        shape = (len(where), n)
        weights = sp.csr_array((weight.ravel(), (rows, where.ravel())), shape=shape)
        weights.eliminate_zeros()
        return weights


class Forest(Protocol):
    """Trees that say in which leaf a context is."""

    def fit(self, X: Table, y: npt.ArrayLike) -> Any: ...

    def apply(self, X: Table) -> npt.ArrayLike: ...


class ForestWeights(Weights):
    """Weights of a random forest: how often, and how closely, contexts share a leaf.

    Parameters
    ----------
    forest : RandomForestRegressor or ExtraTreesRegressor, optional
        Anything with `fit` and `apply`. By default 100 trees with at least 10 contexts
        a leaf. A copy of it is trained.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> Y = np.where(X < 10, 1.0, 5.0)
    >>> forest = RandomForestRegressor(5, max_depth=1, bootstrap=False)
    >>> ForestWeights(forest).fit(X, Y).sample([[2.0], [18.0]]).mean.ravel()
    array([1., 5.])
    """

    def __init__(self, forest: Forest | None = None) -> None:
        self.forest = forest

    def _learn(self, X: Table) -> None:
        from sklearn.ensemble import RandomForestRegressor

        if self.forest is not None:
            forest = "a forest with fit and apply"
            require_having("ForestWeights", "apply", forest, forest=self.forest)
        default = RandomForestRegressor(100, min_samples_leaf=10, random_state=0)
        model = default if self.forest is None else clone(self.forest)
        past = self._past
        self.forest_ = model.fit(X, past if past.shape[1] > 1 else past[:, 0])
        self._leaves = _numbered(self.forest_.apply(X))

    def _weigh(self, X: Table) -> sp.csr_array:
        leaves = _numbered(self.forest_.apply(X))
        width = 1 + max(int(self._leaves.max()), int(leaves.max()))
        past, new = _members(self._leaves, width), _members(leaves, width)
        sizes = np.asarray(past.sum(axis=0)).ravel()
        share = sp.diags_array(1 / np.maximum(sizes, 1.0))
        return new @ share @ past.T / self._leaves.shape[1]


def _numbered(leaves: npt.ArrayLike) -> Indices:
    """Leaves of all trees with different numbers, shape (n, trees)."""
    numbers = np.asarray(leaves, dtype=np.int64)
    trees = numbers.shape[1]
    return np.asarray(numbers * trees + np.arange(trees))


def _members(leaves: Indices, width: int) -> sp.csr_array:
    """Which context is in which leaf, sparse, shape (n, leaves)."""
    n, trees = leaves.shape
    rows = np.repeat(np.arange(n), trees)
    ones = np.ones(n * trees)
    return sp.csr_array((ones, (rows, leaves.ravel())), shape=(n, width))


def _packed(weights: sp.csr_array, past: Array) -> Sample:
    """The positive weights of each row side by side, the rest filled up with zeros."""
    weights = sp.csr_array(weights)
    weights.eliminate_zeros()
    weights.sort_indices()
    counts = np.diff(weights.indptr)
    place = np.arange(int(counts.max()))
    filled = place < counts[:, None]
    # Indices left over repeat the first scenario, at weight zero.
    at = weights.indptr[:-1, None] + np.where(filled, place, 0)
    chosen = np.where(filled, weights.data[at], 0.0)
    return Sample(chosen, past[weights.indices[at]])


@dataclass(frozen=True)
class TrueLaw:
    """Equally weighted draws from the true conditional law.

    `WeightedSample(problem, TrueLaw(draw, 1000))` decides what is best on average, as
    closely as the number of draws allows.

    Parameters
    ----------
    draw : callable
        draw(X, size, rng) returns outcomes of shape (n, size, m).
    size : int
        Draws at each context.
    random_state : int
        Seed.

    Examples
    --------
    >>> law = TrueLaw(lambda X, size, rng: rng.normal(size=(len(X), size, 1)), 500)
    >>> sample = law.sample(np.zeros((2, 1)))
    >>> sample.weights.shape, bool(np.abs(sample.mean).max() < 0.2)
    ((2, 500), True)
    """

    draw: Callable[[Table, int, np.random.Generator], npt.ArrayLike]
    size: int = 200
    random_state: int = 0

    def __post_init__(self) -> None:
        require_whole("TrueLaw", least=1, size=self.size)
        require_having("TrueLaw", "__call__", "a function", draw=self.draw)

    def sample(self, X: Table) -> Sample:
        """Draws at every row of X."""
        rng = as_generator("TrueLaw", self.random_state)
        outcomes = as_numbers("TrueLaw", "draw", self.draw(X, self.size, rng))
        n = count_rows(X)
        if outcomes.ndim != 3 or outcomes.shape[:2] != (n, self.size):
            raise InvalidParameter(
                f"TrueLaw(draw=...) must return outcomes of shape ({n}, {self.size}, "
                f"m), got {outcomes.shape}."
            )
        if not np.isfinite(outcomes).all():
            raise InvalidParameter(
                "TrueLaw(draw=...) must return finite outcomes, got nan or infinity."
            )
        return Sample(np.full((n, self.size), 1 / self.size), outcomes)
