"""The data of many networks at once, and the weights they train: torch tensors.

Rows run along the last axis, so that the arithmetic over them is contiguous; training
rows come first, validation rows after them. The last covariate is the constant one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rows:
    """What b networks train on.

    Parameters
    ----------
    covariates : tensor of shape (b, p + 1, n)
    outcomes : tensor of shape (b, m, n)
    n_train : int
        The first rows, which the weights are fitted to; the rest validates.
    """

    covariates: Tensor
    outcomes: Tensor
    n_train: int

    def keep(self, which: Tensor) -> Rows:
        """The rows of some of the networks."""
        return replace(
            self, covariates=self.covariates[which], outcomes=self.outcomes[which]
        )


@dataclass(frozen=True)
class Layers:
    """Weights of b networks with h hidden units and k outputs.

    Parameters
    ----------
    hidden : tensor of shape (b, h, p + 1)
    output : tensor of shape (b, k, h + 1)
        The last column of both is the bias.
    """

    hidden: Tensor
    output: Tensor

    @property
    def size(self) -> int:
        """Number of weights P of one network."""
        return self.hidden[0].numel() + self.output[0].numel()

    def keep(self, which: Tensor) -> Layers:
        """The weights of some of the networks."""
        return Layers(self.hidden[which], self.output[which])

    def where(self, which: Tensor, other: Layers) -> Layers:
        """These weights where `which` is true, the other's elsewhere."""
        pick = which[:, None, None]
        return Layers(
            torch.where(pick, self.hidden, other.hidden),
            torch.where(pick, self.output, other.output),
        )

    def outputs(self, covariates: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs of the hidden units (b, h, n) and outputs of the network (b, k, n)."""
        inputs = torch.bmm(self.hidden, covariates)
        slopes, bias = self.output[..., :-1], self.output[..., -1:]
        return inputs, torch.baddbmm(bias, slopes, inputs.clamp_min(0))

    def moved(self, step: Tensor) -> Layers:
        """The weights after a step of shape (b, P), hidden weights first."""
        size = self.hidden[0].numel()
        return Layers(
            self.hidden + step[:, :size].view_as(self.hidden),
            self.output + step[:, size:].view_as(self.output),
        )
