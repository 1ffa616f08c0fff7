"""The gradient and the Gauss-Newton matrix of many networks, in a few products.

A weight of hidden unit j moves output c by  v_cj 1[unit j active] x,  a weight of
output c by the activation. All these derivatives are columns of one feature matrix,

    Phi = [ 1[unit 1 active] x, ..., 1[unit h active] x, activations, 1 ],

times output weights. So the gradient comes from Phi slope and the matrix from
Phi diag(curvature) Phi', once for all outputs where the curvature is the same.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .rows import Layers

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
    found = inputs.new_empty(b, h * q + h + 1, n)
    active = (inputs > 0).to(inputs.dtype)
    products = found[:, : h * q].view(b, h, q, n)
    torch.mul(active.unsqueeze(2), covariates.unsqueeze(1), out=products)
    torch.mul(active, inputs, out=found[:, h * q : -1])
    found[:, -1] = 1
    return found


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
    found = moments.new_zeros(b, size, size)
    own = moments[:, :, :inner, :inner].expand(b, k, inner, inner)
    found[:, :inner, :inner] = (own * slopes * slopes.mT).sum(1)
    for c in range(k):
        block = slice(inner + c * (h + 1), inner + (c + 1) * (h + 1))
        moment = moments[:, min(c, moments.shape[1] - 1)]
        found[:, block, block] = moment[:, inner:, inner:]
        found[:, :inner, block] = moment[:, :inner, inner:] * slopes[:, c]
        found[:, block, :inner] = found[:, :inner, block].mT
    return found
