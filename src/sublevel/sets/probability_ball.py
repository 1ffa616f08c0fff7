"""What the balls around a nominal law share: the law, the radius, the simplex.

Probabilities sum to one, so their volume and their uniform law are those of the
hyperplane, not of the space around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray, as_vector, freeze, require_nonnegative
from ..errors import InvalidParameter
from .base import UncertaintySet


@dataclass(frozen=True, eq=False, repr=False)
class ProbabilityBall(UncertaintySet):
    """Probability vectors within a radius of a nominal one.

    Parameters
    ----------
    probabilities : array of shape (classes,)
        The nominal law.
    radius : float, at least 0

    Examples
    --------
    >>> from sublevel.sets import KLBall
    >>> isinstance(KLBall([0.5, 0.5], 0.1), ProbabilityBall)
    True
    """

    probabilities: Array
    radius: float

    if TYPE_CHECKING:

        def __init__(self, probabilities: npt.ArrayLike, radius: float) -> None: ...

    def __post_init__(self) -> None:
        owner = type(self).__name__
        nominal = as_probabilities(owner, self.probabilities)
        require_nonnegative(owner, radius=self.radius)
        object.__setattr__(self, "probabilities", nominal)
        object.__setattr__(self, "radius", float(self.radius))

    @property
    def dim(self) -> int:
        return self.probabilities.size

    @property
    def is_bounded(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self.dim}, radius={self.radius:.6g})"


#: Slack of a sum of probabilities that is due to rounding alone.
ROUNDING = 1e-12


def as_probabilities(owner: str, value: object) -> Array:
    """Nonnegative numbers that sum to one, shape (classes,), read-only.

    A sum within 1e-6 of one (single precision) is scaled to one. A sum that is one to
    rounding is left alone, so that a law read back from a file is the one written.

    Examples
    --------
    >>> as_probabilities("KLBall", [0.25, 0.75])
    array([0.25, 0.75])
    """
    vector = as_vector(owner, "probabilities", value)
    if (vector < 0).any():
        i = int(np.argmax(vector < 0))
        raise InvalidParameter(
            f"{owner}(probabilities=...) must be at least 0, got "
            f"probabilities[{i}]={vector[i]}."
        )
    total = float(vector.sum())
    if abs(total - 1.0) > 1e-6:
        raise InvalidParameter(
            f"{owner}(probabilities=...) must sum to 1, got {total:.6g}."
        )
    return freeze(vector if abs(total - 1.0) <= 1e-14 else vector / total)


def on_simplex(outcomes: Array, tol: float) -> BoolArray:
    """Whether each row, shape (n, classes), is a probability vector.

    Examples
    --------
    >>> on_simplex(np.array([[0.5, 0.5], [1.5, -0.5]]), tol=0.0)
    array([ True, False])
    """
    slack = max(tol, ROUNDING)
    sums = np.abs(outcomes.sum(axis=1) - 1.0) <= slack
    return np.asarray(sums & (outcomes >= -slack).all(axis=1))


def simplex_basis(active: BoolArray) -> Array:
    """Orthonormal directions of sum zero within the active classes.

    Parameters
    ----------
    active : boolean array of shape (classes,)

    Returns
    -------
    array of shape (classes, number of active classes - 1)

    Examples
    --------
    >>> simplex_basis(np.array([True, True, False])).shape
    (3, 1)
    """
    count = int(active.sum())
    basis = np.zeros((active.size, count - 1))
    if count > 1:
        # The left singular vectors of a column of ones: itself, then the rest.
        basis[active] = np.linalg.svd(np.ones((count, 1)))[0][:, 1:]
    return basis
