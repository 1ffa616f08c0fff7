"""The training loop of many networks: epochs until each has stopped by its own rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

from .criteria import Criterion
from .rows import Layers, Rows
from .stopping import Progress

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
    found = _Collected.empty(state.layers)
    for count in range(1, rules.max_epochs + 1):
        state = epoch(state, rows)
        loss = _validation(state, rows, criterion)
        progress = progress.after(state.layers, loss, criterion)
        over = progress.over | (count == rules.max_epochs)
        if over.sum() < LEAVING * len(over):
            continue
        found.collect(over, progress)
        if over.all():
            break
        state, progress, rows = (
            state.keep(~over),
            progress.keep(~over),
            rows.keep(~over),
        )
    return Trained(found.best, found.loss, found.epochs)


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
