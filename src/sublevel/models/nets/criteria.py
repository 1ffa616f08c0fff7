"""What a network is trained for: a loss of its outputs, with slope and curvature.

A criterion is summed over components. Its curvature is diagonal over outputs: exact, or
an upper bound, so that a Gauss-Newton step with it goes downhill.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional


class Criterion(Protocol):
    """Loss of outputs (b, k, n) given outcomes (b, m, n)."""

    def value(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        """Loss of each row, shape (b, n)."""

    def slope(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        """Derivative by each output, shape (b, k, n)."""

    def curvature(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        """Second derivative by each output, or a bound: broadcasts to (b, k, n)."""

    def held(self, outputs: Tensor) -> Criterion:
        """The criterion with weights that depend on the outputs held at these."""

    def better(self, new: Tensor, best: Tensor) -> Tensor:
        """Whether a validation loss is an improvement worth waiting for."""


#: An improvement of the validation loss below this share does not reset the patience.
TOLERANCE = 1e-4


class Positive:
    """A criterion that is never negative and has no weights of its own."""

    def held(self, outputs: Tensor) -> Criterion:
        del outputs
        return self  # type: ignore[return-value]

    def better(self, new: Tensor, best: Tensor) -> Tensor:
        return new < best * (1 - TOLERANCE)


class SquaredError(Positive):
    """Half the squared residual."""

    def value(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        return (outputs - outcomes).square().sum(1) / 2

    def slope(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        return outputs - outcomes

    def curvature(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        del outcomes
        return outputs.new_ones(1, 1, 1)


class BinaryCrossEntropy(Positive):
    """Minus the log-probability of the label, 0 or 1; one output, the log-odds of 1."""

    def value(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        return (functional.softplus(outputs) - outcomes * outputs).sum(1)

    def slope(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        return torch.sigmoid(outputs) - outcomes

    def curvature(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        del outcomes
        chance = torch.sigmoid(outputs)
        return chance * (1 - chance)


class CrossEntropy(Positive):
    """Minus the log-probability of the class; outcomes one-hot, outputs log-odds."""

    def value(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        return torch.logsumexp(outputs, 1) - (outputs * outcomes).sum(1)

    def slope(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        return torch.softmax(outputs, 1) - outcomes

    def curvature(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        del outcomes
        # The Hessian diag(p) - p p' has rows of absolute sum 2 p (1 - p), so the
        # diagonal matrix of these sums is above it.
        chance = torch.softmax(outputs, 1)
        return 2 * chance * (1 - chance)
