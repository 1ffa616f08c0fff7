"""What each violation level costs, decisions beside sets."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.errors import CertificateVoid, InfiniteBudget, InvalidParameter
from sublevel.guarantees import Marginal
from sublevel.guarantees.simultaneous import simultaneous_levels

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
    found = policy.frontier(*DATA, alphas=[0.3, 0.05], delta=None)
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
    found = policy_of().frontier(*DATA, delta=None)
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
    found = policy.frontier(X[:40], Y[:40], X[TEST], Y[TEST], [0.3], delta=None)
    assert found["budget"].iloc[0] == pytest.approx(budget)
    assert found["realised"].notna().all()
    assert policy.budget_ == budget


def test_a_level_chosen_by_looking_has_a_certificate():
    policy = policy_of()
    table = policy.frontier(X[CAL], Y[CAL], delta=0.1)
    scores = policy.envelope_scores(X[CAL], Y[CAL])
    bounds = simultaneous_levels(160, 0.1, first=112)  # at most 0.3 of 160 beyond
    for alpha in (0.07, 0.1, 0.25):
        chosen = policy.at_alpha(alpha)
        allowed = int((bounds <= alpha).sum()) - 1
        assert chosen.budget_ == pytest.approx(np.sort(scores)[159 - allowed])
        certificate = chosen.certificate_
        assert (certificate.alpha, certificate.confidence) == (alpha, 0.9)
        assert "simultaneous" in certificate.guarantee
        assert chosen.decide(X[TEST]).certificate == certificate
    row = table[table["calibration"] == "decisions"].set_index("alpha").loc[0.1]
    chosen = policy.at_alpha(0.1)
    assert row["budget"] == chosen.budget_
    assert row["bound"] == policy.band_.bound_at(chosen.budget_) <= 0.1
    # Without test data what was calibrated on is looked at, but for violations.
    decisions = chosen.decide(X[CAL])
    assert row["certified"] == pytest.approx(decisions.objective.mean())
    assert "violation" not in table
    assert "regret" not in table
    assert not hasattr(policy, "budget_")
    with pytest.raises(InvalidParameter, match="other rows"):
        chosen.certify(X[CAL], Y[CAL])


def test_nothing_may_be_chosen_without_a_look_with_confidence():
    policy = policy_of()
    with pytest.raises(InvalidParameter, match=r"frontier\(X_cal, Y_cal, delta"):
        policy.at_alpha(0.1)
    policy.frontier(X[CAL], Y[CAL], alphas=[0.1, 0.2])
    with pytest.raises(InvalidParameter, match=r"at most 0\.2"):
        policy.at_alpha(0.3)
    with pytest.warns(InfiniteBudget, match="needs at least"):
        assert policy.at_alpha(0.001).budget_ == np.inf
    policy.frontier(X[CAL], Y[CAL], alphas=[0.2], delta=None)
    with pytest.raises(InvalidParameter, match="with a delta"):
        policy.at_alpha(0.1)
    with pytest.raises(InvalidParameter, match="given together"):
        policy.frontier(X[CAL], Y[CAL], X[TEST])
    with pytest.raises(InvalidParameter, match="delta"):
        policy.frontier(X[CAL], Y[CAL], delta=1.0)


def test_what_changed_since_the_look_voids_the_certificate():
    bound = cp.Parameter(nonneg=True, value=1.0)
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    problem = sl.RobustProblem(
        cp.Maximize(r @ w), [cp.sum(w) == bound], {r: sl.LossSet(predicted)}
    )
    policy = problem.compile()
    policy.frontier(X[CAL], Y[CAL], alphas=[0.2])
    assert policy.at_alpha(0.2).decide(X[TEST]).certificate is not None
    bound.value = 2.0
    with pytest.warns(CertificateVoid):
        assert policy.at_alpha(0.2).decide(X[TEST]).certificate is None


@pytest.mark.parametrize("alphas", [[], [0.0], [1.5], [[0.1]]])
def test_levels_must_be_levels(alphas):
    with pytest.raises(InvalidParameter, match="alphas"):
        policy_of().frontier(*DATA, alphas=alphas)


def test_a_band_before_any_look_says_what_to_call():
    policy = policy_of()
    with pytest.raises(InvalidParameter, match=r"Call frontier\(X_cal, Y_cal"):
        policy.at_alpha(0.1)
    with pytest.raises(AttributeError, match=r"band_ must follow.*Call frontier"):
        _ = policy.band_
    assert not hasattr(policy, "band_")
    policy.frontier(X[CAL], Y[CAL], alphas=[0.2])
    assert policy.band_.widest == 0.2
    assert policy.at_alpha(0.2).band_ is policy.band_
