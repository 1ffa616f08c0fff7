"""The Gaussian likelihood of a network that predicts mean and spread.

    loss = sum over components of  (y - mean)^2 / (2 s^2) + log s,    s = softplus(u) + floor

for the outputs mean and u (Nix & Weigend 1994). A softplus spread grows linearly with
the network, where exp would explode at a far covariate.

With beta > 0 each component is weighted by s^(2 beta), held fixed in the derivative:
otherwise the mean is hardly trained where the spread is large (Seitzer et al. 2022).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

#: Smallest spread, in units of the outcome's: the likelihood is unbounded without one.
FLOOR = 1e-3
TOLERANCE = 1e-4


@dataclass(frozen=True)
class GaussianNLL:
    """Negative log-likelihood of m outcomes; outputs are m means, then m spreads u."""

    beta: float = 0.0
    weight: Tensor | None = None

    def value(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        mean, spread, _ = split(outputs)
        score = ((outcomes - mean) / spread).square() / 2 + spread.log()
        return (score if self.weight is None else self.weight * score).sum(1)

    def slope(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        mean, spread, growth = split(outputs)
        residual = (mean - outcomes) / spread
        by_mean = residual / spread
        by_spread = (1 - residual.square()) * growth / spread
        return self._weigh(by_mean, by_spread)

    def curvature(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        """The Fisher information: diagonal and positive, as the Hessian is not."""
        del outcomes
        _, spread, growth = split(outputs)
        return self._weigh(spread.pow(-2), 2 * (growth / spread).square())

    def held(self, outputs: Tensor) -> GaussianNLL:
        if self.beta == 0:
            return self
        return replace(self, weight=split(outputs)[1].pow(2 * self.beta))

    def better(self, new: Tensor, best: Tensor) -> Tensor:
        # A log-likelihood has no zero, so the tolerance is absolute.
        return new < best - TOLERANCE

    def _weigh(self, by_mean: Tensor, by_spread: Tensor) -> Tensor:
        if self.weight is not None:
            by_mean, by_spread = self.weight * by_mean, self.weight * by_spread
        return torch.cat([by_mean, by_spread], dim=1)


def split(outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, spread, and derivative of the spread by its output: each (b, m, n)."""
    mean, raw = outputs.chunk(2, dim=1)
    return mean, functional.softplus(raw) + FLOOR, torch.sigmoid(raw)
