"""What each violation level costs, decisions beside sets."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.errors import InvalidParameter
from sublevel.guarantees import Marginal

RNG = np.random.default_rng(0)
X = RNG.normal(size=(260, 3))
Y = X + RNG.normal(size=(260, 3))
CAL, TEST = slice(0, 160), slice(160, 260)
DATA = X[CAL], Y[CAL], X[TEST], Y[TEST]


def predicted(X):
    return X


def policy_of():
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    problem = sl.RobustProblem(
        cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sl.LossSet(predicted)}
    )
    return problem.compile()


def test_each_row_is_a_calibration_and_an_evaluation():
    policy = policy_of()
    found = policy.frontier(*DATA, alphas=[0.3, 0.05])
    assert found["calibration"].tolist() == ["decisions"] * 2 + ["sets"] * 2
    assert found["alpha"].tolist() == [0.05, 0.3] * 2
    for _, row in found.iterrows():
        one = policy_of()
        if row["calibration"] == "decisions":
            one.calibrate(X[CAL], Y[CAL], row["alpha"])
        else:
            scores = np.sum((X - Y)[CAL] ** 2, axis=1)
            one = one.at(Marginal().certify(scores, row["alpha"]).budget)
        assert row["budget"] == pytest.approx(one.budget_)
        assert row["radius"] == pytest.approx(np.sqrt(one.budget_))
        seen = one.evaluate(X[TEST], Y[TEST])
        told = seen.to_pandas()
        for part in ("certified", "realised", "regret", "violation"):
            assert row[part] == pytest.approx(told[part], abs=1e-6)
        assert (row["low"], row["high"]) == seen.interval
    assert not hasattr(policy, "budget_")


def test_decisions_never_cost_more_than_sets():
    found = policy_of().frontier(*DATA)
    wide = found.pivot(index="alpha", columns="calibration", values="budget")
    assert len(wide) == 6
    assert (wide["decisions"] <= 1.05 * wide["sets"]).all()
    assert (wide["decisions"].diff().dropna() <= 0).all()
    certified = found.pivot(index="alpha", columns="calibration", values="certified")
    assert (certified["decisions"] >= certified["sets"] - 0.05).all()


def test_too_small_a_level_has_no_decision():
    found = policy_of().frontier(*DATA, alphas=[0.001])
    assert np.isinf(found["budget"]).all()
    assert (found["violation"] == 0).all()
    assert found["certified"].isna().all()


def test_with_the_fallback_of_the_policy():
    y, x = sl.Uncertain(3, name="y"), cp.Variable(3, name="x")
    problem = sl.RobustProblem(
        cp.Minimize(cp.sum(x)), [x >= y, x <= 2.0], {y: sl.LossSet(predicted)}
    )
    policy = problem.compile()
    policy.calibrate(X[:40], Y[:40], 0.3, fallback={x: 9.0})
    budget = policy.budget_
    found = policy.frontier(X[:40], Y[:40], X[TEST], Y[TEST], alphas=[0.3])
    assert found["budget"].iloc[0] == pytest.approx(budget)
    assert found["realised"].notna().all()
    assert policy.budget_ == budget


@pytest.mark.parametrize("alphas", [[], [0.0], [1.5], [[0.1]]])
def test_levels_must_be_levels(alphas):
    with pytest.raises(InvalidParameter, match="alphas"):
        policy_of().frontier(*DATA, alphas=alphas)
