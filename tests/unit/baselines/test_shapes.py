"""The gauges behind the sources: contracts, brute force, compiled slots."""

import cvxpy as cp
import numpy as np
import pytest

from sublevel.baselines.clairvoyant import Columns, Pinned
from sublevel.baselines.phi_divergence import KINDS, LawGauge
from sublevel.baselines.shapes import (
    Boxed,
    BoxPrediction,
    Ellipsoidal,
    EllipsoidPrediction,
    ShapeBatch,
)
from sublevel.losses import Mahalanobis
from sublevel.predictions import Numbers, Outcomes, Prediction
from sublevel.testing import check_loss, check_set

RNG = np.random.default_rng(0)
FACTORS = np.tril(RNG.normal(size=(6, 3, 3))) + 2 * np.eye(3)
ELLIPSOIDS = EllipsoidPrediction(RNG.normal(size=(6, 3)), factor=FACTORS)
BOXES = BoxPrediction(
    RNG.normal(size=(6, 3)), RNG.uniform(0.5, 2, (6, 3)), RNG.uniform(0, 1, (6, 3))
)
LAWS = Prediction(RNG.dirichlet(np.full(3, 3.0), size=6))
FAMILIES = [(Ellipsoidal(), ELLIPSOIDS), (Boxed(), BOXES)]
FAMILIES += [(LawGauge(name), LAWS) for name in KINDS]
IDS = ["ellipsoid", "box", *KINDS]


def batch_of(loss, said, budget=0.3):
    outcomes = Outcomes((Numbers(3),))
    return ShapeBatch(loss, said, np.full(len(said), budget), outcomes, ("a", "b", "c"))


def solved_bound(loss, slots, direction):
    """The counterpart, by a solver, with the direction left to be fixed."""
    v = cp.Variable(3)
    bound = loss.bound(slots, v)
    constraints = [v == direction, *bound.constraints]
    problem = cp.Problem(cp.Minimize(bound.value), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem.value


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("loss", [Ellipsoidal(), Boxed()], ids=IDS[:2])
def test_losses_pass_the_contract(loss, number):
    # The contract copies locations and scales only.
    check_loss(loss, Prediction(BOXES.location, BOXES.scale)[number], number)


def test_full_factors_are_those_of_a_covariance():
    outcomes = np.random.default_rng(4).normal(size=(6, 3))
    for i, factor in enumerate(FACTORS):
        one = Mahalanobis(factor @ factor.T)
        location = ELLIPSOIDS.location[i]
        expected = one.score(location, outcomes)
        found = Ellipsoidal().score(ELLIPSOIDS[[i] * 6], outcomes)
        assert found == pytest.approx(expected, rel=1e-9)
        worst = Ellipsoidal().worst_case(ELLIPSOIDS[i], 2.0, outcomes[0])
        assert worst == pytest.approx(one.worst_case(location, 2.0, outcomes[0]))


def test_the_contract_rejects_a_wrong_factor():
    class Wrong(Ellipsoidal):
        def worst_case(self, prediction, budget, direction):
            return super().worst_case(prediction, 0.9 * budget, direction)

    with pytest.raises(AssertionError):
        check_loss(Wrong(), Prediction(BOXES.location[0]))


@pytest.mark.parametrize("loss, said", FAMILIES, ids=IDS)
def test_batches_answer_like_their_members(loss, said):
    batch = batch_of(loss, said)
    directions = np.random.default_rng(1).normal(size=(6, 3))
    supports, worst = batch.support(directions), batch.worst_case(directions)
    for i, region in enumerate(batch):
        assert supports[i] == pytest.approx(region.support(directions[i]), abs=1e-7)
        assert region.contains(worst[i])
    assert batch.contains(worst).all()
    assert len(batch[[True, False] * 3]) == 3
    with pytest.raises(IndexError, match="row 6 of a batch of 6 sets"):
        batch[6]


@pytest.mark.parametrize("loss, said", FAMILIES, ids=IDS)
def test_counterpart_equals_the_support(loss, said):
    batch = batch_of(loss, said)
    for i, direction in enumerate(np.random.default_rng(2).normal(size=(6, 3))):
        slots = loss.slots(said[i], 0.3)
        expected = batch.support(direction)[i]
        assert solved_bound(loss, slots, direction) == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("loss, said", FAMILIES, ids=IDS)
def test_slots_become_parameters_in_any_order(loss, said):
    """What a compiled program sees: flat rows of the slots, read column by column."""
    slots, direction = loss.slots(said, np.full(6, 0.3)), np.array([0.4, -1.0, 0.7])
    parameters = {
        name: cp.Parameter(np.shape(value)[1:], nonneg=name in ("reach", "budget"))
        for name, value in slots.items()
    }
    v = cp.Variable(3)
    bound = loss.bound(parameters, v)
    problem = cp.Problem(cp.Minimize(bound.value), [v == direction, *bound.constraints])
    assert problem.is_dcp(dpp=True)
    for i in (0, 5):
        for name, parameter in parameters.items():
            flat = np.reshape(slots[name], (6, -1))[i]
            parameter.value = flat.reshape(parameter.shape, order="F")
        problem.solve(solver=cp.CLARABEL)
        expected = batch_of(loss, said).support(direction)[i]
        assert problem.value == pytest.approx(expected, abs=2e-6)


def test_an_ellipsoid_worked_by_hand():
    # factor = [[1, 0], [1, 2]]: support(1, 1) = ||factor' (1, 1)|| = ||(2, 2)||.
    said = EllipsoidPrediction(np.zeros(2), factor=np.array([[1.0, 0.0], [1.0, 2.0]]))
    loss = Ellipsoidal()
    assert loss.support(said, 1.0, np.ones(2)) == pytest.approx(np.sqrt(8))
    assert loss.score(said, np.array([2.0, 0.0])) == pytest.approx(4 + 1)
    assert loss.region(said, 4.0).radius == 2.0


@pytest.mark.parametrize("loss, said", FAMILIES[:2], ids=IDS[:2])
def test_members_pass_the_contract_of_sets(loss, said):
    check_set(batch_of(loss, said)[0])


def test_a_box_grows_from_its_margin():
    said = BoxPrediction(np.zeros(2), np.array([1.0, 2.0]), np.array([0.5, 1.0]))
    assert Boxed().score(said, np.array([0.5, -1.0])) == 0.0
    assert Boxed().score(said, np.array([1.0, -4.0])) == 1.5
    assert Boxed().region(said, 0.0).upper.tolist() == [0.5, 1.0]
    assert Boxed().region(said, 1.0).lower.tolist() == [-1.5, -3.0]


def test_some_components_of_a_box_are_a_box():
    slots = Boxed().slots(BOXES[0], 0.3)
    seen = {name: value[[0, 2]] for name, value in slots.items()}
    v = cp.Variable(2)
    bound = Boxed().narrowed([0, 2]).bound(seen, v)
    problem = cp.Problem(cp.Minimize(bound.value), [v == [1.0, -2.0]])
    problem.solve(solver=cp.CLARABEL)
    whole = Boxed().support(BOXES[0], 0.3, np.array([1.0, 0.0, -2.0]))
    assert problem.value == pytest.approx(float(whole), abs=1e-6)


def test_points_have_no_other_outcome():
    sets = Columns(1, 3).predict_set(np.array([[9.0, 1.0, -2.0], [9.0, 0.0, 4.0]]))
    assert sets.support([1.0, 1.0]).tolist() == [-1.0, 4.0]
    assert sets[0].contains([1.0, -2.0])
    assert not sets[0].contains([1.0, -2.1])
    assert Pinned().score(np.zeros(2), np.array([3.0, 4.0])) == 25.0
    check_set(sets[1])
