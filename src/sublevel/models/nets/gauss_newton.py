"""Levenberg-Marquardt for many small networks at once.

A small network has tens of weights, so second-order steps on all rows cost little more
than a gradient and reach the noise floor in tens of epochs, where first-order methods
need thousands. Each network has its own damping. One step is one epoch.

Levenberg (1944), Marquardt (1963); Schraudolph (2002) for losses other than squares.

The gradient and the Gauss-Newton matrix of many networks take a few products. A weight
of hidden unit j moves output c by  v_cj 1[unit j active] x,  a weight of output c by
the activation. All these derivatives are columns of one feature matrix,

    Phi = [ 1[unit 1 active] x, ..., 1[unit h active] x, activations, 1 ],

times output weights. So the gradient comes from Phi slope and the matrix from Phi
diag(curvature) Phi', once for all outputs where the curvature is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from .criteria import Criterion
from .epochs import Rules, Trained, run_epochs
from .rows import Layers, Rows

#: Rows taken at a time: what they need stays in the processor's cache.
BLOCK = 4096


def linearise(
    inputs: Tensor, covariates: Tensor, slope: Tensor, curvature: Tensor, layers: Layers
) -> tuple[Tensor, Tensor]:
    """Gradient (b, P) and Gauss-Newton matrix (b, P, P) of the mean loss over n rows.

    Parameters
    ----------
    inputs : tensor of shape (b, h, n), of the hidden units
    covariates : tensor of shape (b, p + 1, n)
    slope : tensor of shape (b, k, n), derivative of the loss by each output
    curvature : tensor of shape (b, k, n), or (1, 1, 1) if the same everywhere
    layers : the weights of b networks
    """
    n = inputs.shape[2]
    first, second = [], []
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        phi = features(inputs[..., rows], covariates[..., rows])
        local = curvature if curvature.shape[2] == 1 else curvature[..., rows]
        first.append(torch.bmm(slope[..., rows], phi.mT))
        second.append(_moments(phi, local))
    total, moments = (torch.stack(parts).sum(0) / n for parts in (first, second))
    return _gradient(total, layers), _matrix(moments, layers)


def features(inputs: Tensor, covariates: Tensor) -> Tensor:
    """Phi, of shape (b, h (p + 1) + h + 1, n)."""
    b, h, n = inputs.shape
    q = covariates.shape[1]
    phi = inputs.new_empty(b, h * q + h + 1, n)
    active = (inputs > 0).to(inputs.dtype)
    products = phi[:, : h * q].view(b, h, q, n)
    torch.mul(active.unsqueeze(2), covariates.unsqueeze(1), out=products)
    torch.mul(active, inputs, out=phi[:, h * q : -1])
    phi[:, -1] = 1
    return phi


def _moments(phi: Tensor, curvature: Tensor) -> Tensor:
    """Phi diag(curvature_c) Phi' for each output c; one for all if the same."""
    if curvature.shape[1:] == (1, 1):
        return (curvature * torch.bmm(phi, phi.mT)).unsqueeze(1)
    weights = curvature.unsqueeze(2).unbind(1)
    return torch.stack([torch.bmm(phi * w, phi.mT) for w in weights], dim=1)


def _gradient(total: Tensor, layers: Layers) -> Tensor:
    """From slope Phi', of shape (b, k, F), the derivative by every weight (b, P)."""
    b, h, q = layers.hidden.shape
    hidden = total[:, :, : h * q].reshape(b, -1, h, q)
    hidden = (hidden * layers.output[..., :-1, None]).sum(1)
    return torch.cat([hidden.flatten(1), total[:, :, h * q :].flatten(1)], dim=1)


def _matrix(moments: Tensor, layers: Layers) -> Tensor:
    """From moments (b, k or 1, F, F), the matrix J' diag(curvature) J: (b, P, P)."""
    b, h, q = layers.hidden.shape
    k, inner = layers.output.shape[1], h * q
    slopes = layers.output[..., :-1].repeat_interleave(q, dim=2).unsqueeze(3)
    size = inner + k * (h + 1)
    matrix = moments.new_zeros(b, size, size)
    own = moments[:, :, :inner, :inner].expand(b, k, inner, inner)
    matrix[:, :inner, :inner] = (own * slopes * slopes.mT).sum(1)
    for c in range(k):
        block = slice(inner + c * (h + 1), inner + (c + 1) * (h + 1))
        moment = moments[:, min(c, moments.shape[1] - 1)]
        matrix[:, block, block] = moment[:, inner:, inner:]
        matrix[:, :inner, block] = moment[:, :inner, inner:] * slopes[:, c]
        matrix[:, block, :inner] = matrix[:, :inner, block].mT
    return matrix


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
        return DampedState(
            self.layers.keep(which),
            self.inputs[which],
            self.outputs[which],
            self.damping[which],
            self.slope[which],
            self.matrix[which],
            self.stale[which],
        )


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
