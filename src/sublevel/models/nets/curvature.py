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


def gradient(phi: Tensor, slope: Tensor, layers: Layers) -> Tensor:
    """Derivative of the mean loss by every weight, shape (b, P)."""
    b, h, q = layers.hidden.shape
    by_column = torch.bmm(slope, phi.mT) / phi.shape[2]
    hidden = by_column[:, :, : h * q].view(b, -1, h, q)
    hidden = (hidden * layers.output[..., :-1, None]).sum(1)
    return torch.cat([hidden.flatten(1), by_column[:, :, h * q :].flatten(1)], dim=1)


def gauss_newton_matrix(phi: Tensor, curvature: Tensor, layers: Layers) -> Tensor:
    """Sum over rows of J' diag(curvature) J, divided by their number: (b, P, P)."""
    b, h, q = layers.hidden.shape
    k, inner = layers.output.shape[1], h * q
    moments = _moments(phi, curvature, k)
    slopes = layers.output[..., :-1].repeat_interleave(q, dim=2).unsqueeze(3)
    size = inner + k * (h + 1)
    found = phi.new_zeros(b, size, size)
    own = moments[:, :, :inner, :inner].expand(b, k, inner, inner)
    found[:, :inner, :inner] = (own * slopes * slopes.mT).sum(1)
    for c in range(k):
        block = slice(inner + c * (h + 1), inner + (c + 1) * (h + 1))
        moment = moments[:, min(c, moments.shape[1] - 1)]
        found[:, block, block] = moment[:, inner:, inner:]
        found[:, :inner, block] = moment[:, :inner, inner:] * slopes[:, c]
        found[:, block, :inner] = found[:, :inner, block].mT
    return found


def _moments(phi: Tensor, curvature: Tensor, k: int) -> Tensor:
    """Phi diag(curvature_c) Phi' / n for each output c; one for all if uniform."""
    if curvature.shape[1:] == (1, 1):
        return (curvature * torch.bmm(phi, phi.mT) / phi.shape[2]).unsqueeze(1)
    weights = curvature.expand(-1, k, -1).unbind(1)
    return torch.stack(
        [torch.bmm(phi * w.unsqueeze(1), phi.mT) / phi.shape[2] for w in weights], dim=1
    )
