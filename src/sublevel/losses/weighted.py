"""Losses with one weight a component: how much room each is given."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray, as_vector
from ..errors import InvalidParameter
from ..predictions import AnyPrediction
from .base import Loss


@dataclass(frozen=True)
class WeightedLoss(Loss):
    """Base of losses in which each component is divided by a weight.

    Parameters
    ----------
    weights : tuple of m positive floats, optional
        Component j's penalty is divided by weights[j]: a larger weight allows the
        component more room. Units: those of the penalty.
    """

    weights: npt.ArrayLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.weights is None:
            return
        owner = type(self).__name__
        weights = as_vector(owner, "weights", self.weights)
        if (weights <= 0).any():
            raise InvalidParameter(
                f"{owner}(weights=...) must be positive, got {weights.min()}."
            )
        object.__setattr__(self, "weights", tuple(weights.tolist()))

    def narrowed(self, entries: npt.NDArray[np.integer[Any]] | BoolArray) -> Self:
        """The same penalties of some of the components."""
        if self.weights is None:
            return self
        return replace(self, weights=tuple(np.asarray(self.weights)[entries]))

    def check(self, prediction: AnyPrediction) -> None:
        """The weights must be one a component."""
        if self.weights is not None:
            self._check_width(prediction.width)

    def _weights(self, location: Array) -> Array:
        """Weights of shape (m,), ones where none were given."""
        if self.weights is None:
            return np.ones(location.shape[-1])
        return np.asarray(self.weights)

    def _check_width(self, width: int) -> None:
        if self.weights is not None and np.size(self.weights) != width:
            raise InvalidParameter(
                f"{type(self).__name__}(weights=...) must have one weight for each of "
                f"the {width} components, got {np.size(self.weights)}."
            )
