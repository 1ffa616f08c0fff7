"""Adam on minibatches, for losses without curvature, many networks at once.

A row may hold several components, each with its own covariates, that share a network:
covariates then have g columns for each column of outcomes.

Kingma & Ba (2015).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from .criteria import Criterion
from .epochs import Rules, Trained, run_epochs
from .rows import Layers, Rows

LEARNING_RATE = 1e-2
BATCH = 128
DECAY, SQUARE_DECAY, FLOOR = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class AdamState:
    """Weights, running moments of the gradient, and random numbers, of b networks."""

    layers: Layers
    mean: Tensor
    square: Tensor
    steps: int
    draws: tuple[np.random.Generator, ...]

    def held_out(self, rows: Rows) -> Tensor:
        start = rows.n_train * columns_per_row(rows)
        outputs = self.layers.outputs(rows.covariates[..., start:])[1]
        return by_component(outputs, rows.outcomes.shape[2] - rows.n_train)

    def keep(self, which: Tensor) -> AdamState:
        chosen = zip(self.draws, which.tolist(), strict=True)
        return replace(
            self,
            layers=self.layers.keep(which),
            mean=self.mean[which],
            square=self.square[which],
            draws=tuple(draw for draw, kept in chosen if kept),
        )

    def moved(self, slope: Tensor) -> AdamState:
        """One step of Adam along a gradient of shape (b, P)."""
        steps = self.steps + 1
        mean = self.mean.lerp(slope, 1 - DECAY)
        square = self.square.lerp(slope.square(), 1 - SQUARE_DECAY)
        unbiased = (square / (1 - SQUARE_DECAY**steps)).sqrt() + FLOOR
        step = -LEARNING_RATE * mean / (1 - DECAY**steps) / unbiased
        layers = self.layers.moved(step)
        return replace(self, layers=layers, mean=mean, square=square, steps=steps)


def adam(
    rows: Rows,
    layers: Layers,
    criterion: Criterion,
    rules: Rules,
    draws: Sequence[np.random.Generator],
) -> Trained:
    """Train b networks from given weights; one generator each shuffles its rows."""
    zero = torch.zeros_like(torch.cat([w.flatten(1) for w in _both(layers)], dim=1))
    state = AdamState(layers, zero, zero, 0, tuple(draws))

    def epoch(state: AdamState, rows: Rows) -> AdamState:
        order = np.stack([draw.permutation(rows.n_train) for draw in state.draws])
        for start in range(0, rows.n_train, BATCH):
            chosen = torch.from_numpy(order[:, start : start + BATCH])
            state = state.moved(_slope(state.layers, _pick(rows, chosen), criterion))
        return state

    return run_epochs(rows, state, epoch, criterion, rules)


def columns_per_row(rows: Rows) -> int:
    """Columns of covariates for each column of outcomes."""
    return rows.covariates.shape[2] // rows.outcomes.shape[2]


def by_component(outputs: Tensor, n: int) -> Tensor:
    """Outputs (b, k, n g) as components (b, k g, n)."""
    b, k, columns = outputs.shape
    return outputs.view(b, k, n, columns // n).mT.reshape(b, -1, n)


def _slope(layers: Layers, rows: Rows, criterion: Criterion) -> Tensor:
    """Gradient of the mean loss by all weights, shape (b, P): backpropagation."""
    b, _, n = rows.outcomes.shape
    inputs, outputs = layers.outputs(rows.covariates)
    slope = criterion.slope(by_component(outputs, n), rows.outcomes) / n
    slope = slope.view(b, outputs.shape[1], -1, n).mT.reshape(outputs.shape)
    active = (inputs > 0).to(inputs.dtype)
    back = torch.bmm(layers.output[..., :-1].mT, slope) * active
    hidden = torch.bmm(back, rows.covariates.mT)
    weights = torch.bmm(slope, (active * inputs).mT)
    output = torch.cat([weights, slope.sum(2, keepdim=True)], dim=2)
    return torch.cat([hidden.flatten(1), output.flatten(1)], dim=1)


def _pick(rows: Rows, chosen: Tensor) -> Rows:
    """Some rows of each network: `chosen` has shape (b, batch)."""
    b, q, columns = rows.covariates.shape
    g = columns_per_row(rows)
    grouped = rows.covariates.view(b, q, columns // g, g)
    where = chosen[:, None, :, None].expand(b, q, -1, g)
    outcomes = chosen[:, None].expand(b, rows.outcomes.shape[1], -1)
    return Rows(
        grouped.gather(2, where).flatten(2),
        rows.outcomes.gather(2, outcomes),
        chosen.shape[1],
    )


def _both(layers: Layers) -> tuple[Tensor, Tensor]:
    return layers.hidden, layers.output
