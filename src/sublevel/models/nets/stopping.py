"""Early stopping, network by network: the best weights so far and when to give up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from .criteria import Criterion
from .rows import Layers


@dataclass(frozen=True)
class Progress:
    """The best validation loss of each network, its weights, and the wait since.

    A network that has waited for `patience` epochs is over: nothing about it changes
    any more, whatever the networks it trains with still do.

    Parameters
    ----------
    best : Layers
    loss : tensor of shape (b,): validation loss of `best`
    waited : tensor of shape (b,): epochs since the last improvement
    epochs : tensor of shape (b,): epochs in all
    patience : int
    """

    best: Layers
    loss: Tensor
    waited: Tensor
    epochs: Tensor
    patience: int

    @staticmethod
    def start(layers: Layers, loss: Tensor, patience: int) -> Progress:
        """Progress before the first epoch."""
        zero = torch.zeros_like(loss, dtype=torch.long)
        return Progress(layers, loss, zero, zero, patience)

    @property
    def over(self) -> Tensor:
        """Which networks have stopped."""
        return self.waited >= self.patience

    def after(self, layers: Layers, loss: Tensor, criterion: Criterion) -> Progress:
        """Progress once an epoch has led to these weights and validation losses."""
        running = ~self.over
        lower = running & (loss < self.loss)
        reset = running & criterion.better(loss, self.loss)
        return replace(
            self,
            best=layers.where(lower, self.best),
            loss=torch.where(lower, loss, self.loss),
            waited=torch.where(reset, 0, self.waited + 1),
            epochs=self.epochs + running,
        )

    def keep(self, which: Tensor) -> Progress:
        """The progress of some of the networks."""
        return replace(
            self,
            best=self.best.keep(which),
            loss=self.loss[which],
            waited=self.waited[which],
            epochs=self.epochs[which],
        )
