"""How a kind of network is trained: its criterion, in one stage or several.

A plan scales the outcomes, says how many outputs there are, and trains. A mean and a
spread together need remedies for a likelihood's bad starts: from random weights the
likelihood can explain poor means by large spreads and stay there. So, by default, the
mean is trained alone first, by squared error.

    joint      the likelihood from the start; mean and spread share the hidden layer
    warm-up    squared error first, then the likelihood, on a shared hidden layer
               (Nix & Weigend 1994 train in such phases; Sluijterman et al. 2023)
    separate   a hidden layer each: mean, spread of its residuals, mean again with
               weights 1 / spread^2, spread again (Skafte et al. 2019)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ...checks import Array
from .criteria import (
    BinaryCrossEntropy,
    Criterion,
    CrossEntropy,
    GaussianNLL,
    SpreadNLL,
    SquaredError,
    WeightedSquares,
    spread_and_growth,
)
from .draws import first_weights
from .epochs import Rules, Trained
from .gauss_newton import gauss_newton
from .rows import Layers, Rows
from .weights import UNIT_SPREAD, Scaling, standardise, unscaled


@dataclass(frozen=True)
class Starts:
    """First weights for b networks, from one generator each."""

    draws: Sequence[np.random.Generator]
    hidden_units: int

    def layers(self, rows: Rows, outputs: int) -> Layers:
        """Fresh random weights with that many outputs."""
        train = rows.covariates[:, :-1, : rows.n_train].numpy()
        pairs = [
            first_weights(draw, covariates, self.hidden_units, outputs)
            for draw, covariates in zip(self.draws, train, strict=True)
        ]
        hidden, output = (np.stack(part) for part in zip(*pairs, strict=True))
        return Layers(torch.from_numpy(hidden), torch.from_numpy(output))


@dataclass(frozen=True)
class Result:
    """Trained networks, and the outcome unit (b, m) each came to use besides."""

    trained: Trained
    unit: Tensor


class Plan(Protocol):
    """The training of one kind of network."""

    def scale(self, outcomes: Array) -> Scaling:
        """Centre and unit of outcomes of shape (B, n, m)."""

    def train(self, rows: Rows, starts: Starts, rules: Rules) -> Result:
        """Train a batch from fresh weights."""


@dataclass(frozen=True)
class SingleStage:
    """One criterion from start to end."""

    criterion: Criterion
    scale: Callable[[Array], Scaling]

    def train(self, rows: Rows, starts: Starts, rules: Rules) -> Result:
        b, m, _ = rows.outcomes.shape
        layers = starts.layers(rows, outputs=m)
        trained = gauss_newton(rows, layers, self.criterion, rules)
        return Result(trained, rows.outcomes.new_ones(b, m))


def squared_plan() -> Plan:
    """Squared error of standardised outcomes."""
    return SingleStage(SquaredError(), standardise)


def label_plan(n_classes: int) -> Plan:
    """Cross-entropy: one output for two classes, one a class for more."""
    criterion = BinaryCrossEntropy() if n_classes == 2 else CrossEntropy()
    return SingleStage(criterion, unscaled)


#: Smallest residual that sets the unit of the spread, in standard deviations of y.
LEAST_UNIT = 1e-3


@dataclass(frozen=True)
class GaussianPlan:
    """Outputs are the m means, then the m raw spreads."""

    training: str
    beta: float

    def scale(self, outcomes: Array) -> Scaling:
        return standardise(outcomes)

    def train(self, rows: Rows, starts: Starts, rules: Rules) -> Result:
        b, m, _ = rows.outcomes.shape
        layers = starts.layers(rows, outputs=m)
        unit = rows.outcomes.new_ones(b, m, 1)
        epochs = torch.zeros(b, dtype=torch.long)
        if self.training != "joint":
            mean = gauss_newton(rows, layers, SquaredError(), rules)
            unit, epochs = _residual_unit(rows, mean.layers), mean.epochs
            layers = Layers(mean.layers.hidden, mean.layers.output / unit)
            rows = replace(rows, outcomes=rows.outcomes / unit)
        if self.training == "separate":
            trained = self._separately(rows, layers, starts, rules)
        else:
            trained = self._together(rows, layers, rules)
        # Restarts are compared by likelihood, so in one unit.
        loss = trained.loss + unit.log().sum((1, 2))
        trained = Trained(trained.layers, loss, trained.epochs + epochs)
        return Result(trained, unit[..., 0])

    def _together(self, rows: Rows, layers: Layers, rules: Rules) -> Trained:
        """Mean and spread from one hidden layer, by the likelihood."""
        raw = torch.zeros_like(layers.output)
        raw[..., -1] = UNIT_SPREAD
        both = Layers(layers.hidden, torch.cat([layers.output, raw], dim=1))
        return gauss_newton(rows, both, GaussianNLL(self.beta), rules)

    def _separately(
        self, rows: Rows, mean: Layers, starts: Starts, rules: Rules
    ) -> Trained:
        """Spread of the residuals, mean by weighted squares, spread again."""
        spread = starts.layers(rows, outputs=rows.outcomes.shape[1])
        spread.output.mul_(0.3)[..., -1] = UNIT_SPREAD
        first = gauss_newton(_residuals(rows, mean), spread, SpreadNLL(), rules)
        guess, _ = spread_and_growth(first.layers.outputs(rows.covariates)[1])
        weighted = torch.cat([rows.outcomes, guess.pow(2 * self.beta - 2)], dim=1)
        weighted_rows = replace(rows, outcomes=weighted)
        again = gauss_newton(weighted_rows, mean, WeightedSquares(), rules)
        residuals = _residuals(rows, again.layers)
        last = gauss_newton(residuals, first.layers, SpreadNLL(), rules)
        epochs = first.epochs + again.epochs + last.epochs
        return Trained(side_by_side(again.layers, last.layers), last.loss, epochs)


def side_by_side(first: Layers, second: Layers) -> Layers:
    """Two networks as one: hidden units of both, outputs that see only their own."""
    (b, h, _), (_, k, _) = first.hidden.shape, first.output.shape
    other, m = second.hidden.shape[1], second.output.shape[1]
    output = first.output.new_zeros(b, k + m, h + other + 1)
    output[:, :k, :h] = first.output[..., :-1]
    output[:, k:, h:-1] = second.output[..., :-1]
    output[..., -1] = torch.cat([first.output[..., -1], second.output[..., -1]], dim=1)
    return Layers(torch.cat([first.hidden, second.hidden], dim=1), output)


def _residuals(rows: Rows, mean: Layers) -> Rows:
    return replace(rows, outcomes=rows.outcomes - mean.outputs(rows.covariates)[1])


def _residual_unit(rows: Rows, mean: Layers) -> Tensor:
    """Root mean squared residual of each component at the training rows, (b, m, 1)."""
    residuals = _residuals(rows, mean).outcomes[..., : rows.n_train]
    return residuals.square().mean(2, keepdim=True).sqrt().clamp_min(LEAST_UNIT)
