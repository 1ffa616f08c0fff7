"""What a network is trained for: a loss of its outputs, with slope and curvature.

A criterion is summed over components. Its curvature is diagonal over outputs: exact, or
an upper bound, so that a Gauss-Newton step with it goes downhill.

That of a network for mean and spread is the Gaussian likelihood,

    loss = sum of (y - mean)^2 / (2 s^2) + log s  over components,
    s = softplus(u) + floor,

for the outputs mean and u (Nix & Weigend 1994). A softplus spread grows linearly with
the network's output, where exp would explode at a far covariate.

With beta > 0 each component is weighted by s^(2 beta), held fixed in the derivative:
otherwise the mean is hardly trained where the spread is large (Seitzer et al. 2022).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from .weights import FLOOR


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


#: Improvement of a log-likelihood that resets the patience; it has no zero, so the
#: tolerance is absolute.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class GaussianNLL:
    """Negative log-likelihood of m outcomes; outputs are m means, then m times u."""

    beta: float = 0.0
    weight: Tensor | None = None

    def value(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        mean, raw = outputs.chunk(2, dim=1)
        spread, _ = spread_and_growth(raw)
        score = ((outcomes - mean) / spread).square() / 2 + spread.log()
        return (score if self.weight is None else self.weight * score).sum(1)

    def slope(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        mean, raw = outputs.chunk(2, dim=1)
        spread, growth = spread_and_growth(raw)
        residual = (mean - outcomes) / spread
        return self._weigh(residual, (1 - residual.square()) * growth) / torch.cat(
            [spread, spread], dim=1
        )

    def curvature(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        """The Fisher information: diagonal and positive, as the Hessian is not."""
        del outcomes
        spread, growth = spread_and_growth(outputs.chunk(2, dim=1)[1])
        return self._weigh(spread.pow(-2), 2 * (growth / spread).square())

    def held(self, outputs: Tensor) -> GaussianNLL:
        if self.beta == 0:
            return self
        spread, _ = spread_and_growth(outputs.chunk(2, dim=1)[1])
        return replace(self, weight=spread.pow(2 * self.beta))

    def better(self, new: Tensor, best: Tensor) -> Tensor:
        return new < best - TOLERANCE

    def _weigh(self, by_mean: Tensor, by_spread: Tensor) -> Tensor:
        if self.weight is not None:
            by_mean, by_spread = self.weight * by_mean, self.weight * by_spread
        return torch.cat([by_mean, by_spread], dim=1)


class SpreadNLL:
    """The same likelihood with the mean settled: outcomes are residuals, outputs u."""

    def value(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        return GaussianNLL().value(_with_zero_mean(outputs), outcomes)

    def slope(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        full = GaussianNLL().slope(_with_zero_mean(outputs), outcomes)
        return full.chunk(2, dim=1)[1]

    def curvature(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        full = GaussianNLL().curvature(_with_zero_mean(outputs), outcomes)
        return full.chunk(2, dim=1)[1]

    def held(self, outputs: Tensor) -> Criterion:
        del outputs
        return self

    def better(self, new: Tensor, best: Tensor) -> Tensor:
        return new < best - TOLERANCE


class WeightedSquares(Positive):
    """Half the weighted squared residual: outcomes are m values, then m weights.

    The likelihood of the mean with the spread settled: the weight is 1 / s^2.
    """

    def value(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        wanted, weight = outcomes.chunk(2, dim=1)
        return (weight * (outputs - wanted).square()).sum(1) / 2

    def slope(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        wanted, weight = outcomes.chunk(2, dim=1)
        return weight * (outputs - wanted)

    def curvature(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        del outputs
        return outcomes.chunk(2, dim=1)[1]


def spread_and_growth(raw: Tensor) -> tuple[Tensor, Tensor]:
    """The spread a raw output stands for, and its derivative."""
    return functional.softplus(raw) + FLOOR, torch.sigmoid(raw)


def _with_zero_mean(outputs: Tensor) -> Tensor:
    return torch.cat([torch.zeros_like(outputs), outputs], dim=1)
