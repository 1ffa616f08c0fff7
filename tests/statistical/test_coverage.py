"""The whole road keeps its promise: model, loss, calibration, set, fresh outcome.

Each replication draws a fresh calibration sample of 19 and one fresh outcome, so the
misses are independent Bernoulli with probability at most alpha = 0.1 (and at least
alpha - 1/20 for continuous scores). The acceptance region is exact: a true promise is
rejected with probability 1e-6.
"""

import numpy as np
import pytest
from scipy.stats import binom

import sublevel as sl

ALPHA, N, REPLICATIONS = 0.1, 19, 1500
RNG = np.random.default_rng(11)


def numbers(x):
    return np.column_stack([1 + x[:, 0] ** 2, 2 + np.abs(x[:, 1])])


def with_spread(x):
    return numbers(x), 0.3 + 0.2 * np.abs(x)


def ends(x):
    """Too wide, so that most budgets are negative; crossed at some contexts."""
    location, scale = with_spread(x)
    wide = np.where(x[:, :1] > 1, -0.3, 1.5) * scale
    return location - wide, location + wide


def probabilities(x):
    weights = np.exp(np.column_stack([x[:, 0], x[:, 1], 0 * x[:, 0]]))
    return weights / weights.sum(axis=1, keepdims=True)


def draw_numbers(x, rng):
    location, scale = with_spread(x)
    return location * np.exp(0.3 * scale * rng.normal(size=location.shape))


def draw_labels(x, rng):
    chances = probabilities(x).cumsum(axis=1)
    return (rng.uniform(size=(len(x), 1)) > chances).sum(axis=1)


ROADS = {
    name: (numbers, name, draw_numbers)
    for name in [
        "squared",
        "absolute",
        "huber",
        "pinball",
        "epsilon_insensitive",
        "log_cosh",
        "poisson",
        "gamma",
    ]
}
ROADS |= {name: (with_spread, name, draw_numbers) for name in ("gaussian", "nll")}
ROADS |= {"interval": (ends, "interval", draw_numbers)}
ROADS |= {
    name: (probabilities, name, draw_labels)
    for name in ("cross_entropy", "hinge", "zero_one")
}


def misses(model, loss, draw, rng, shrink=1.0, lower=0.0):
    missed = 0
    for _ in range(REPLICATIONS):
        x = rng.normal(size=(N + 1, 2))
        y = draw(x, rng)
        sets = sl.LossSet(model, loss).calibrate(x[:N], y[:N], alpha=ALPHA)
        batch = sets.predict_set(x[N:], budget=shrink * sets.budget_ - lower)
        missed += not batch.contains(y[N:])[0]
    return missed


@pytest.mark.slow
@pytest.mark.parametrize("name", ROADS)
def test_the_realised_violation_is_at_most_alpha(name):
    rng = np.random.default_rng([11, len(name)])
    assert misses(*ROADS[name], rng) <= binom.isf(1e-6, REPLICATIONS, ALPHA)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squared", "gaussian", "poisson"])
def test_half_the_budget_breaks_the_promise(name):
    rng = np.random.default_rng([12, len(name)])
    broken = misses(*ROADS[name], rng, shrink=0.5)
    assert broken > binom.isf(1e-6, REPLICATIONS, ALPHA)


@pytest.mark.slow
def test_a_lower_budget_of_intervals_breaks_the_promise():
    """Budgets here are of either sign, so that they are lowered, not halved."""
    broken = misses(*ROADS["interval"], np.random.default_rng(13), lower=0.2)
    assert broken > binom.isf(1e-6, REPLICATIONS, ALPHA)
