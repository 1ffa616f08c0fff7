"""The training loop of many networks: epochs until each has stopped by its own rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

from .criteria import Criterion
from .rows import Layers, Rows


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


#: Share of the networks that must have stopped before the batch is made smaller.
LEAVING = 0.2


@dataclass(frozen=True)
class Rules:
    """When to stop: epochs without improvement, and epochs in all."""

    patience: int
    max_epochs: int


@dataclass(frozen=True)
class Trained:
    """Best weights of b networks, validation losses and numbers of epochs (b,)."""

    layers: Layers
    loss: Tensor
    epochs: Tensor


class State(Protocol):
    """Where an optimiser stands with b networks between two epochs."""

    @property
    def layers(self) -> Layers:
        """The weights."""

    def held_out(self, rows: Rows) -> Tensor:
        """Outputs at the validation rows, shape (b, k, n - n_train)."""

    def keep(self, which: Tensor) -> Self:
        """The state of some of the networks."""


S = TypeVar("S", bound=State)


def run_epochs(
    rows: Rows,
    state: S,
    epoch: Callable[[S, Rows], S],
    criterion: Criterion,
    rules: Rules,
) -> Trained:
    """Train until every network has waited `patience` epochs for an improvement."""
    progress = Progress.start(
        state.layers, _validation(state, rows, criterion), rules.patience
    )
    collected = _Collected.empty(state.layers)
    for count in range(1, rules.max_epochs + 1):
        state = epoch(state, rows)
        loss = _validation(state, rows, criterion)
        progress = progress.after(state.layers, loss, criterion)
        over = progress.over | (count == rules.max_epochs)
        if over.sum() < LEAVING * len(over):
            continue
        collected.collect(over, progress)
        if over.all():
            break
        state, progress, rows = (
            state.keep(~over),
            progress.keep(~over),
            rows.keep(~over),
        )
    return Trained(collected.best, collected.loss, collected.epochs)


def _validation(state: State, rows: Rows, criterion: Criterion) -> Tensor:
    """Mean loss of the validation rows, shape (b,)."""
    outcomes = rows.outcomes[..., rows.n_train :]
    return criterion.value(state.held_out(rows), outcomes).mean(1)


@dataclass
class _Collected:
    """Results, filled in as networks stop."""

    best: Layers
    loss: Tensor
    epochs: Tensor
    running: Tensor

    @staticmethod
    def empty(layers: Layers) -> _Collected:
        b = len(layers.hidden)
        best = Layers(torch.empty_like(layers.hidden), torch.empty_like(layers.output))
        epochs = torch.zeros(b, dtype=torch.long)
        return _Collected(best, layers.hidden.new_empty(b), epochs, torch.arange(b))

    def collect(self, over: Tensor, progress: Progress) -> None:
        who, done = self.running[over], progress.keep(over)
        self.best.hidden[who] = done.best.hidden
        self.best.output[who] = done.best.output
        self.loss[who], self.epochs[who] = done.loss, done.epochs
        self.running = self.running[~over]
