"""Every method's policy keeps the contract that an evaluator relies on."""

from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.baselines import (
    ClassicalEllipsoid,
    ConformalEllipsoid,
    NearestEllipsoid,
    NearestWeights,
    PointPrediction,
    PredictThenCalibrateBox,
    PredictThenCalibrateEllipsoid,
    TrueMoments,
    TwoStage,
    WeightedSample,
)
from sublevel.testing import ContractBroken, check_policy

M = 3
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (220, M))
Y = 2 + X + 0.3 * RNG.normal(size=(220, M))
TRAIN, FOLD, TEST = slice(0, 120), slice(120, 200), slice(200, 220)

SOURCES = {
    "loss set": sl.LossSet(LinearRegression()),
    "point": PointPrediction(LinearRegression()),
    "classical": ClassicalEllipsoid(0.1),
    "nearest": NearestEllipsoid(25),
    "box": PredictThenCalibrateBox(LinearRegression(), 0.1),
    "ellipsoid": PredictThenCalibrateEllipsoid(LinearRegression(), 0.1),
    "conformal": ConformalEllipsoid(LinearRegression(), 0.1),
    "two stages": TwoStage(0.1),
    "oracle": TrueMoments(lambda X: 2 + X, lambda X: np.full(X.shape, 0.3), 0.1),
}


def policy_of(sets):
    r, w = sl.Uncertain(M, name="r"), cp.Variable(M, nonneg=True, name="w")
    limits = [cp.sum(w) == 1, r @ w >= -20]
    return sl.RobustProblem(cp.Maximize(r @ w), limits, {r: sets}).compile()


@pytest.fixture(scope="module")
def ours():
    sets = SOURCES["loss set"].fit(X[TRAIN], Y[TRAIN])
    return policy_of(sets).calibrate(X[FOLD], Y[FOLD], alpha=0.1)


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_has_a_policy_that_keeps_the_contract(name):
    sets = SOURCES[name].fit(X[TRAIN], Y[TRAIN])
    if name == "loss set":
        sets.calibrate(X[FOLD], Y[FOLD], alpha=0.1)
    check_policy(policy_of(sets), X[TEST], Y[TEST])


def test_a_weighted_sample_keeps_the_contract(ours):
    weights = NearestWeights(20).fit(X[TRAIN], Y[TRAIN])
    check_policy(WeightedSample(ours.problem, weights), X[TEST], Y[TEST])


def test_a_calibrated_policy_keeps_the_contract(ours):
    check_policy(ours, X[TEST], Y[TEST])


def test_where_some_contexts_have_no_decision():
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    sets = sl.LossSet(lambda X: X[:, :1], "absolute").calibrate(X, X[:, 0] + 0.1)
    problem = sl.RobustProblem(cp.Minimize(x), [x >= y, x <= 0.5], {y: sets})
    policy = problem.compile()
    assert set(policy.decide(X[TEST]).status) == {"optimal", "infeasible"}
    check_policy(policy, X[TEST], X[TEST, 0])


# ---- policies that break it ----------------------------------------------------------


@dataclass
class Altered:
    """A policy with a fault."""

    policy: Any
    fault: Any

    @property
    def problem(self):
        return self.policy.problem

    def decide(self, X):
        return self.fault(self.policy.decide(X))

    def evaluate(self, X, Y):
        return self.policy.evaluate(X, Y)


def with_objective(decisions, objective):
    return replace(decisions, arrays=replace(decisions.arrays, objective=objective))


def mixed_up(decisions):
    return with_objective(decisions, np.sort(decisions.objective))


class Restless:
    calls = 0

    def __call__(self, decisions):
        self.calls += 1
        return with_objective(decisions, decisions.objective + 0.1 * self.calls)


class Unaudited:
    """Decisions whose audit did not pass, though they are called optimal."""

    def __init__(self, decisions):
        self.decisions = decisions
        passed = np.zeros(len(decisions), dtype=bool)
        self.audit = replace(decisions.audit, passed=passed)

    def __len__(self):
        return len(self.decisions)

    def __getattr__(self, name):
        return getattr(self.decisions, name)


def rosier(decisions):
    return with_objective(decisions, decisions.objective + 0.5)


def crowded(decisions):
    return with_objective(decisions, decisions.objective + 0.01 * len(decisions))


FAULTS = {
    "order of contexts": mixed_up,
    "same contexts": Restless(),
    "passed its audit": Unaudited,
    "what was certified": rosier,
    "alone and in company": crowded,
}


@pytest.mark.parametrize("promise", FAULTS)
def test_every_fault_is_found(ours, promise):
    with pytest.raises(ContractBroken, match=promise):
        check_policy(Altered(ours, FAULTS[promise]), X[TEST], Y[TEST])


def test_a_violation_that_is_not_counted_is_found(ours):
    class Blind(Altered):
        def evaluate(self, X, Y):
            found = self.policy.evaluate(X, Y - 5)
            return replace(found, violated=np.zeros(len(X), dtype=bool))

    with pytest.raises(ContractBroken, match="worse than certified"):
        check_policy(Blind(ours, lambda found: found), X[TEST], Y[TEST])
