"""Balls of the 1-norm: the sets of the absolute loss.

{ center + scale z : ||z||_1 <= radius },
support(v) = center'v + radius ||scale'v||_inf.
"""

from __future__ import annotations

from dataclasses import dataclass

from .stretched_ball import StretchedBall


@dataclass(frozen=True, eq=False, repr=False)
class L1Ball(StretchedBall):
    """A cross-polytope, stretched and moved.

    Parameters
    ----------
    center : array of shape (m,)
    scale : positive float, array of shape (m,), or invertible matrix of shape (m, m)
        What one unit of the radius means, in the units of the outcome.
    radius : float
        At least 0; 0 is the center alone, inf is every outcome.

    Examples
    --------
    >>> U = L1Ball(center=[0.0, 0.0], scale=[1.0, 3.0], radius=2.0)
    >>> U.worst_case([1.0, 1.0])
    array([0., 6.])
    >>> U.volume()
    24.0
    """

    @property
    def _order(self) -> int:
        return 1
