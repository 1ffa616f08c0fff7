"""Gaussian and nll with a predicted covariance: ellipsoids that turn with X."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

import sublevel as sl
from sublevel import losses
from sublevel.errors import InvalidParameter
from sublevel.losses.base import conjugate_bound
from sublevel.predictions import JointPrediction
from sublevel.predictions.classes import stack

DIM = 4


def factors(n, rng, dim=DIM):
    return np.tril(rng.normal(size=(n, dim, dim))) + 1.5 * np.eye(dim)


def predictions(n, seed=0):
    rng = np.random.default_rng(seed)
    return sl.Prediction(rng.normal(size=(n, DIM)), factor=factors(n, rng))


def solved(location, covariance, budget, direction):
    """The support by a conic solve that shares nothing with the library."""
    y = cp.Variable(len(location))
    inside = cp.matrix_frac(y - location, (covariance + covariance.T) / 2) <= budget
    problem = cp.Problem(cp.Maximize(direction @ y), [inside])
    return float(problem.solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("name", ["gaussian", "nll"])
def test_the_contract_of_losses(name):
    at = predictions(1, seed=9)[0]
    positive = sl.Prediction(np.abs(at.location) + 0.5, factor=at.factor)
    sl.testing.check_loss(losses.get(name), positive)


@pytest.mark.parametrize("weights", [None, (0.5, 1.0, 2.0, 4.0)])
def test_supports_are_those_of_the_ellipsoid(weights):
    at, rng = predictions(3), np.random.default_rng(1)
    directions, loss = rng.normal(size=(3, DIM)), losses.Gaussian(weights=weights)
    stretch = np.sqrt(weights or np.ones(DIM))
    supports = loss.support(at, np.full(3, 2.0), directions)
    worst = loss.worst_case(at, np.full(3, 2.0), directions)
    assert np.allclose(loss.score(at, worst), 2.0)
    for i in range(3):
        covariance = at.factor[i] @ at.factor[i].T * np.outer(stretch, stretch)
        wanted = solved(at.location[i], covariance, 2.0, directions[i])
        assert supports[i] == pytest.approx(wanted, rel=1e-5)
        # Both roads of a solver, and a set value, by numbers alone.
        for bound in (
            loss.counterpart(at[i], 2.0, cp.Constant(directions[i])),
            conjugate_bound(loss, at[i], 2.0, cp.Constant(directions[i])),
        ):
            least = cp.Problem(cp.Minimize(bound.value), bound.constraints).solve()
            assert least == pytest.approx(wanted, rel=1e-5)
        region = sl.sets.Sublevel(loss, at[i], 2.0)
        assert region.support(directions[i]) == pytest.approx(wanted, rel=1e-5)
        y = cp.Variable(DIM)
        problem = cp.Problem(cp.Maximize(directions[i] @ y), region.constraints(y))
        assert problem.solve() == pytest.approx(wanted, rel=1e-5)
    # What looks at the spreads alone has another answer.
    flat = losses.Gaussian(full=False, weights=weights)
    assert not np.allclose(supports, flat.support(at, np.full(3, 2.0), directions))


def test_nll_is_the_likelihood():
    at, outcomes = predictions(5), np.random.default_rng(2).normal(size=(5, DIM))
    score = losses.NLL().score(at, outcomes)
    for i in range(5):
        law = multivariate_normal(at.location[i], at.factor[i] @ at.factor[i].T)
        wanted = -2 * law.logpdf(outcomes[i]) - DIM * np.log(2 * np.pi)
        assert score[i] == pytest.approx(wanted)
    assert np.allclose(losses.NLL().components(at, outcomes).sum(axis=1), score)
    diagonal = losses.NLL(full=False).score(at, outcomes)
    assert not np.allclose(diagonal, score)


def test_any_square_root_of_the_covariance_will_do():
    rng = np.random.default_rng(3)
    wide = rng.normal(size=(6, DIM, DIM + 2))
    rotation = np.linalg.qr(rng.normal(size=(DIM + 2, DIM + 2)))[0]
    location, outcomes = np.zeros((6, DIM)), rng.normal(size=(6, DIM))
    covariance = wide @ wide.swapaxes(1, 2)
    kinds = wide, wide @ rotation, np.linalg.cholesky(covariance)
    scores = [
        losses.Gaussian().score(sl.Prediction(location, factor=factor), outcomes)
        for factor in kinds
    ]
    wanted = np.einsum("ni,nij,nj->n", outcomes, np.linalg.inv(covariance), outcomes)
    assert np.allclose(scores, wanted)
    at = sl.Prediction(location, factor=wide)
    assert not np.triu(at.factor, 1).any()
    assert np.allclose(at.scale, np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)))


def test_some_components_alone():
    at, entries = predictions(3), np.array([3, 1])
    seen = at.on(entries)
    covariance = (at.factor @ at.factor.swapaxes(1, 2))[:, entries][:, :, entries]
    assert np.allclose(seen.factor @ seen.factor.swapaxes(1, 2), covariance)
    directions = np.array([2.0, -1.0])
    full = np.zeros(DIM)
    full[entries] = directions
    for loss in (losses.Gaussian(weights=(0.5, 1.0, 2.0, 4.0)), losses.NLL()):
        budgets = loss.floor(at) + 2.0
        shadow, part, left = loss.shadow(at, budgets, entries)
        assert np.allclose(
            shadow.support(part, left, directions), loss.support(at, budgets, full)
        )


def test_rows_go_together():
    at = predictions(4)
    again = stack([at[:1], at[1:]])
    assert np.array_equal(again.factor, at.factor)
    assert np.array_equal(at[np.array([2, 0])].factor, at.factor[[2, 0]])
    written = sl.sets.Sublevel("gaussian", at[1], 2.0).to_dict()
    assert sl.sets.from_dict(written).support(np.ones(DIM)) == pytest.approx(
        sl.sets.Sublevel("gaussian", at[1], 2.0).support(np.ones(DIM)), rel=1e-12
    )


def test_models_side_by_side_know_nothing_of_one_another():
    rng = np.random.default_rng(4)
    own = factors(2, rng, 2)
    parts = sl.ModelBlocks(
        [
            lambda X: (np.zeros((len(X), 2)), own[: len(X)]),
            lambda X: (np.zeros((len(X), 1)), np.full((len(X), 1), 3.0)),
        ],
        widths=[2, 1],
    )
    at = sl.LossSet(parts, "gaussian").predict_set(np.zeros((2, 1)), budget=1.0)
    covariance = at.prediction.factor @ at.prediction.factor.swapaxes(1, 2)
    assert np.allclose(covariance[:, :2, :2], own @ own.swapaxes(1, 2))
    assert np.allclose(covariance[:, 2], [0.0, 0.0, 9.0])


def test_blocks_of_a_combined_loss_share_a_budget():
    rng = np.random.default_rng(5)
    joint = JointPrediction(
        (
            sl.Prediction(np.zeros(2), factor=factors(1, rng, 2)[0]),
            sl.Prediction(np.ones(2)),
        )
    )
    both = losses.Combined(["gaussian", "squared"], weights=(2.0, 0.5))
    direction = rng.normal(size=4)
    covariance = np.zeros((4, 4))
    covariance[:2, :2] = 2.0 * joint.parts[0].factor @ joint.parts[0].factor.T
    covariance[2:, 2:] = 0.5 * np.eye(2)
    wanted = solved(joint.point, covariance, 3.0, direction)
    assert both.support(joint, 3.0, direction) == pytest.approx(wanted, rel=1e-5)
    bound = both.counterpart(joint, 3.0, cp.Constant(direction))
    least = cp.Problem(cp.Minimize(bound.value), bound.constraints).solve()
    assert least == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize(
    ("factor", "rule"),
    [
        (np.ones((2, 2)), "full rank"),
        (np.full((2, 2), np.nan), "finite"),
        (np.ones((2, 1)), "k at least 2"),
        (np.ones((3, 3)), "k at least 2"),
    ],
)
def test_what_is_no_factor(factor, rule):
    with pytest.raises(InvalidParameter, match=rule):
        sl.Prediction(np.zeros(2), factor=factor)


def test_what_was_asked_for_must_be_there():
    with pytest.raises(InvalidParameter, match="predicted covariance"):
        sl.sets.Sublevel(losses.Gaussian(full=True), sl.Prediction([0.0], [1.0]), 1.0)
    with pytest.raises(InvalidParameter, match="True, False or None"):
        losses.NLL(full="yes")
