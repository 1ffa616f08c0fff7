"""Losses of labels: each class has a cost, and the outcome is one-hot a block.

    loss(y) = sum over blocks of cost' y,  y one-hot.

The worst case in a linear direction is a multiple-choice knapsack, solved exactly. The
conjugate is that of the relaxation to the simplex, sum_k max_j (v_kj - u cost_kj): a
robust counterpart built from it is safe, and may be conservative.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray
from ..deferred import cp
from ..epigraph import Epigraph
from ..errors import InvalidParameter
from ..labels.oracle import best_labels
from ..predictions import AnyPrediction, LabelPrediction
from .base import Forecast, Loss, as_kind, conjugate_bound

#: Probabilities below this count as this: an impossible class must not make the score
#: of a calibration point infinite.
LEAST_PROBABILITY = 1e-12


class LabelLoss(Loss):
    """Base of losses that give every class of every block a cost."""

    needs: ClassVar[str] = "labels"

    @property
    def closed_form(self) -> bool:
        """Yes."""
        return True

    @property
    def exact_dual(self) -> bool:
        """No: the dual speaks of the relaxation to the simplex."""
        return False

    @abstractmethod
    def costs(self, prediction: Forecast) -> tuple[Array, ...]:
        """Cost of each class, one array of shape (..., K) a block."""

    def components(self, prediction: Forecast, outcome: Array) -> Array:
        """Cost of the block's label, shape (..., number of blocks)."""
        costs = self.costs(prediction)
        blocks = split_blocks(np.asarray(outcome, dtype=float), costs)
        paid = [np.sum(c * y, axis=-1) for c, y in zip(costs, blocks, strict=True)]
        return np.stack(paid, axis=-1)

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """Linear in the outcome."""
        return np.concatenate(self.costs(prediction), axis=-1) @ outcome

    def domain(
        self, prediction: Forecast, outcome: cp.Expression
    ) -> list[cp.Constraint]:
        """One-hot in every block, by boolean variables."""
        hot = cp.Variable(outcome.shape, boolean=True)
        blocks = split_blocks(hot, self.costs(prediction))
        return [outcome == hot, *(cp.sum(block) == 1 for block in blocks)]

    def admits(self, prediction: Forecast, outcome: Array) -> BoolArray:
        """Whether each outcome is one-hot in every block."""
        blocks = split_blocks(outcome, self.costs(prediction))
        binary = np.isclose(outcome, 0) | np.isclose(outcome, 1)
        sums = [np.isclose(block.sum(axis=-1), 1) for block in blocks]
        return np.asarray(binary.all(axis=-1) & np.all(sums, axis=0))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """Sum over blocks of max_j (v_j - u cost_j), over the simplex."""
        costs = self.costs(prediction)
        blocks = split_blocks(slope, costs)
        most = [cp.max(v - c * multiplier) for v, c in zip(blocks, costs, strict=True)]
        return Epigraph(sum(most[1:], most[0]))

    def counterpart(
        self, prediction: Forecast, budget: float | Array, direction: cp.Expression
    ) -> Epigraph:
        """Of the relaxation to the simplex: safe, not exact."""
        return conjugate_bound(self, prediction, budget, direction)

    def floor(self, prediction: Forecast) -> Array:
        """Cost of the likeliest labels."""
        least = [np.min(cost, axis=-1) for cost in self.costs(prediction)]
        return np.asarray(np.sum(least, axis=0))

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """The one-hot outcome that maximises `direction @ y`, exactly."""
        costs = self.costs(prediction)
        if costs[0].ndim > 1 or np.ndim(direction) > 1:
            return self._one_by_one(prediction, budget, direction)
        gains = split_blocks(np.asarray(direction, dtype=float), costs)
        chosen = best_labels(gains, costs, float(budget))
        hot = [np.eye(len(c))[j] for c, j in zip(costs, chosen, strict=True)]
        return np.concatenate(hot)


def split_blocks(values: Array | cp.Expression, costs: Sequence[Array]) -> list[Any]:
    """The last axis of `values`, cut as the costs are."""
    ends = np.cumsum([cost.shape[-1] for cost in costs])
    starts = [0, *ends[:-1]]
    return [
        values[..., a:b] if isinstance(values, np.ndarray) else values[a:b]
        for a, b in zip(starts, ends, strict=True)
    ]


@dataclass(frozen=True)
class CrossEntropy(LabelLoss):
    """Negative log-probability of the label, summed over blocks.

    Examples
    --------
    >>> from sublevel.predictions import LabelPrediction
    >>> prediction = LabelPrediction((np.array([0.5, 0.3, 0.2]),))
    >>> CrossEntropy().costs(prediction)[0].round(3)
    array([0.693, 1.204, 1.609])
    """

    def costs(self, prediction: Forecast) -> tuple[Array, ...]:
        """-log probability, clipped at probability 1e-12."""
        laws = self._laws(prediction)
        return tuple(-np.log(np.clip(law, LEAST_PROBABILITY, 1.0)) for law in laws)

    def check(self, prediction: AnyPrediction) -> None:
        """Margins will not do."""
        self._laws(prediction)

    def _laws(self, prediction: Forecast) -> tuple[Array, ...]:
        laws = as_kind("CrossEntropy", prediction, LabelPrediction).probabilities
        if laws is None:
            raise InvalidParameter(
                "CrossEntropy needs class probabilities, and the classifier has no "
                "predict_proba. Wrap it in CalibratedClassifierCV, or use "
                "loss='hinge'."
            )
        return laws


@dataclass(frozen=True)
class Hinge(LabelLoss):
    """Hinge loss of the label, summed over blocks.

    Examples
    --------
    >>> from sublevel.predictions import LabelPrediction
    >>> Hinge().costs(LabelPrediction((np.array([0.7, 0.3]),)))[0].round(6)
    array([0.6, 1.4])
    >>> Hinge().costs(LabelPrediction(margins=(np.array([-0.75, 0.75]),)))[0]
    array([2.5, 0. ])
    """

    def costs(self, prediction: Forecast) -> tuple[Array, ...]:
        """From probabilities where there are any, from margins otherwise."""
        blocks = as_kind("Hinge", prediction, LabelPrediction)
        if blocks.probabilities is not None:
            return tuple(2 * (1 - law) for law in blocks.probabilities)
        return tuple(_margin_costs(margin) for margin in blocks.values)


def _margin_costs(margin: Array) -> Array:
    if margin.shape[-1] == 1:
        return np.zeros_like(margin)
    order = np.sort(margin, axis=-1)
    best, second = order[..., -1:], order[..., -2:-1]
    # The best rival of the top class is the second; of every other class, the top.
    rival = np.where(margin == best, second, best)
    return np.maximum(0.0, 1.0 - margin + rival)


@dataclass(frozen=True)
class ZeroOne(LabelLoss):
    """Count of wrong labels: the set flips up to `budget` of them.

    The score has ties, so calibrated sets are valid and may be conservative.

    Examples
    --------
    >>> from sublevel.predictions import LabelPrediction
    >>> ZeroOne().costs(LabelPrediction((np.array([0.2, 0.5, 0.3]),)))[0]
    array([1., 0., 1.])
    """

    def costs(self, prediction: Forecast) -> tuple[Array, ...]:
        """0 for the likeliest class (the first among equals), 1 for the others."""
        return tuple(
            1.0 - np.eye(block.shape[-1])[np.argmax(block, axis=-1)]
            for block in as_kind("ZeroOne", prediction, LabelPrediction).values
        )
