"""Worst cases against a pessimising solve written here from the definitions."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sublevel import losses
from sublevel.predictions import JointPrediction, LabelPrediction, Prediction

WEIGHTS = np.array([0.5, 1.0, 2.0])
MIXING = np.array([[1.0, 0.3, 0.0], [0.0, 1.0, -0.5], [0.2, 0.0, 0.8]])
COVARIANCE = MIXING @ MIXING.T
LOG2 = np.log(2)


def over(weights, penalties):
    return cp.sum(cp.multiply(1 / weights, penalties))


# name: (loss, its definition as a CVXPY expression of (y, location, scale))
DEFINITIONS = {
    "squared": (
        losses.Squared(weights=WEIGHTS),
        lambda y, m, s: over(WEIGHTS, cp.square(y - m)),
    ),
    "mahalanobis": (
        losses.Mahalanobis(COVARIANCE),
        lambda y, m, s: cp.quad_form(y - m, cp.psd_wrap(np.linalg.inv(COVARIANCE))),
    ),
    "absolute": (
        losses.Absolute(weights=WEIGHTS),
        lambda y, m, s: over(WEIGHTS, cp.abs(y - m)),
    ),
    "huber": (
        losses.Huber(0.6, weights=WEIGHTS),
        lambda y, m, s: over(WEIGHTS, cp.huber(y - m, 0.6) / 2),
    ),
    "gaussian": (
        losses.Gaussian(),
        lambda y, m, s: cp.sum_squares(cp.multiply(1 / s, y - m)),
    ),
    "nll": (
        losses.NLL(),
        lambda y, m, s: cp.sum_squares(cp.multiply(1 / s, y - m)) + np.log(s**2).sum(),
    ),
    "pinball": (
        losses.Pinball(0.85, weights=WEIGHTS),
        lambda y, m, s: over(WEIGHTS, cp.maximum(0.85 * (y - m), -0.15 * (y - m))),
    ),
    "epsilon_insensitive": (
        losses.EpsilonInsensitive(0.3, weights=WEIGHTS),
        lambda y, m, s: over(WEIGHTS, cp.maximum(cp.abs(y - m) - 0.3, 0)),
    ),
    "interval": (
        losses.Interval(weights=WEIGHTS),
        lambda y, m, s: cp.max(
            cp.multiply(1 / WEIGHTS, cp.maximum(m - s - y, y - m - s))
        ),
    ),
    "log_cosh": (
        losses.LogCosh(weights=WEIGHTS),
        lambda y, m, s: over(
            WEIGHTS,
            # log cosh r = log((e^r + e^-r) / 2)
            cp.hstack([cp.log_sum_exp(cp.hstack([r, -r])) for r in (y - m)]) - LOG2,
        ),
    ),
    "poisson": (
        losses.Poisson(weights=WEIGHTS),
        lambda y, m, s: over(
            WEIGHTS, 2 * (-cp.entr(y) - cp.multiply(np.log(m), y) - y + m)
        ),
    ),
    "gamma": (
        losses.Gamma(weights=WEIGHTS),
        lambda y, m, s: over(
            WEIGHTS, 2 * (cp.multiply(1 / m, y) - 1 - cp.log(y) + np.log(m))
        ),
    ),
}

locations = st.lists(st.floats(0.3, 5), min_size=3, max_size=3).map(np.array)
scales = st.lists(st.floats(0.2, 2), min_size=3, max_size=3).map(np.array)
directions = st.lists(
    st.floats(-3, 3).filter(lambda x: x == 0 or abs(x) > 1e-2), min_size=3, max_size=3
).map(np.array)
budgets = st.floats(0.05, 20)


@pytest.mark.parametrize("name", DEFINITIONS)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(location=locations, scale=scales, direction=directions, excess=budgets)
def test_support_equals_a_pessimising_solve(name, location, scale, direction, excess):
    loss, definition = DEFINITIONS[name]
    said = Prediction(location, scale)
    budget = float(loss.floor(said)) + excess
    y = cp.Variable(3)
    problem = cp.Problem(
        cp.Maximize(direction @ y), [definition(y, location, scale) <= budget]
    )
    value = problem.solve(solver=cp.CLARABEL)
    support = float(loss.support(said, budget, direction))
    assert support == pytest.approx(value, rel=1e-6, abs=2e-6)
    worst = loss.worst_case(said, budget, direction)
    assert direction @ worst == pytest.approx(support, rel=1e-12, abs=1e-12)
    assert float(loss.score(said, worst)) <= budget + 1e-9 * (1 + abs(budget))


@pytest.mark.parametrize("name", DEFINITIONS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    location=locations,
    scale=scales,
    direction=directions,
    outcome=st.lists(st.floats(0.05, 9), min_size=3, max_size=3).map(np.array),
)
def test_no_outcome_within_its_own_loss_beats_the_worst_case(
    name, location, scale, direction, outcome
):
    """Fenchel-Young in the form users rely on: any outcome is in its own set."""
    loss, _ = DEFINITIONS[name]
    said = Prediction(location, scale)
    budget = float(loss.score(said, outcome))
    reach = float(loss.support(said, budget, direction))
    assert direction @ outcome <= reach + 1e-9 * (1 + abs(reach))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10_000),
    budget=st.floats(0.5, 6),
    weights=st.tuples(st.floats(0.3, 3), st.floats(0.3, 3), st.floats(0.3, 3)),
)
def test_combined_worst_case_equals_enumeration_over_labels(seed, budget, weights):
    """Two numeric blocks and two labels: every label pair, then a convex solve."""
    rng = np.random.default_rng(seed)
    probabilities = (rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2)))
    a, b = rng.normal(size=2), rng.normal(size=1)
    said = JointPrediction(
        (Prediction(a), LabelPrediction(probabilities), Prediction(b))
    )
    loss = losses.Combined(["squared", "cross_entropy", "absolute"], weights=weights)
    budget += float(loss.floor(said))
    direction = rng.normal(size=8)
    best = -np.inf
    for i in range(3):
        for j in range(2):
            paid = -np.log(probabilities[0][i]) - np.log(probabilities[1][j])
            left = budget - paid / weights[1]
            if left <= 0:
                continue
            y, z = cp.Variable(2), cp.Variable(1)
            spent = cp.sum_squares(y - a) / weights[0] + cp.norm1(z - b) / weights[2]
            goal = direction[:2] @ y + direction[7:] @ z
            value = cp.Problem(cp.Maximize(goal), [spent <= left]).solve(cp.CLARABEL)
            best = max(best, value + direction[2 + i] + direction[5 + j])
    worst = loss.worst_case(said, budget, direction)
    assert direction @ worst == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert float(loss.score(said, worst)) <= budget + 1e-6


PAIRS = ["squared", "absolute", "huber", "gaussian", "nll", "pinball", "log_cosh"]
PAIRS += ["epsilon_insensitive", "poisson", "gamma", "mahalanobis", "interval"]


@pytest.mark.parametrize("second", PAIRS)
@pytest.mark.parametrize("first", PAIRS)
def test_every_pair_shares_a_budget_as_a_solver_would(first, second):
    """Scales down to 0.05 make the least loss of nll negative."""
    rng = np.random.default_rng([PAIRS.index(first), PAIRS.index(second)])
    (one, define), (two, define_two) = DEFINITIONS[first], DEFINITIONS[second]
    weights = tuple(np.exp(rng.uniform(-2, 2, size=2)))
    loss = losses.Combined([one, two], weights=weights)
    for _ in range(2):
        parts = [
            Prediction(rng.uniform(0.3, 3, 3), np.exp(rng.uniform(-3, 0.5, 3)))
            for _ in range(2)
        ]
        said = JointPrediction(tuple(parts))
        budget = float(loss.floor(said)) + rng.uniform(0.2, 4)
        direction = rng.normal(size=6)
        y = cp.Variable(6)
        spent = define(y[:3], parts[0].location, parts[0].scale) / weights[0]
        spent += define_two(y[3:], parts[1].location, parts[1].scale) / weights[1]
        problem = cp.Problem(cp.Maximize(direction @ y), [spent <= budget])
        value = problem.solve(solver=cp.CLARABEL)
        support = float(loss.support(said, budget, direction))
        assert support == pytest.approx(value, rel=1e-6, abs=3e-6)
        worst = loss.worst_case(said, budget, direction)
        assert float(loss.score(said, worst)) <= budget + 1e-8 * (1 + abs(budget))
