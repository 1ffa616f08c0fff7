"""What the balls around a nominal law share: the law, the radius and their checks."""

from __future__ import annotations

from dataclasses import dataclass

from ..checks import Array, require_nonnegative
from .base import UncertaintySet
from .simplex import as_probabilities


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
