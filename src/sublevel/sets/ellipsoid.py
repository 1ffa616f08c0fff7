"""Ellipsoids: the sets of squared, gaussian and Mahalanobis losses.

{ center + scale z : ||z||_2 <= radius },
support(v) = center'v + radius ||scale'v||_2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import as_matrix, as_vector
from ..errors import InvalidParameter
from .stretched_ball import StretchedBall


@dataclass(frozen=True, eq=False, repr=False)
class Ellipsoid(StretchedBall):
    """A Euclidean ball, stretched and moved.

    Parameters
    ----------
    center : array of shape (m,)
    scale : positive float, array of shape (m,), or invertible matrix of shape (m, m)
        What one unit of the radius means, in the units of the outcome.
    radius : float
        At least 0; 0 is the center alone, inf is every outcome.

    Examples
    --------
    >>> U = Ellipsoid(center=[1.0, 2.0], scale=[1.0, 0.5], radius=2.0)
    >>> U.support([0.0, 1.0])
    3.0
    >>> U.worst_case([0.0, 1.0])
    array([1., 3.])
    """

    @classmethod
    def from_covariance(
        cls, center: Any, covariance: Any, radius: float = 1.0
    ) -> Ellipsoid:
        """The outcomes of Mahalanobis distance at most `radius` from the center.

        Parameters
        ----------
        center : array of shape (m,)
        covariance : array of shape (m, m)
            Symmetric and positive definite.
        radius : float

        Examples
        --------
        >>> U = Ellipsoid.from_covariance([0.0, 0.0], [[4.0, 0.0], [0.0, 1.0]], 1.0)
        >>> U.support([1.0, 0.0])
        2.0
        """
        dim = as_vector(cls.__name__, "center", center).size
        matrix = as_matrix(cls.__name__, "covariance", covariance, (dim, dim))
        gap = float(np.abs(matrix - matrix.T).max())
        if gap > 1e-8 * float(np.abs(matrix).max()):
            raise InvalidParameter(
                f"{cls.__name__}(covariance=...) must be symmetric, got entries that "
                f"differ by {gap:.3g} across the diagonal."
            )
        try:
            scale = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError as error:
            least = float(np.linalg.eigvalsh(matrix)[0])
            raise InvalidParameter(
                f"{cls.__name__}(covariance=...) must be positive definite, got least "
                f"eigenvalue {least:.3g}. Add a small multiple of the identity."
            ) from error
        return cls(center, scale, radius)

    @property
    def _order(self) -> int:
        return 2
