"""Every kind of promise: watched as what it is, and kept when calibrated again."""

import pickle

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

import sublevel as sl
from sublevel.drift import MonitoredPolicy
from sublevel.errors import InfiniteBudget, InvalidParameter
from sublevel.guarantees import PAC, Mondrian, Weighted, WholeUnit


def world(n, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + noise * rng.normal(size=n)


def first_column(X):
    return np.asarray(X)[:, 0]


def positive(X):
    return np.asarray(X)[:, 1] > 0


def make_policy(cap=None):
    demand, stock = sl.Uncertain(name="demand"), cp.Variable(name="stock")
    limits = [stock >= demand] + ([] if cap is None else [stock <= cap])
    sets = sl.LossSet(first_column, loss="absolute")
    problem = sl.RobustProblem(cp.Minimize(stock), limits, {demand: sets})
    return problem.compile(), stock


def short(X, Y, policy):
    """Whether demand was not met, by one's own count."""
    return policy.decide(X).value("stock") + 1e-9 < Y


# -- what is watched ------------------------------------------------------------------


def test_an_expected_miss_is_no_share_of_violations():
    """At the level of an expected miss most decisions may miss by a little."""
    X, Y = world(300)
    policy = make_policy()[0].calibrate(X, Y, alpha=0.1, method="risk")
    with pytest.raises(InvalidParameter, match=r"alpha=.*does not say how often"):
        MonitoredPolicy(policy)
    later = world(2000, seed=1)
    rate = short(*later, policy).mean()
    assert rate > 0.15  # that is why
    assert not MonitoredPolicy(policy, alpha=1.3 * rate).update(*later).alarms


def test_no_law_is_made_up_for_weights():
    X, Y = world(100)
    policy = make_policy()[0]
    policy.calibrate(X, Y, 0.2, guarantee=Weighted(lambda X: np.exp(X[:, 1])))
    with pytest.raises(InvalidParameter, match=r"alpha=.*follows no law"):
        MonitoredPolicy(policy)
    assert MonitoredPolicy(policy, alpha=0.25).monitor.alpha == 0.25


def test_of_groups_the_least_certain_one_counts():
    """The rate of 18 rows may be lower than that of 29, whose rank is a coarser one."""
    X, Y = world(47)
    X[:, 1] = np.repeat([-1.0, 1.0], [18, 29])
    policy = make_policy()[0].calibrate(X, Y, 0.1, guarantee=Mondrian(positive))
    live = MonitoredPolicy(policy, delta=0.1)
    rng = np.random.default_rng(0)
    for size, rank in ((18, 18), (29, 27)):
        rates = 1 - np.sort(rng.random((20_000, size)), axis=1)[:, rank - 1]
        assert np.mean(rates > live.monitor.alpha) <= 0.025 + 0.004


def count_alarms(cap, asked, runs, delta, alpha=None):
    """In how many stationary runs a fresh calibration is called refuted."""
    alarms = 0
    for seed in range(runs):
        X, Y = world(700, seed=seed)
        policy = make_policy(cap)[0].calibrate(X[:400], Y[:400], 0.1, **asked)
        live = MonitoredPolicy(policy, delta, alpha).update(X[400:], Y[400:])
        alarms += bool(live.alarms)
    return alarms


def test_false_alarms_are_rare_whatever_is_promised():
    """Stationary runs: at most delta of them alarm, four standard errors allowed.

    The control tests the level of an expected miss as if it were one of violations.
    """
    runs, delta = 15, 0.1
    limit = runs * delta + 4 * np.sqrt(runs * delta * (1 - delta))
    groups = {"guarantee": Mondrian(positive)}
    assert count_alarms(None, groups, runs, delta) <= limit
    decided = {"given_decided": True, "delta": 0.1}
    assert count_alarms(2.5, decided, runs, delta) <= limit
    assert count_alarms(None, {"method": "risk"}, runs, delta, alpha=0.1) > limit


def test_a_promise_among_decisions_is_held_against_decisions():
    """Most contexts have none, and would make up for the violations of the rest."""
    X, Y = world(300)
    policy, _ = make_policy(cap=1.5)
    policy.calibrate(X, Y, 0.1, given_decided=True, delta=0.1)
    X, Y = world(1000, noise=2.5, seed=1)
    X, Y = X + [1.0, 0.0], Y + 1
    seen = policy.evaluate(X, Y, regret=False)
    assert seen.violation < 0.1 < 0.2 < seen.violated.sum() / seen.decided.sum()
    live = MonitoredPolicy(policy)
    for at in range(0, 1000, 50):
        live.update(X[at : at + 50], Y[at : at + 50])
    (alarm,) = live.alarms
    # The monitor counts decisions; the alarm tells the row, one that violated.
    until = seen.decided[: alarm.at]
    assert seen.violated[alarm.at - 1]
    by_hand = sl.drift.Monitor(0.1).watch(seen.violated[seen.decided])
    assert by_hand.alarm_at == until.sum() < alarm.at
    assert live.outcomes == 1000


# -- calibrated again -----------------------------------------------------------------

KINDS = {
    "marginal": {},
    "confidence": {"delta": 0.1},
    "groups": {"guarantee": Mondrian(positive)},
    "groups at once": {"guarantee": Mondrian(positive, PAC(0.1), at_once=True)},
    "candidates": {"guarantee": PAC(0.1, candidates=3)},
    "tests": {"method": "learn-then-test", "delta": 0.1},
    "decided": {"given_decided": True, "delta": 0.2},
    "risk": {"method": "risk"},
    "grid": {"grid": np.geomspace(0.01, 90, 33)},
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_alarm_keeps_the_kind_of_promise(kind, tmp_path):
    asked = KINDS[kind]
    X, Y = world(300)
    policy = make_policy()[0].calibrate(X, Y, alpha=0.2, **asked)
    level = {"alpha": 0.5} if kind == "risk" else {}
    live = MonitoredPolicy(policy, **level, on_alarm="recalibrate", window=150)
    X, Y = world(200, noise=9.0, seed=1)
    Y += 5
    live.update(X, Y)
    assert [alarm.action for alarm in live.alarms] == ["recalibrate"]
    again = make_policy()[0].calibrate(X[-150:], Y[-150:], alpha=0.2, **asked)
    mine, own = live.policy.certificate_, again.certificate_
    assert live.policy.budget_ == pytest.approx(own.budget)
    for name in ("guarantee", "alpha", "confidence", "event", "measure", "reference"):
        assert getattr(mine, name) == getattr(own, name), name
    assert [g for g, _ in mine.groups] == [g for g, _ in own.groups]
    fresh = world(40, noise=9.0, seed=2)[0]
    np.testing.assert_allclose(
        live.decide(fresh).value("stock"), again.decide(fresh).value("stock")
    )
    assert "latest 150 with outcomes" in str(mine).replace("\n" + " " * 22, " ")
    assert live.decide(fresh).certificate == mine
    # Saved, it comes back the same, budgets by group and all.
    live.save(tmp_path / "state")
    loaded = MonitoredPolicy.load(tmp_path / "state", policy, "recalibrate")
    assert loaded.policy.certificate_ == mine
    np.testing.assert_allclose(
        live.decide(fresh).value("stock"), loaded.decide(fresh).value("stock")
    )


def test_a_level_chosen_by_looking_is_calibrated_again_with_its_confidence():
    X, Y = world(300)
    policy, _ = make_policy()
    policy.frontier(X, Y, alphas=[0.1, 0.2], delta=0.1)
    live = MonitoredPolicy(policy.at_alpha(0.2), on_alarm="recalibrate", window=100)
    X, Y = world(200, noise=9.0, seed=1)
    live.update(X, Y)
    again = make_policy()[0].calibrate(X[-100:], Y[-100:], 0.2, 0.1)
    assert live.policy.budget_ == pytest.approx(again.budget_)
    assert live.certificate_.confidence == pytest.approx(0.9)


def test_what_the_latest_rows_cannot_carry_is_refused_at_once():
    X, Y = world(100)
    policy, _ = make_policy()
    ratio = Weighted(lambda X: np.exp(0.3 * X[:, 1]))
    policy.calibrate(X, Y, 0.2, guarantee=ratio)
    with pytest.raises(InvalidParameter, match=r"density ratio.*Give on_alarm a func"):
        MonitoredPolicy(policy, alpha=0.3, on_alarm="recalibrate")
    live = MonitoredPolicy(policy, alpha=0.3)
    live.on_alarm = "recalibrate"
    with pytest.raises(InvalidParameter, match=r"go_on_with.*density ratio"):
        live.go_on_with(policy)
    given = policy.at(2.0, policy.certificate_)
    with pytest.raises(
        InvalidParameter, match=r"level that was given.*on_alarm a func"
    ):
        MonitoredPolicy(given, alpha=0.3, on_alarm="recalibrate")
    with pytest.raises(InvalidParameter, match=r"must follow Policy\.calibrate"):
        given.calibrated_again(X, Y)
    frame = pd.DataFrame(X, pd.date_range("2024", periods=100, freq="4h"))
    by_days, _ = make_policy()
    by_days.calibrate(frame, Y, 0.2, guarantee=WholeUnit("days"))
    with pytest.raises(InvalidParameter, match="on any row of a new day: the latest"):
        MonitoredPolicy(by_days, alpha=0.3, on_alarm="recalibrate")


def test_where_nothing_can_be_promised_any_more_the_fallback_acts():
    X, Y = world(100)
    policy, stock = make_policy()
    policy.calibrate(X, Y, 0.2, fallback={stock: 4.0})
    live = MonitoredPolicy(policy, on_alarm="recalibrate", window=100)
    X, Y = world(100, seed=1)
    with pytest.warns(InfiniteBudget, match="fallback violates too often"):
        live.update(X, Y + 9)
    assert [alarm.action for alarm in live.alarms] == ["fallback"]
    assert live.decide(X[:2]).status.tolist() == ["fallback"] * 2
    assert live.decide(X[:2]).certificate.heuristic


def test_another_policy_is_not_taken_for_the_watched_one(tmp_path):
    X, Y = world(100)
    policy = make_policy()[0].calibrate(X, Y, 0.2)
    MonitoredPolicy(policy).save(tmp_path / "state")
    other = make_policy()[0].calibrate(X, 2 * Y, 0.2)
    with pytest.raises(InvalidParameter, match="must be the policy that was saved"):
        MonitoredPolicy.load(tmp_path / "state", other)


def by_half(X):
    return np.arange(len(X)) // 2


def test_a_pickled_policy_needs_no_function_it_does_not_decide_by():
    X, Y = world(60)
    demand, stock = sl.Uncertain(name="demand"), cp.Variable(name="stock")
    sets = sl.LossSet(first_column, loss="absolute")
    goal, met = cp.Minimize(stock), [stock >= demand]
    policy = sl.RobustProblem(goal, met, {demand: sets}).compile()
    for unit, kept in ((by_half, True), (lambda X: by_half(X), False)):
        policy.calibrate(X, Y, 0.2, guarantee=sl.guarantees.UnitAverage(unit))
        again = pickle.loads(pickle.dumps(policy))
        assert again.budget_ == policy.budget_
        assert (again.request is not None) == kept
