"""Levenberg-Marquardt for many small networks at once.

Each network has its own damping and its own early stopping; networks that have stopped
leave the batch. A small network has tens of weights, so second-order steps on all rows
cost little more than a gradient and reach the noise floor in tens of epochs, where
first-order methods need thousands.

Levenberg (1944), Marquardt (1963); Schraudolph (2002) for losses other than squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .criteria import Criterion
from .curvature import features, gauss_newton_matrix, gradient
from .rows import Layers, Rows
from .stopping import Progress

FIRST_DAMPING = 1e-2
LEAST_DAMPING, MOST_DAMPING = 1e-10, 1e8
SHRINK, GROW = 5.0, 4.0
#: Share of the networks that must have stopped before the batch is made smaller.
LEAVING = 0.2


@dataclass(frozen=True)
class Rules:
    """When to stop: epochs without improvement, and epochs in all."""

    patience: int
    max_epochs: int


@dataclass(frozen=True)
class State:
    """Where each of b networks stands between two steps."""

    layers: Layers
    inputs: Tensor
    outputs: Tensor
    damping: Tensor

    @staticmethod
    def start(layers: Layers, rows: Rows) -> State:
        damping = layers.hidden.new_full((len(layers.hidden),), FIRST_DAMPING)
        return State(layers, *layers.outputs(rows.covariates), damping)

    def keep(self, which: Tensor) -> State:
        return State(
            self.layers.keep(which),
            self.inputs[which],
            self.outputs[which],
            self.damping[which],
        )


@dataclass(frozen=True)
class Trained:
    """Weights of b networks with their validation loss and number of epochs, (b,)."""

    layers: Layers
    loss: Tensor
    epochs: Tensor


def gauss_newton(
    rows: Rows,
    layers: Layers,
    criterion: Criterion,
    rules: Rules,
    free: Tensor | None = None,
) -> Trained:
    """Train b networks from given weights.

    Parameters
    ----------
    free : bool tensor of shape (P,), optional
        Weights that may move; the others stay where they are.
    """
    state = State.start(layers, rows)
    loss = validation_loss(state.outputs, rows, criterion)
    progress = Progress.start(layers, loss, rules.patience)
    found = Collected.empty(layers)
    for epoch in range(1, rules.max_epochs + 1):
        state = _step(state, rows, criterion, free)
        loss = validation_loss(state.outputs, rows, criterion)
        progress = progress.after(state.layers, loss, criterion)
        over = progress.over | (epoch == rules.max_epochs)
        if over.sum() < LEAVING * len(over):
            continue
        found.collect(over, progress)
        if over.all():
            break
        state, progress, rows = (x.keep(~over) for x in (state, progress, rows))
    return found.trained()


def validation_loss(outputs: Tensor, rows: Rows, criterion: Criterion) -> Tensor:
    """Mean loss of the validation rows, shape (b,)."""
    held_out = slice(rows.n_train, None)
    values = criterion.value(outputs[..., held_out], rows.outcomes[..., held_out])
    return values.mean(1)


def _step(
    state: State, rows: Rows, criterion: Criterion, free: Tensor | None
) -> State:
    """One damped step, taken by the networks whose training loss it lowers."""
    train = rows.between(0, rows.n_train)
    before = state.outputs[..., : rows.n_train]
    local = criterion.held(before)
    moved = state.layers.moved(_direction(state, train, local, free))
    inputs, outputs = moved.outputs(rows.covariates)
    after = local.value(outputs[..., : rows.n_train], train.outcomes).mean(1)
    lower = after < local.value(before, train.outcomes).mean(1)
    damping = torch.where(lower, state.damping / SHRINK, state.damping * GROW)
    pick = lower[:, None, None]
    return State(
        moved.where(lower, state.layers),
        torch.where(pick, inputs, state.inputs),
        torch.where(pick, outputs, state.outputs),
        damping.clamp(LEAST_DAMPING, MOST_DAMPING),
    )


def _direction(
    state: State, train: Rows, criterion: Criterion, free: Tensor | None
) -> Tensor:
    """Minus the damped Gauss-Newton matrix's inverse times the gradient, (b, P)."""
    layers, outputs = state.layers, state.outputs[..., : train.n_train]
    phi = features(state.inputs[..., : train.n_train], train.covariates)
    slope = gradient(phi, criterion.slope(outputs, train.outcomes), layers)
    matrix = gauss_newton_matrix(
        phi, criterion.curvature(outputs, train.outcomes), layers
    )
    if free is not None:
        slope = slope * free
        matrix *= free * free[:, None]
    diagonal = matrix.diagonal(dim1=1, dim2=2)
    # A dead unit has a zero diagonal; the share of the largest keeps it solvable.
    floor = 1e-3 * diagonal.amax(1, keepdim=True) + 1e-12
    diagonal += state.damping[:, None] * (diagonal + floor) + 1e-14
    factor, _ = torch.linalg.cholesky_ex(matrix)
    step = torch.cholesky_solve(slope.unsqueeze(2), factor).squeeze(2)
    return -torch.nan_to_num(step, 0.0, 0.0, 0.0)


@dataclass
class Collected:
    """Results, filled in as networks stop."""

    best: Layers
    loss: Tensor
    epochs: Tensor
    running: Tensor

    @staticmethod
    def empty(layers: Layers) -> Collected:
        b = len(layers.hidden)
        best = Layers(torch.empty_like(layers.hidden), torch.empty_like(layers.output))
        epochs = torch.zeros(b, dtype=torch.long)
        return Collected(best, layers.hidden.new_empty(b), epochs, torch.arange(b))

    def collect(self, over: Tensor, progress: Progress) -> None:
        who, done = self.running[over], progress.keep(over)
        self.best.hidden[who] = done.best.hidden
        self.best.output[who] = done.best.output
        self.loss[who], self.epochs[who] = done.loss, done.epochs
        self.running = self.running[~over]

    def trained(self) -> Trained:
        return Trained(self.best, self.loss, self.epochs)
