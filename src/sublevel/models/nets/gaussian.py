"""The Gaussian likelihood of a network that predicts mean and spread.

    loss = sum of (y - mean)^2 / (2 s^2) + log s  over components,
    s = softplus(u) + floor,

for the outputs mean and u (Nix & Weigend 1994). A softplus spread grows linearly with
the network's output, where exp would explode at a far covariate.

With beta > 0 each component is weighted by s^(2 beta), held fixed in the derivative:
otherwise the mean is hardly trained where the spread is large (Seitzer et al. 2022).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from .criteria import Criterion, Positive
from .spread import FLOOR

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
