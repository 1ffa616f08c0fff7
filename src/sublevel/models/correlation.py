"""Correlations of standardised residuals, shrunk: the same everywhere, of low rank, or
local.

    constant   second moments, drawn to the identity (Ledoit & Wolf 2004)
    low-rank   loadings of a few common factors, and what is each output's own; as many
               factors as predict held-out residuals best
    local      the constant ones, drawn to the second moments of like contexts: those
               that share leaves of a forest which predicts products of residuals. How
               far is settled on held-out residuals; not at all is one of the answers

All have ones on the diagonal, as spreads are somebody else's matter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.covariance import ledoit_wolf
from sklearn.decomposition import FactorAnalysis
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning

from ..checks import Array
from ..predictions import Table, count_rows
from .rows import Rows, Seed

#: Numbers of common factors that are tried.
RANKS = (1, 2, 3, 5, 8)
#: How far local moments are trusted: weights that are tried.
SHARES = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
#: Outputs whose products are all looked at; of more, leading components are.
MOST_PAIRED = 5


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
    share : float in [0, 1), what like contexts count
    forest : which contexts are alike
    leaves : array of shape (n, trees) of the training contexts
    products : array of shape (n, m * m), residuals' products at these
    """

    matrix: Array
    share: float
    forest: ExtraTreesRegressor
    leaves: Array
    products: Array

    def factors(self, X: Table) -> Array:
        """A factor a context."""
        alike = _alike(self.leaves, self.forest.apply(X))
        return np.asarray(
            np.linalg.cholesky(_mixed(self.matrix, alike @ self.products, self.share))
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
    ranks = [rank for rank in RANKS if rank < residuals.shape[1]]
    losses = []
    for rank in ranks:
        held_out = [
            _nats(of_rank(residuals[train], rank), residuals[held])
            for train, held in rows.folds
        ]
        losses.append(float(np.mean(np.concatenate(held_out))))
    best = ranks[int(np.argmin(losses))]
    return Everywhere(of_rank(residuals, best)), min(losses)


def _local(
    rows: Rows, residuals: Array, random_state: Seed
) -> tuple[Correlation, float]:
    n = len(residuals)
    products = (residuals[:, :, None] * residuals[:, None, :]).reshape(n, -1)
    total = np.zeros(len(SHARES))
    for train, held in rows.folds:
        part, rest = rows.take(train), rows.take(held)
        forest = _forest(part.X, residuals[train], random_state)
        alike = _alike(forest.apply(part.X), forest.apply(rest.X))
        moments = alike @ products[train]
        base = shrunk(residuals[train])
        for k, share in enumerate(SHARES):
            total[k] += _nats(_mixed(base, moments, share), residuals[held]).sum()
    share, base = SHARES[int(np.argmin(total))], shrunk(residuals)
    nats = float(total.min()) / n
    if share == 0.0:
        return Everywhere(base), nats
    forest = _forest(rows.X, residuals, random_state)
    return Local(base, share, forest, forest.apply(rows.X), products), nats


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


def _mixed(base: Array, moments: Array, share: float) -> Array:
    """Correlations (n, m, m) between the constant one and local moments (n, m * m)."""
    local = moments.reshape(-1, *base.shape)
    return _ones_on_diagonal((1 - share) * base + share * local)


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
        leading = np.linalg.svd(residuals, full_matrices=False)[2][:3]
        parts, first = residuals @ leading.T, 0
    rows, columns = np.triu_indices(parts.shape[1], k=first)
    targets = parts[:, rows] * parts[:, columns]
    # Rare large products would have leaves of their own.
    size = np.quantile(np.abs(targets), 0.75, axis=0)
    targets = np.tanh(targets / np.where(size > 0, 2 * size, 1.0))
    leaf = max(10, count_rows(X) // 20)
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
