"""The smallest ellipsoid around the outcomes of similar contexts.

At X, take the k past contexts nearest to it and enclose their outcomes in the ellipsoid
of least volume (Ohmori 2021). Where k outcomes span fewer than m dimensions the least
volume is zero; such a neighbourhood is thickened.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ..checks import Array, BoolArray, briefly, is_whole, require_positive
from ..errors import InvalidParameter
from ..guarantees import Certificate
from ..predictions import Table
from .khachiyan import enclosing_ellipsoids
from .shapes import Ellipsoidal, EllipsoidPrediction
from .source import FittedSource, heuristic


class NearestEllipsoid(FittedSource):
    """Minimum-volume ellipsoids around the outcomes of the nearest past contexts.

    Distances between contexts are Euclidean: bring covariates to one unit first.

    Parameters
    ----------
    n_neighbors : int, optional
        Outcomes in each ellipsoid. By default sqrt(n), but at least 2 (m + 1).
    thickness : float, default 1e-3
        A neighbourhood flatter than this, in standard deviations of the past outcomes,
        is made this thick: 2 m points around its mean are enclosed as well.

    Attributes
    ----------
    n_neighbors_ : int
    budget_ : 1.0, the ellipsoid itself; a budget of b stretches it by sqrt(b)

    References
    ----------
    Ohmori (2021), A predictive prescription using minimum volume k-nearest neighbor
    enclosing ellipsoid and robust optimization.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(200, 2)), rng.normal(size=(200, 3))
    >>> sets = NearestEllipsoid(n_neighbors=20).fit(X, Y)
    >>> nearest = np.argsort(np.linalg.norm(X - X[0], axis=1))[:20]
    >>> bool(sets.predict_set(X[:1])[0].contains(Y[nearest]).all())
    True
    """

    loss_ = Ellipsoidal()

    def __init__(self, n_neighbors: int | None = None, thickness: float = 1e-3) -> None:
        self.n_neighbors = n_neighbors
        self.thickness = thickness

    def fit(self, X: Table, Y: Table) -> NearestEllipsoid:
        """Remember the past contexts and their outcomes."""
        require_positive("NearestEllipsoid", thickness=self.thickness)
        self._past = self._learn_outcomes(X, Y)
        n, m = self._past.shape
        spread = self._past.std(axis=0)
        self._unit = np.where(spread > 0, spread, 1.0)
        self.n_neighbors_ = self._count(n, m)
        self._index = NearestNeighbors(n_neighbors=self.n_neighbors_).fit(X)
        self.budget_ = 1.0
        self.certificate_ = self._certificate(n, m)
        return self

    def flat(self, X: Table) -> BoolArray:
        """Whether the neighbourhood of each row of X is thickened, shape (n,)."""
        self._require_fitted("flat")
        return self._is_flat(self._clouds(X))

    def _say(self, X: Table) -> EllipsoidPrediction:
        clouds = self._clouds(X)
        flat = self._is_flat(clouds)
        n, _, m = clouds.shape
        location, factor = np.empty((n, m)), np.empty((n, m, m))
        location[~flat], factor[~flat] = enclosing_ellipsoids(clouds[~flat])
        location[flat], factor[flat] = enclosing_ellipsoids(self._thick(clouds[flat]))
        # In the units of the outcome again.
        return EllipsoidPrediction(
            location * self._unit, factor=factor * self._unit[:, None]
        )

    def _clouds(self, X: Table) -> Array:
        """Outcomes of the neighbours in standard deviations, shape (n, k, m)."""
        nearest = self._index.kneighbors(X, return_distance=False)
        return np.asarray(self._past[nearest] / self._unit)

    def _is_flat(self, clouds: Array) -> BoolArray:
        if clouds.shape[1] <= clouds.shape[2]:
            return np.ones(len(clouds), dtype=bool)
        away = clouds - clouds.mean(axis=1, keepdims=True)
        least = np.linalg.svd(away, compute_uv=False)[:, -1]
        return least / sqrt(clouds.shape[1]) < self.thickness

    def _thick(self, clouds: Array) -> Array:
        """The clouds with 2 m points around their means."""
        middle, m = clouds.mean(axis=1, keepdims=True), clouds.shape[2]
        # So far out that the thickened cloud passes the test for flatness.
        reach = self.thickness * sqrt(clouds.shape[1] + 2 * m)
        around = reach * np.concatenate([np.eye(m), -np.eye(m)])
        return np.concatenate([clouds, middle + around], axis=1)

    def _count(self, n: int, m: int) -> int:
        if self.n_neighbors is None:
            return min(n, max(ceil(sqrt(n)), 2 * (m + 1)))
        k = self.n_neighbors
        if not (is_whole(k, least=1) and k <= n):
            raise InvalidParameter(
                "NearestEllipsoid(n_neighbors=...) must be a whole number from 1 to "
                f"the {n} past contexts, got {briefly(k)}."
            )
        return int(k)

    def _certificate(self, n: int, m: int) -> Certificate:
        k = self.n_neighbors_
        note = (
            f"Had the {k} neighbours been drawn at the context itself, at most m (m + "
            f"3) / 2 = {m * (m + 3) // 2} of {k + 1} outcomes could shape the "
            "ellipsoid, which bounds the level; neighbours are not, so nothing is "
            "promised."
        )
        if k <= m:
            note += (
                f" {k} outcomes span fewer than {m} dimensions: every ellipsoid is "
                f"thickened to {self.thickness:g} standard deviations."
            )
        return heuristic(
            self,
            min(1.0, m * (m + 3) / (2 * (k + 1))),
            n,
            reference="Ohmori (2021); John (1948) for the number of shaping points",
            note=note,
        )
