"""How a kind of network is trained: its criterion, in one stage.

A plan scales the outcomes, says how many outputs there are, and trains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ...checks import Array
from .criteria import BinaryCrossEntropy, Criterion, CrossEntropy, SquaredError
from .draws import first_weights
from .epochs import Rules, Trained
from .gauss_newton import gauss_newton
from .rows import Layers, Rows
from .scaling import Scaling, standardise, unscaled


@dataclass(frozen=True)
class Starts:
    """First weights for b networks, from one generator each."""

    draws: Sequence[np.random.Generator]
    hidden_units: int

    def layers(self, rows: Rows, outputs: int) -> Layers:
        """Fresh random weights with that many outputs."""
        train = rows.covariates[:, :-1, : rows.n_train].numpy()
        pairs = [
            first_weights(draw, covariates, self.hidden_units, outputs)
            for draw, covariates in zip(self.draws, train, strict=True)
        ]
        hidden, output = (np.stack(part) for part in zip(*pairs, strict=True))
        return Layers(torch.from_numpy(hidden), torch.from_numpy(output))


@dataclass(frozen=True)
class Result:
    """Trained networks, and the outcome unit (b, m) each came to use besides."""

    trained: Trained
    unit: Tensor


class Plan(Protocol):
    """The training of one kind of network."""

    def scale(self, outcomes: Array) -> Scaling:
        """Centre and unit of outcomes of shape (B, n, m)."""

    def train(self, rows: Rows, starts: Starts, rules: Rules) -> Result:
        """Train a batch from fresh weights."""


@dataclass(frozen=True)
class SingleStage:
    """One criterion from start to end."""

    criterion: Criterion
    scale: Callable[[Array], Scaling]

    def train(self, rows: Rows, starts: Starts, rules: Rules) -> Result:
        b, m, _ = rows.outcomes.shape
        layers = starts.layers(rows, outputs=m)
        trained = gauss_newton(rows, layers, self.criterion, rules)
        return Result(trained, rows.outcomes.new_ones(b, m))


def squared_plan() -> Plan:
    """Squared error of standardised outcomes."""
    return SingleStage(SquaredError(), standardise)


def label_plan(n_classes: int) -> Plan:
    """Cross-entropy: one output for two classes, one a class for more."""
    criterion = BinaryCrossEntropy() if n_classes == 2 else CrossEntropy()
    return SingleStage(criterion, unscaled)
