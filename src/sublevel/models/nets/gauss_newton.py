"""Levenberg-Marquardt for many small networks at once.

A small network has tens of weights, so second-order steps on all rows cost little more
than a gradient and reach the noise floor in tens of epochs, where first-order methods
need thousands. Each network has its own damping. One step is one epoch.

Levenberg (1944), Marquardt (1963); Schraudolph (2002) for losses other than squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .criteria import Criterion
from .curvature import features, gauss_newton_matrix, gradient
from .epochs import Rules, Trained, run_epochs
from .rows import Layers, Rows

FIRST_DAMPING = 1e-2
LEAST_DAMPING, MOST_DAMPING = 1e-10, 1e8
SHRINK, GROW = 5.0, 4.0


@dataclass(frozen=True)
class DampedState:
    """Weights, what they give at every row, and the damping, of b networks."""

    layers: Layers
    inputs: Tensor
    outputs: Tensor
    damping: Tensor

    @staticmethod
    def start(layers: Layers, rows: Rows) -> DampedState:
        damping = layers.hidden.new_full((len(layers.hidden),), FIRST_DAMPING)
        return DampedState(layers, *layers.outputs(rows.covariates), damping)

    def held_out(self, rows: Rows) -> Tensor:
        return self.outputs[..., rows.n_train :]

    def keep(self, which: Tensor) -> DampedState:
        return DampedState(
            self.layers.keep(which),
            self.inputs[which],
            self.outputs[which],
            self.damping[which],
        )


def gauss_newton(
    rows: Rows, layers: Layers, criterion: Criterion, rules: Rules
) -> Trained:
    """Train b networks from given weights."""

    def epoch(state: DampedState, rows: Rows) -> DampedState:
        return _step(state, rows, criterion)

    return run_epochs(rows, DampedState.start(layers, rows), epoch, criterion, rules)


def _step(state: DampedState, rows: Rows, criterion: Criterion) -> DampedState:
    """One damped step, taken by the networks whose training loss it lowers."""
    train = slice(0, rows.n_train)
    outcomes, before = rows.outcomes[..., train], state.outputs[..., train]
    local = criterion.held(before)
    phi = features(state.inputs[..., train], rows.covariates[..., train])
    slope = gradient(phi, local.slope(before, outcomes), state.layers)
    curvature = local.curvature(before, outcomes)
    matrix = gauss_newton_matrix(phi, curvature, state.layers)
    moved = state.layers.moved(-_solve(matrix, slope, state.damping))
    inputs, outputs = moved.outputs(rows.covariates)
    after = local.value(outputs[..., train], outcomes).mean(1)
    lower = after < local.value(before, outcomes).mean(1)
    damping = torch.where(lower, state.damping / SHRINK, state.damping * GROW)
    pick = lower[:, None, None]
    return DampedState(
        moved.where(lower, state.layers),
        torch.where(pick, inputs, state.inputs),
        torch.where(pick, outputs, state.outputs),
        damping.clamp(LEAST_DAMPING, MOST_DAMPING),
    )


def _solve(matrix: Tensor, slope: Tensor, damping: Tensor) -> Tensor:
    """The damped matrix's inverse times the slope; zero where it has none. In place."""
    diagonal = matrix.diagonal(dim1=1, dim2=2)
    # A dead unit has a zero diagonal; a share of the largest keeps it solvable.
    floor = 1e-3 * diagonal.amax(1, keepdim=True)
    diagonal += damping[:, None] * (diagonal + floor) + 1e-14
    factor, _ = torch.linalg.cholesky_ex(matrix)
    step = torch.cholesky_solve(slope.unsqueeze(2), factor).squeeze(2)
    return torch.nan_to_num(step, 0.0, 0.0, 0.0)
