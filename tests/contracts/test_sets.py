"""Every set keeps the contract: hand-made, composed, and those of every loss."""

from dataclasses import dataclass

import numpy as np
import pytest

from sublevel import losses, sets
from sublevel.sets import sublevel_set
from sublevel.testing import ContractBroken, check_set, example_prediction

from .registry import LOSSES

TRIANGLE = sets.Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [0.0, 0.0, 1.0])
DISC = sets.Ellipsoid([0.2, 0.2], radius=0.5)

SETS = {
    "ellipsoid": sets.Ellipsoid([1.0, 2.0, 3.0], [1.0, 0.5, 2.0], 1.5),
    "ellipsoid-full": sets.Ellipsoid.from_covariance(
        [0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], 2.0
    ),
    "l1-ball": sets.L1Ball([1.0, -1.0, 0.0], [1.0, 2.0, 0.5], 1.2),
    "box": sets.Box([-1.0, 0.0], [1.0, 3.0]),
    "polytope": TRIANGLE,
    "budget": sets.Budget([1.0, 2.0, 3.0], [0.5, 1.0, 1.5], 1.7),
    "kl-ball": sets.KLBall([0.5, 0.3, 0.2], 0.2),
    "variation-ball": sets.VariationBall([0.5, 0.3, 0.2], 0.4),
    "label-set": sets.LabelSet(([0.1, 0.9, 2.0], [0.3, 0.5]), 1.3),
    "finite": sets.Finite([[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]]),
    "intersection": TRIANGLE & DISC,
    "product": sets.Product((DISC, sets.Box([0.0], [1.0]))),
    "affine-image": sets.AffineImage(DISC, [[1.0, 2.0], [0.0, 1.0]], [1.0, -1.0]),
    "union": DISC | sets.Box([1.0, 1.0], [2.0, 2.0]),
}


@pytest.mark.parametrize("name", SETS)
def test_every_set_keeps_the_contract(name):
    check_set(SETS[name])


@pytest.mark.parametrize("name", LOSSES)
def test_the_sublevel_set_of_every_loss_keeps_the_contract(name):
    loss = LOSSES[name]
    said = example_prediction(loss.needs, np.random.default_rng(3))
    budget = float(loss.score(said, said.point)) + 1.3
    check_set(sublevel_set(loss, said, budget))


@pytest.mark.parametrize("name", [name for name in LOSSES if "custom" not in name])
def test_below_the_least_loss_the_set_is_what_costs_least(name):
    loss = LOSSES[name]
    said = example_prediction(loss.needs, np.random.default_rng(3))
    floor = float(loss.floor(said))
    value = sublevel_set(loss, said, floor - 0.5)
    assert value.contains(said.point)
    worst = value.worst_case(np.linspace(-1, 1, value.dim))
    assert float(loss.score(said, worst)) == pytest.approx(floor, abs=1e-8)


@dataclass(frozen=True, eq=False)
class TooSmall(sets.Box):
    """A box whose support forgets a part of the set."""

    def maximum(self, direction):
        return direction @ self.maximiser(direction)

    def maximiser(self, direction):
        return 0.9 * super().maximiser(direction)


@dataclass(frozen=True, eq=False)
class HalfCombined(losses.Combined):
    """Combined that spends half of what it may."""

    def worst_case(self, prediction, budget, direction):
        floor = float(self.floor(prediction))
        return super().worst_case(prediction, (floor + budget) / 2, direction)


@dataclass(frozen=True, eq=False)
class TooLarge(sets.Box):
    """A box whose worst case lies outside."""

    def maximiser(self, direction):
        return 1.1 * super().maximiser(direction)


@dataclass(frozen=True, eq=False)
class StraySamples(sets.Box):
    def draw(self, size, rng):
        return 2 + super().draw(size, rng)


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (TooSmall([-1.0, -1.0], [1.0, 1.0]), "reaches support"),
        (TooLarge([-1.0, -1.0], [1.0, 1.0]), "inside"),
        (StraySamples([-1.0, -1.0], [1.0, 1.0]), "samples are inside"),
    ],
)
def test_broken_sets_are_caught(broken, promise):
    with pytest.raises(ContractBroken, match=promise):
        check_set(broken)


def test_a_mixed_set_that_gives_half_away_is_caught():
    loss = HalfCombined(["squared", "cross_entropy"], weights=(1.0, 1.0))
    said = example_prediction(loss.needs, np.random.default_rng(3))
    with pytest.raises(ContractBroken, match="reaches support"):
        check_set(sublevel_set(loss, said, float(loss.floor(said)) + 1.0))
