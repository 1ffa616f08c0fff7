"""Levenberg-Marquardt for many small networks at once.

A small network has tens of weights, so second-order steps on all rows cost little more
than a gradient and reach the noise floor in tens of epochs, where first-order methods
need thousands. Each network has its own damping. One step is one epoch.

Levenberg (1944), Marquardt (1963); Schraudolph (2002) for losses other than squares.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from .criteria import Criterion
from .curvature import linearise
from .epochs import Rules, Trained, run_epochs
from .rows import Layers, Rows

FIRST_DAMPING = 1e-2
LEAST_DAMPING, MOST_DAMPING = 1e-10, 1e8
SHRINK, GROW = 5.0, 4.0


@dataclass(frozen=True)
class DampedState:
    """Where b networks stand between two steps.

    Parameters
    ----------
    layers : the weights
    inputs, outputs : tensors of shape (b, h, n) and (b, k, n), what the weights give
    damping : tensor of shape (b,)
    slope, matrix : tensors of shape (b, P) and (b, P, P), the loss around the weights
    stale : bool tensor of shape (b,)
        Networks that have moved since slope and matrix were computed.
    """

    layers: Layers
    inputs: Tensor
    outputs: Tensor
    damping: Tensor
    slope: Tensor
    matrix: Tensor
    stale: Tensor

    @staticmethod
    def start(layers: Layers, rows: Rows) -> DampedState:
        b, size = len(layers.hidden), layers.size
        slope = layers.hidden.new_zeros(b, size)
        return DampedState(
            layers,
            *layers.outputs(rows.covariates),
            damping=slope.new_full((b,), FIRST_DAMPING),
            slope=slope,
            matrix=slope.new_zeros(b, size, size),
            stale=torch.ones(b, dtype=torch.bool),
        )

    def held_out(self, rows: Rows) -> Tensor:
        return self.outputs[..., rows.n_train :]

    def keep(self, which: Tensor) -> DampedState:
        tensors = {
            field.name: getattr(self, field.name)[which]
            for field in fields(self)
            if field.name != "layers"
        }
        return replace(self, layers=self.layers.keep(which), **tensors)


def gauss_newton(
    rows: Rows, layers: Layers, criterion: Criterion, rules: Rules
) -> Trained:
    """Train b networks from given weights."""

    def epoch(state: DampedState, rows: Rows) -> DampedState:
        _refresh(state, rows, criterion)
        return _step(state, rows, criterion)

    return run_epochs(rows, DampedState.start(layers, rows), epoch, criterion, rules)


def _refresh(state: DampedState, rows: Rows, criterion: Criterion) -> None:
    """Slope and matrix where the weights have moved, in place."""
    which = state.stale.nonzero().squeeze(1)
    if len(which) == 0:
        return
    train = slice(0, rows.n_train)
    outcomes, outputs = (x[which][..., train] for x in (rows.outcomes, state.outputs))
    local = criterion.held(outputs)
    state.slope[which], state.matrix[which] = linearise(
        state.inputs[which][..., train],
        rows.covariates[which][..., train],
        local.slope(outputs, outcomes),
        local.curvature(outputs, outcomes),
        state.layers.keep(which),
    )


def _step(state: DampedState, rows: Rows, criterion: Criterion) -> DampedState:
    """One damped step, taken by the networks whose training loss it lowers."""
    train = slice(0, rows.n_train)
    outcomes, before = rows.outcomes[..., train], state.outputs[..., train]
    moved = state.layers.moved(-_solve(state.matrix, state.slope, state.damping))
    inputs, outputs = moved.outputs(rows.covariates)
    local = criterion.held(before)
    after = local.value(outputs[..., train], outcomes).mean(1)
    lower = after < local.value(before, outcomes).mean(1)
    damping = torch.where(lower, state.damping / SHRINK, state.damping * GROW)
    pick = lower[:, None, None]
    return replace(
        state,
        layers=moved.where(lower, state.layers),
        inputs=torch.where(pick, inputs, state.inputs),
        outputs=torch.where(pick, outputs, state.outputs),
        damping=damping.clamp(LEAST_DAMPING, MOST_DAMPING),
        stale=lower,
    )


def _solve(matrix: Tensor, slope: Tensor, damping: Tensor) -> Tensor:
    """The damped matrix's inverse times the slope; no step where there is none."""
    diagonal = matrix.diagonal(dim1=1, dim2=2)
    # A dead unit has a zero diagonal; a share of the largest keeps it solvable.
    floor = 1e-3 * diagonal.amax(1, keepdim=True)
    extra = damping[:, None] * (diagonal + floor) + 1e-14
    factor, _ = torch.linalg.cholesky_ex(matrix + torch.diag_embed(extra))
    step = torch.cholesky_solve(slope.unsqueeze(2), factor).squeeze(2)
    return torch.nan_to_num(step, 0.0, 0.0, 0.0)
