"""Bounds that hold with a probability: how often they do, and how often a rival does.

Thresholds as in test_guarantees: R independent replications, each of which may fail
with probability at most p, fail more than binom.isf(1e-6, R, p) times with probability
below 1e-6. Every test has a control that fails too often.
"""

from functools import cache
from math import sqrt

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from sublevel.errors import InvalidParameter
from sublevel.theory import (
    PaperLLN,
    TheoremA,
    TheoremA3,
    mean_bounds,
    study_residuals,
)
from sublevel.theory.envelope import envelope

ERROR = 1e-6


def most(replications, chance):
    """Most failures that Bin(replications, chance) has but for probability 1e-6."""
    return stats.binom.isf(ERROR, replications, chance)


LAWS = {
    "beta": (lambda rng, size: rng.beta(1, 9, size=size), 0.1),
    "coin": (lambda rng, size: (rng.random(size) < 0.1).astype(float), 0.1),
    "mostly zero": (
        lambda rng, size: (rng.random(size) < 0.1) * rng.random(size),
        0.05,
    ),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "bound",
    [
        mean_bounds.betting,
        mean_bounds.hoeffding_bentkus,
        mean_bounds.empirical_bernstein,
    ],
)
def test_bounds_on_a_mean_miss_it_rarely(bound, law):
    draw, mean = LAWS[law]
    rng = np.random.default_rng(201)
    replications, delta = 600, 0.05
    samples = draw(rng, (replications, 300))
    bounds = np.array([bound(row, delta) for row in samples])
    assert np.sum(bounds < mean) <= most(replications, delta)
    assert np.sum(samples.mean(axis=1) < mean) > most(replications, delta)


def test_clopper_pearson_misses_rarely():
    rng = np.random.default_rng(202)
    counts = rng.binomial(300, 0.1, size=2000)
    bounds = [mean_bounds.clopper_pearson(int(k), 300, 0.05) for k in counts]
    assert np.sum(np.array(bounds) < 0.1) <= most(2000, 0.05)
    assert np.sum(0.9 * np.array(bounds) < 0.1) > most(2000, 0.05)


WIDTH = 5


@cache
def true_level(excess):
    """E a(2 t / excess) for t the largest of five squares of uniforms on +-sqrt(3)."""
    value, _ = quad(lambda u: float(envelope(6 * u ** (2 / WIDTH) / excess)), 0, 1)
    return value


@pytest.mark.slow
@pytest.mark.parametrize("total", [None, 5.0])
def test_sampled_theorem_a_keeps_its_confidence(total):
    # Errors of variance 1, so the total mean loss is 5 at every context. A replication
    # fails if the envelope at the radius found has a mean above alpha.
    rng = np.random.default_rng(203)
    replications, alpha, delta = 300, 0.1, 0.05
    vouched = TheoremA3(kappa=1.0, cap=3.0, total=total, delta=delta)
    failed = plug_in_failed = 0
    for _ in range(replications):
        losses = rng.uniform(-sqrt(3), sqrt(3), size=(200, WIDTH)) ** 2
        failed += true_level(vouched.radius(losses, alpha) ** 2 - 5) > alpha
        plug_in_failed += true_level(PaperLLN().radius(losses, alpha) ** 2 - 5) > alpha
    assert failed <= most(replications, delta)
    # The control: means in place of expectations fail in about half of all samples.
    assert plug_in_failed > 0.3 * replications > most(replications, delta)


@pytest.mark.parametrize("radius", [3.6, 3.9, 4.5])
def test_sampled_theorem_a_has_levels_that_hold(radius):
    rng = np.random.default_rng(204)
    replications, delta = 300, 0.1
    vouched = TheoremA3(kappa=1.0, cap=3.0, delta=delta)
    truth = true_level(radius**2 - 5)
    levels = np.array(
        [
            vouched.level(
                rng.uniform(-sqrt(3), sqrt(3), size=(200, WIDTH)) ** 2, radius
            )
            for _ in range(replications)
        ]
    )
    assert np.sum(levels < truth) <= most(replications, delta)
    assert np.sum(0.7 * levels < truth) > most(replications, delta)


def test_true_assertions_are_never_refuted_and_false_ones_are():
    # Normal noise with bias norm 1 and spread 1: the assertion is exactly right.
    rng = np.random.default_rng(205)
    right = TheoremA(kappa=1.0, bias=1.0, spread=1.0)
    wrong = TheoremA(kappa=1.0, bias=0.0, spread=0.8)
    refuted = 0
    for _ in range(200):
        losses = (rng.normal(size=(300, 4)) + 0.5) ** 2
        right.calibrate(losses, 0.1)
        try:
            wrong.calibrate(losses, 0.1)
        except InvalidParameter:
            refuted += 1
    assert refuted == 200


def test_theorem_a_holds_for_normal_decisions_that_point_at_the_bias():
    # The worst direction at a context is that of its bias; its norm is .7 everywhere.
    rng = np.random.default_rng(206)
    draws, alpha = 200_000, 0.1
    vouched = TheoremA(kappa=1.0, bias=0.7, spread=1.0)
    direction = rng.normal(size=(draws, 6))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    residuals = 0.7 * direction + rng.normal(size=(draws, 6))
    along = np.sum(direction * residuals, axis=1)
    assert np.sum(along > vouched.radius(alpha)) <= most(draws, alpha)
    unbiased = TheoremA(kappa=1.0, bias=0.0, spread=0.5)
    assert np.sum(along > unbiased.radius(alpha)) > most(draws, alpha)


def test_diagnosis_raises_few_false_alarms():
    rng = np.random.default_rng(207)
    replications, delta = 300, 0.01
    alarms = {"normal": 0, "uniform": 0, "skewed": 0}
    for _ in range(replications):
        for name, residuals in {
            "normal": rng.normal(size=(500, 3)),
            "uniform": rng.uniform(-1, 1, size=(500, 3)),
            "skewed": rng.beta(1, 4, size=(500, 3)),
        }.items():
            alarms[name] += bool(study_residuals(residuals, delta=delta).evidence)
    assert max(alarms["normal"], alarms["uniform"]) <= most(replications, delta)
    assert alarms["skewed"] > most(replications, delta)


@pytest.mark.slow
def test_diagnosis_finds_no_context_where_there_is_none():
    rng = np.random.default_rng(208)
    replications, delta = 40, 0.05
    alarms = seen = 0
    for _ in range(replications):
        X = rng.normal(size=(300, 2))
        residuals = rng.uniform(-1, 1, size=(300, 3))
        alarms += bool(study_residuals(residuals, X, delta=delta).evidence)
        uneven = residuals * (1 + (X[:, :1] > 0))
        seen += bool(study_residuals(uneven, X, delta=delta).evidence)
    assert alarms <= most(replications, delta) < seen
