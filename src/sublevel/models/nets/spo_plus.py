"""SPO+: train predicted costs for the decisions they lead to.

With w(c) the decision an exact oracle takes for costs c, and c the costs that came,

    loss(predicted, c) = max over w of (c - 2 predicted) w  +  2 predicted w(c) - c w(c)
                       = (2 predicted - c) (w(c) - w(2 predicted - c)),

a convex upper bound of the regret c (w(predicted) - w(c)), with subgradient
2 (w(c) - w(2 predicted - c)) (Elmachtoub & Grigas 2022, Definition 3, Proposition 3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ...checks import Array
from .adam import adam, columns_per_row
from .criteria import Positive, SquaredError
from .epochs import Rules, Trained
from .gauss_newton import gauss_newton
from .oracles import Oracle, ask
from .plans import Result, Starts
from .rows import Rows
from .weights import Scaling, pooled


@dataclass(frozen=True)
class SPOPlus(Positive):
    """The loss of predicted costs; outcomes are m costs, then the m decisions w(c)."""

    oracle: Oracle

    def value(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        mixed, change = self._compare(outputs, outcomes)
        return (mixed * change).sum(1)

    def slope(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        return 2 * self._compare(outputs, outcomes)[1]

    def curvature(self, outputs: Tensor, outcomes: Tensor) -> Tensor:
        """Zero: the loss is piecewise linear."""
        del outcomes
        return torch.zeros_like(outputs)

    def with_decisions(self, costs: Tensor) -> Tensor:
        """Costs (b, m, n) followed by the decisions they call for."""
        return torch.cat([costs, self._decide(costs)], dim=1)

    def _compare(self, outputs: Tensor, outcomes: Tensor) -> tuple[Tensor, Tensor]:
        costs, decisions = outcomes.chunk(2, dim=1)
        mixed = 2 * outputs - costs
        return mixed, decisions - self._decide(mixed)

    def _decide(self, costs: Tensor) -> Tensor:
        """Decisions for costs of shape (b, m, n), one call for all."""
        b, m, n = costs.shape
        rows = costs.mT.reshape(b * n, m)
        decisions = torch.from_numpy(ask(self.oracle, rows.numpy()))
        return decisions.view(b, n, m).mT


@dataclass(frozen=True)
class SPOPlan:
    """Squared error first, for costs of the right size; then SPO+ from there."""

    oracle: Oracle

    def scale(self, outcomes: Array) -> Scaling:
        # Decisions compare components, so these keep one unit and no centre.
        return pooled(outcomes)

    def train(self, rows: Rows, starts: Starts, rules: Rules) -> Result:
        b, m, _ = rows.outcomes.shape
        plain = _one_row_a_component(rows)
        layers = starts.layers(plain, outputs=plain.outcomes.shape[1])
        layers.output[..., -1] = plain.outcomes[..., : plain.n_train].mean(2)
        first = gauss_newton(plain, layers, SquaredError(), rules)
        criterion = SPOPlus(self.oracle)
        rows = replace(rows, outcomes=criterion.with_decisions(rows.outcomes))
        last = adam(rows, first.layers, criterion, rules, starts.draws)
        epochs = first.epochs + last.epochs
        trained = Trained(last.layers, last.loss, epochs)
        return Result(trained, rows.outcomes.new_ones(b, m))


def _one_row_a_component(rows: Rows) -> Rows:
    """Rows whose components have covariates of their own, as that many rows."""
    b, m, n = rows.outcomes.shape
    g = columns_per_row(rows)
    outcomes = rows.outcomes.view(b, m // g, g, n).mT.reshape(b, m // g, n * g)
    return Rows(rows.covariates, outcomes, rows.n_train * g)
