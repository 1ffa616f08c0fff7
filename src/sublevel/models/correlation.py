"""Correlations of standardised residuals, shrunk: the same everywhere, of low rank, or
local.

    constant   second moments, drawn to the identity (Ledoit & Wolf 2004)
    low-rank   loadings of a few common factors, and what is each output's own; as many
               factors as predict held-out residuals best, or the constant one if that
               predicts them better
    local      the better of these two, drawn to the second moments of like contexts:
               those that share leaves of a forest which predicts products of residuals.
               In all directions, or in leading ones alone, and how far, is settled on
               held-out residuals; not at all is one of the answers

All have ones on the diagonal, as spreads are somebody else's matter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.covariance import ledoit_wolf
from sklearn.decomposition import FactorAnalysis
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning

from ..checks import Array
from ..predictions import Table
from .rows import Rows, Seed

#: Numbers of common factors that are tried.
RANKS = (1, 2, 3, 5, 8)
#: How far local moments are trusted: weights that are tried.
SHARES = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
#: Outputs whose products the forest looks at; of more, leading components.
MOST_PAIRED = 5
#: As many of these.
LEADING = 3


class Correlation(Protocol):
    """A correlation at every context.

    Attributes
    ----------
    matrix : array of shape (m, m), its constant part
    """

    @property
    def matrix(self) -> Array: ...

    def factors(self, X: Table) -> Array:
        """Lower triangular factors, shape (1 or n, m, m)."""


@dataclass(frozen=True, eq=False)
class Everywhere:
    """The same correlation at every context, shape (m, m)."""

    matrix: Array

    def factors(self, X: Table) -> Array:
        """One factor, for all."""
        del X
        return np.asarray(np.linalg.cholesky(self.matrix)[None])


@dataclass(frozen=True, eq=False)
class Local:
    """Correlations drawn to those of like contexts.

    Parameters
    ----------
    matrix : array of shape (m, m), the constant part
    share : float in [0, 1], what like contexts count
    axes : array of shape (m, k): unit vectors, the directions that are local
    forest : which contexts are alike
    leaves : array of shape (n, trees) of the training contexts
    products : array of shape (n, k * k), of residuals along the axes at these
    """

    matrix: Array
    share: float
    axes: Array
    forest: ExtraTreesRegressor
    leaves: Array
    products: Array

    def factors(self, X: Table) -> Array:
        """A factor a context."""
        return np.asarray(np.linalg.cholesky(self.mixed(self.moments(X))))

    def moments(self, X: Table) -> Array:
        """Second moments along the axes, in like contexts: shape (q, k, k)."""
        alike = _alike(self.leaves, self.forest.apply(X))
        size = self.axes.shape[1]
        return np.asarray((alike @ self.products).reshape(-1, size, size))

    def mixed(self, moments: Array) -> Array:
        """Correlations between the constant one and local moments, (q, m, m)."""
        moved = moments - self.axes.T @ self.matrix @ self.axes
        return _ones_on_diagonal(
            self.matrix + self.share * (self.axes @ moved @ self.axes.T)
        )


def learn_correlation(
    kind: str, rows: Rows, residuals: Array, random_state: Seed
) -> tuple[Correlation, float]:
    """The correlation of a kind, and held-out nats a row, less a constant.

    From standardised out-of-fold residuals (n, m).
    """
    if residuals.shape[1] == 1:
        return Everywhere(np.ones((1, 1))), float(np.mean(residuals**2)) / 2
    return KINDS[kind](rows, residuals, random_state)


def _constant(
    rows: Rows, residuals: Array, random_state: Seed
) -> tuple[Correlation, float]:
    del random_state
    held_out = [
        _nats(shrunk(residuals[train]), residuals[held]) for train, held in rows.folds
    ]
    return Everywhere(shrunk(residuals)), float(np.mean(np.concatenate(held_out)))


def _low_rank(
    rows: Rows, residuals: Array, random_state: Seed
) -> tuple[Correlation, float]:
    del random_state
    learn, nats = _best_constant(rows, residuals)
    return Everywhere(learn(residuals)), nats


def _best_rank(rows: Rows, residuals: Array) -> tuple[int, float]:
    """The number of factors that is best on held-out residuals, and its nats a row."""
    ranks = [rank for rank in RANKS if rank < residuals.shape[1]]
    losses = []
    for rank in ranks:
        held_out = [
            _nats(of_rank(residuals[train], rank), residuals[held])
            for train, held in rows.folds
        ]
        losses.append(float(np.mean(np.concatenate(held_out))))
    return ranks[int(np.argmin(losses))], min(losses)


def _local(rows: Rows, residuals: Array, seed: Seed) -> tuple[Correlation, float]:
    learn, width = _best_constant(rows, residuals)[0], residuals.shape[1]
    # Of few outputs all directions are local, of many perhaps the leading ones.
    counts = (width,) if width <= MOST_PAIRED else (LEADING, width)
    total = np.zeros((len(counts), len(SHARES)))
    for train, held in rows.folds:
        part, rest = rows.take(train), rows.take(held)
        base, forest = learn(residuals[train]), _forest(part.X, residuals[train], seed)
        for j, count in enumerate(counts):
            local = _full_share(part.X, residuals[train], base, forest, count)
            moments = local.moments(rest.X)
            for k, share in enumerate(SHARES):
                mixed = replace(local, share=share).mixed(moments)
                total[j, k] += _nats(mixed, residuals[held]).sum()
    best, nats = np.unravel_index(np.argmin(total), total.shape), total.min()
    count, share = counts[int(best[0])], SHARES[int(best[1])]
    base, mean = learn(residuals), float(nats) / len(residuals)
    if share == 0.0:
        return Everywhere(base), mean
    forest = _forest(rows.X, residuals, seed)
    local = _full_share(rows.X, residuals, base, forest, count)
    return replace(local, share=share), mean


def _best_constant(
    rows: Rows, residuals: Array
) -> tuple[Callable[[Array], Array], float]:
    """How the constant correlation is best learned, by held-out residuals."""
    rank, nats = _best_rank(rows, residuals)
    plain = _constant(rows, residuals, None)[1]
    return (partial(of_rank, rank=rank), nats) if nats < plain else (shrunk, plain)


def _full_share(
    X: Table, residuals: Array, base: Array, forest: ExtraTreesRegressor, count: int
) -> Local:
    """All of the local moments, along as many leading directions of a correlation."""
    axes = np.eye(len(base))
    if count < len(base):
        axes = np.linalg.eigh(base)[1][:, -count:]
    parts = residuals @ axes
    products = (parts[:, :, None] * parts[:, None, :]).reshape(len(parts), -1)
    return Local(base, 1.0, axes, forest, forest.apply(X), products)


#: How correlations are learned, by name.
KINDS: dict[str, Callable[[Rows, Array, Seed], tuple[Correlation, float]]] = {
    "constant": _constant,
    "low-rank": _low_rank,
    "local": _local,
}


def shrunk(residuals: Array) -> Array:
    """Shrunk second moments with ones on the diagonal, shape (m, m).

    Examples
    --------
    >>> common = np.random.default_rng(0).normal(size=(4000, 1))
    >>> bool(abs(shrunk(common + [0.0, 0.0])[0, 1] - 1) < 0.01)
    True
    """
    if len(residuals) < 2:
        # One row says nothing of what goes together.
        return np.eye(residuals.shape[1])
    return _ones_on_diagonal(ledoit_wolf(residuals, assume_centered=True)[0])


def of_rank(residuals: Array, rank: int) -> Array:
    """Correlation of a number of common factors, shape (m, m)."""
    # Only moments matter: few rows that have the same ones are decomposed much faster.
    # Every root is taken with either sign, as means are taken off.
    root = np.asarray(np.linalg.qr(residuals, mode="r"))
    few = np.sqrt(len(root) / len(residuals)) * np.concatenate([root, -root])
    # The tolerance is of a sum over rows.
    tol = 1e-2 * len(few) / len(residuals)
    analysis = FactorAnalysis(rank, tol=tol, max_iter=100, svd_method="lapack")
    with warnings.catch_warnings():
        # Loadings that still move a little are as good on held-out residuals.
        warnings.simplefilter("ignore", ConvergenceWarning)
        analysis.fit(few)
    return _ones_on_diagonal(analysis.get_covariance())


def _ones_on_diagonal(moments: Array) -> Array:
    width = moments.shape[-1]
    size = np.sqrt(np.diagonal(moments, axis1=-2, axis2=-1))
    size = np.where(size > 0, size, 1.0)
    matrix = moments / (size[..., :, None] * size[..., None, :])
    # A correlation of one has no inverse; rounding is not an error that goes together.
    # An output without errors has a one too.
    return np.asarray(np.where(np.eye(width) > 0, 1.0, (1 - 1e-9) * matrix))


def _nats(correlation: Array, residuals: Array) -> Array:
    """Negative log-likelihood of each row, less a constant, shape (n,)."""
    factor = np.linalg.cholesky(correlation)
    factor = np.broadcast_to(factor, (len(residuals), *factor.shape[-2:]))
    unit = np.linalg.solve(factor, residuals[:, :, None])[:, :, 0]
    logs = np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)
    return np.asarray(0.5 * (unit**2).sum(axis=1) + logs)


def _forest(X: Table, residuals: Array, random_state: Seed) -> ExtraTreesRegressor:
    """Trees whose leaves tell contexts apart by the products of their residuals."""
    parts, first = residuals, 1
    if residuals.shape[1] > MOST_PAIRED:
        # A leading component that comes and goes moves many correlations at once.
        leading = np.linalg.svd(residuals, full_matrices=False)[2][:LEADING]
        parts, first = residuals @ leading.T, 0
    rows, columns = np.triu_indices(parts.shape[1], k=first)
    targets = parts[:, rows] * parts[:, columns]
    # Rare large products would have leaves of their own.
    size = np.quantile(np.abs(targets), 0.75, axis=0)
    targets = np.tanh(targets / np.where(size > 0, 2 * size, 1.0))
    leaf = max(10, len(residuals) // 20)
    forest = ExtraTreesRegressor(100, min_samples_leaf=leaf, random_state=random_state)
    # scikit-learn warns of a table with one column, as two outputs have it.
    return forest.fit(X, targets[:, 0] if targets.shape[1] == 1 else targets)


def _alike(trained: Array, asked: Array) -> sp.csr_array:
    """What each training context counts at each context asked about: sparse (q, n).

    The share of a leaf's contexts, averaged over the trees; rows sum to one.
    """
    trees = trained.shape[1]
    size = int(trained.max()) + 1
    offsets = np.arange(trees) * size

    def indicator(leaves: Array) -> sp.csr_array:
        n = len(leaves)
        columns = (leaves + offsets).ravel()
        ends = np.arange(0, n * trees + 1, trees)
        shape = (n, trees * size)
        return sp.csr_array((np.ones(n * trees), columns, ends), shape=shape)

    members = indicator(trained)
    counts = np.maximum(members.sum(axis=0), 1.0)
    inverse = sp.diags_array(1.0 / counts)
    return (indicator(asked) @ inverse @ members.T) / trees
