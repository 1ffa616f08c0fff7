"""Every loss keeps the contract; broken twins do not."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

from sublevel.epigraph import Epigraph
from sublevel.losses import NAMES, Absolute, Huber, Loss, Squared
from sublevel.testing import ContractBroken, check_loss

from .registry import LOSSES


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_loss_keeps_the_contract(name, seed):
    check_loss(LOSSES[name], random_state=seed)


def test_every_public_name_is_in_the_registry():
    assert {type(loss) for loss in LOSSES.values()} >= set(NAMES.values())


# The table of "dual functions" as printed in the paper. A shift of the outcome becomes
# a linear term in the slope, never a shift of the slope, and never nothing.


@dataclass(frozen=True)
class PrintedAbsolute(Absolute):
    def conjugate(self, slope, multiplier, prediction):
        return Epigraph(0 * cp.sum(slope), [cp.abs(slope) <= multiplier])


@dataclass(frozen=True)
class PrintedHuber(Huber):
    def conjugate(self, slope, multiplier, prediction):
        shifted = slope - prediction.location * multiplier
        return Epigraph(
            cp.quad_over_lin(shifted, 2 * multiplier),
            [cp.abs(shifted) <= self.knee * multiplier],
        )


@dataclass(frozen=True)
class PrintedCounterpart(Squared):
    """rho * u * loss*(v / u) in place of rho * u + u * loss*(v / u)."""

    def counterpart(self, prediction, budget, direction):
        multiplier = cp.Variable(nonneg=True)
        dual = self.conjugate(direction, multiplier, prediction)
        return Epigraph(budget * dual.value, dual.constraints)


@dataclass(frozen=True)
class SeparateMultipliers(Squared):
    """One multiplier a component: the box that encloses the ball."""

    def counterpart(self, prediction, budget, direction):
        reach = np.sqrt(budget) * cp.norm1(direction)
        return Epigraph(prediction.location @ direction + reach)


@dataclass(frozen=True)
class RadiusSquared(Squared):
    """The ball of radius budget^2 the paper speaks of, in place of sqrt(budget)."""

    def worst_case(self, prediction, budget, direction):
        return super().worst_case(prediction, np.square(np.square(budget)), direction)


@dataclass(frozen=True)
class WrongSign(Squared):
    def worst_case(self, prediction, budget, direction):
        return super().worst_case(prediction, budget, -np.asarray(direction))


@dataclass(frozen=True)
class DoubledExpression(Huber):
    """CVXPY's huber, which is twice the textbook penalty."""

    def expression(self, prediction, outcome):
        return 2 * super().expression(prediction, outcome)


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (PrintedAbsolute(), "Fenchel-Young|covers support"),
        (PrintedHuber(), "Fenchel-Young|covers support"),
        (PrintedCounterpart(), "covers support|dual"),
        (SeparateMultipliers(), "equals support"),
        (RadiusSquared(), "within the budget|attains|covers"),
        (WrongSign(), "equals support|covers"),
        (DoubledExpression(), "equals the CVXPY expression"),
    ],
)
def test_wrong_formulas_are_caught(broken: Loss, promise: str):
    with pytest.raises(ContractBroken, match=promise):
        check_loss(broken)
