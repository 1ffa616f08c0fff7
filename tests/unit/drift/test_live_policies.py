"""Policies that follow the world: levels by hand, promises kept, states saved."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

import sublevel as sl
from sublevel.drift import AdaptivePolicy, MonitoredPolicy, SlidingPolicy, replay
from sublevel.errors import CertificateVoid, InvalidParameter
from sublevel.guarantees import Marginal

#: Levels few enough to be quick, fixed in advance.
GRID = np.geomspace(0.05, 60, 40)


def world(n, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) + 5
    return X, X + np.reshape(noise, (-1, 1)) * rng.normal(size=(n, 1))


def identity(X):
    return np.asarray(X)


def make_policy(model=identity):
    demand, stock = sl.Uncertain(name="demand"), cp.Variable(name="stock")
    sets = sl.LossSet(model, loss="absolute")
    problem = sl.RobustProblem(cp.Minimize(stock), [stock >= demand], {demand: sets})
    return problem.compile(), stock


@pytest.fixture(scope="module")
def calibrated():
    X, Y = world(99)
    policy, stock = make_policy()
    return policy.calibrate(X, Y, alpha=0.2, fallback={stock: 100.0}), X, Y


def short(Y, decisions):
    """Whether demand was not met, by one's own count."""
    return Y[:, 0] > decisions.value("stock") + 1e-9


# -- sliding --------------------------------------------------------------------------


def test_the_window_is_what_calibrate_would_be_given(calibrated):
    policy, X, Y = calibrated
    X_new, Y_new = world(60, noise=3.0, seed=1)
    live = SlidingPolicy(policy, X, Y, alpha=0.2, window=70, grid=GRID)
    live.update(X_new[:25], Y_new[:25]).update(X_new[25:], Y_new[25:])
    every = np.vstack([X, X_new]), np.vstack([Y, Y_new])
    last = [table[-70:] for table in every]
    again = make_policy()[0].calibrate(*last, alpha=0.2, grid=GRID)
    assert live.budget_ == pytest.approx(again.budget_)
    sure = SlidingPolicy(policy, *last, alpha=0.2, delta=0.1, grid=GRID)
    surely = make_policy()[0].calibrate(*last, alpha=0.2, delta=0.1, grid=GRID)
    assert sure.budget_ == pytest.approx(surely.budget_)
    assert sure.certificate_.confidence == pytest.approx(0.9)
    decisions = live.decide(X_new)
    np.testing.assert_allclose(
        decisions.value("stock"), X_new[:, 0] + live.budget_, rtol=1e-6
    )


def test_a_sliding_certificate_says_which_rows(calibrated):
    policy, X, Y = calibrated
    times = pd.date_range("2024-01-01", periods=99, freq="h")
    frame = pd.DataFrame(X, index=times, columns=["x"])
    live = SlidingPolicy(policy, frame[:50], Y[:50], alpha=0.2, grid=GRID)
    live.update(frame[50:], Y[50:])
    words = " ".join(live.certificate_.assumptions)
    assert "the latest 50 with outcomes" in words
    assert "2024-01-03 01:00 to 2024-01-05 02:00" in words
    assert live.certificate_.alpha == 0.2
    assert live.decide(frame[:2]).certificate == live.certificate_


def test_the_level_is_read_anew_as_often_as_asked(calibrated):
    policy, X, Y = calibrated
    X_new, Y_new = world(30, noise=9.0, seed=2)
    live = SlidingPolicy(policy, X, Y, 0.2, window=30, every=30, grid=GRID)
    before = live.budget_
    live.update(X_new[:29], Y_new[:29])
    assert live.budget_ == before
    assert live.update(X_new[29:], Y_new[29:]).budget_ > 3 * before


def test_another_rule_voids_what_was_scored():
    shift = {"by": 0.0}
    policy, _ = make_policy(lambda X: np.asarray(X) + shift["by"])
    X, Y = world(40)
    live = SlidingPolicy(policy, X, Y, alpha=0.2, grid=GRID)
    shift["by"] = 1.0
    with pytest.warns(CertificateVoid, match="Make a SlidingPolicy anew"):
        assert live.decide(X[:3]).certificate.heuristic


def test_after_a_jump_the_window_keeps_its_promise_and_the_frozen_one_does_not(
    calibrated,
):
    policy, X, Y = calibrated
    X_new, Y_new = world(200, noise=np.repeat([1.0, 9.0], 100), seed=3)
    live = SlidingPolicy(policy, X, Y, alpha=0.2, window=60, every=5, grid=GRID)
    seen = replay(live, X_new, Y_new, batch=5)
    late, size = seen.violated[160:].mean(), 40
    error = np.sqrt(0.2 * 0.8 * (1 / size + 1 / 60))
    assert late <= 0.2 + 3 * error
    frozen = short(Y_new[100:], policy.decide(X_new[100:])).mean()
    assert frozen > 0.2 + 3 * np.sqrt(0.2 * 0.8 * (1 / 100 + 1 / 99))


# -- adaptive -------------------------------------------------------------------------


def test_levels_are_those_of_the_recursion(calibrated):
    """Step by step against Adaptive, with violations counted by hand."""
    policy, X, Y = calibrated
    X_new, Y_new = world(25, noise=4.0, seed=4)
    live = AdaptivePolicy(policy, X, Y, alpha=0.2, gamma=0.2, grid=GRID)
    level = 0.2
    for at in range(25):
        x, y = X_new[at : at + 1], Y_new[at : at + 1]
        decisions = live.decide(x)
        violated = bool(short(y, decisions)[0])
        live.update(x, y, decisions)
        level = min(1.0, level + 0.2 * (0.2 - violated))
        assert live.adaptive.level == pytest.approx(level)
    again = AdaptivePolicy(policy, X, Y, alpha=0.2, gamma=0.2, grid=GRID)
    again.update(X_new, Y_new)
    assert again.adaptive.to_dict() == live.adaptive.to_dict()
    assert 0 < live.adaptive.violations < 25


def test_the_long_run_is_kept_whatever_the_world_does(calibrated):
    policy, X, Y = calibrated
    X_new, Y_new = world(100, noise=np.linspace(1, 40, 100), seed=5)
    live = AdaptivePolicy(policy, X, Y, alpha=0.2, gamma=0.2, window=60, grid=GRID)
    seen = replay(live, X_new, Y_new)
    assert seen.violation <= 0.2 + live.adaptive.bound
    assert len(live.adaptive.scores) == 60
    # At levels of zero and below the fallback acted, and met all demand.
    assert (seen.status == "fallback").any()
    assert not seen.violated[seen.status == "fallback"].any()
    assert short(Y_new, policy.decide(X_new)).mean() > 0.2 + live.adaptive.bound


def test_levels_of_one_and_of_zero(calibrated):
    policy, X, Y = calibrated
    live = AdaptivePolicy(policy, X, Y, alpha=0.2, gamma=0.5, grid=GRID)
    live.adaptive.level = 1.0
    assert live.budget_ == -np.inf
    np.testing.assert_allclose(
        live.decide(X[:4]).value("stock"), X[:4, 0], atol=1e-5
    )  # no protection at all
    live.adaptive.level = -0.1
    assert live.decide(X[:4]).status.tolist() == ["fallback"] * 4
    live.policy = make_policy()[0]
    assert not live.decide(X[:4]).decided.any()


def test_an_adaptive_certificate_is_about_the_long_run(calibrated):
    policy, X, Y = calibrated
    live = AdaptivePolicy(policy, X, Y, alpha=0.2, gamma=0.1, grid=GRID)
    shown = " ".join(str(live.decide(X[:1]).certificate).split())
    assert "as a share of all steps at most 0.2" in shown
    assert "nothing is promised of a single one" in shown


# -- monitored ------------------------------------------------------------------------


def test_the_level_tested_leaves_room_for_the_calibration(calibrated):
    """A marginal promise: the rate of one calibration is Beta distributed."""
    policy, _, _ = calibrated
    live = MonitoredPolicy(policy, delta=0.1)
    rng = np.random.default_rng(0)
    rank = Marginal().rank(99, 0.2)
    rates = 1 - np.sort(rng.random((20_000, 99)), axis=1)[:, rank - 1]
    assert np.mean(rates > live.monitor.alpha) == pytest.approx(0.05, abs=0.006)
    assert live.monitor.delta == 0.05
    assert MonitoredPolicy(policy, delta=0.1, alpha=0.3).monitor.alpha == 0.3


def test_an_alarm_lets_the_fallback_act(calibrated):
    policy, _, _ = calibrated
    live = MonitoredPolicy(policy, delta=0.05)
    X, Y = world(60, seed=6)
    live.update(X, Y)
    assert not live.alarms
    assert live.decide(X[:2]).status.tolist() == ["optimal"] * 2
    X, Y = world(60, seed=7)
    live.update(X, Y + 5)
    (alarm,) = live.alarms
    assert alarm.action == "fallback"
    assert 60 < alarm.at <= 85
    assert live.decide(X[:2]).status.tolist() == ["fallback"] * 2
    assert live.decide(X[:2]).certificate.heuristic
    live.update(X, Y)
    assert live.outcomes == 180
    assert len(live.alarms) == 1


def test_an_alarm_calibrates_on_the_latest_rows(calibrated):
    policy, _, _ = calibrated
    live = MonitoredPolicy(policy, on_alarm="recalibrate", window=50)
    X_new, Y_new = world(100, noise=9.0, seed=8)
    live.update(X_new, Y_new)
    assert [alarm.action for alarm in live.alarms] == ["recalibrate"]
    assert live.policy is not policy
    again = make_policy()[0].calibrate(X_new[-50:], Y_new[-50:], alpha=0.2)
    assert live.policy.budget_ == pytest.approx(again.budget_)
    certificate = live.decide(X_new[:1]).certificate
    assert certificate.alpha == 0.2
    assert certificate.sample_size == 50
    assert "on an alarm" in certificate.note
    assert live.monitor.outcomes == 0
    assert policy.certificate_.sample_size == 99  # the policy given is left alone


def test_an_alarm_may_train_anew(calibrated):
    policy, _, _ = calibrated
    calls = []

    def retrain(X, Y):
        calls.append(len(X))
        half = len(X) // 2
        trained = make_policy(lambda X: np.asarray(X) + Y[:half].mean() - 5.0)[0]
        return trained.calibrate(X[half:], Y[half:], alpha=0.2)

    live = MonitoredPolicy(policy, on_alarm=retrain, window=40)
    X, Y = world(60, seed=9)
    live.update(X, Y + 6)
    assert calls == [40]
    assert [alarm.action for alarm in live.alarms] == ["retrain"]
    fresh_X, fresh_Y = world(200, seed=10)
    late = short(fresh_Y + 6, live.decide(fresh_X)).mean()
    assert late <= 0.2 + 3 * np.sqrt(0.2 * 0.8 * (1 / 200 + 1 / 20))
    assert short(fresh_Y + 6, policy.decide(fresh_X)).mean() > 0.9


def test_false_alarms_are_rare(calibrated):
    """Fresh calibrations in a world that stays: at most delta, four errors allowed.

    Each monitor is that of one calibration, fed with what its level violates; the
    control tests the promised level itself, which marginal calibrations miss by luck.
    """
    rng, runs, delta = np.random.default_rng(11), 100, 0.1
    policy, _, _ = calibrated
    tested = MonitoredPolicy(policy, delta=delta).monitor
    rank, alarms, careless = Marginal().rank(99, 0.2), 0, 0
    for _ in range(runs):
        rate = 1 - np.sort(rng.random(99))[rank - 1]
        hits = rng.random(150) < rate
        alarms += sl.drift.Monitor(tested.alpha, tested.delta, 200).watch(hits).alarm
        careless += sl.drift.Monitor(0.2, delta, 200).watch(hits).alarm
    limit = runs * delta + 4 * np.sqrt(runs * delta * (1 - delta))
    assert alarms <= limit
    assert careless > alarms


def test_delayed_outcomes_are_judged_by_what_was_decided(calibrated):
    """After an alarm the decisions of before still count as they were taken."""
    policy, _, _ = calibrated
    live = MonitoredPolicy(policy)
    X, Y = world(80, noise=9.0, seed=12)
    early = live.decide(X[40:])
    live.update(X[:40], Y[:40])
    assert live.alarms
    live.update(X[40:], Y[40:], early)
    assert live.outcomes == 80


# -- saved ----------------------------------------------------------------------------


@pytest.mark.parametrize("framed", [False, True])
def test_all_go_on_where_they_were(calibrated, tmp_path, framed):
    policy, X, Y = calibrated
    X_new, Y_new = world(60, noise=4.0, seed=13)
    later_X, later_Y = world(20, noise=4.0, seed=14)
    if framed:
        zone = "Europe/Rome"
        times = pd.date_range("2024-03-30", periods=179, freq="h", tz=zone)
        frame = pd.DataFrame(np.vstack([X, X_new, later_X]), times, columns=["x"])
        X, X_new, later_X = frame[:99], frame[99:159], frame[159:]
    every = {
        "adaptive": (AdaptivePolicy(policy, X, Y, 0.2, 0.1, grid=GRID), {}),
        "sliding": (SlidingPolicy(policy, X, Y, 0.2, window=50, grid=GRID), {}),
        "monitored": (
            MonitoredPolicy(policy, on_alarm="recalibrate", window=30),
            {"on_alarm": "recalibrate"},
        ),
        "given up": (MonitoredPolicy(policy), {}),
    }
    for name, (live, more) in every.items():
        live.update(X_new, Y_new)
        path = tmp_path / name
        live.save(path)
        loaded = type(live).load(path, policy, **more)
        assert repr(loaded) == repr(live)
        one, two = live.decide(later_X), loaded.decide(later_X)
        np.testing.assert_allclose(one.value("stock"), two.value("stock"), rtol=1e-6)
        assert one.certificate == two.certificate
        live.update(later_X, later_Y)
        loaded.update(later_X, later_Y)
        assert repr(loaded) == repr(live)


def test_another_policy_is_not_taken_for_the_saved_one(calibrated, tmp_path):
    policy, X, Y = calibrated
    other, _ = make_policy(lambda X: np.asarray(X) + 0.5)
    for live in (
        AdaptivePolicy(policy, X, Y, 0.2, grid=GRID),
        SlidingPolicy(policy, X, Y, 0.2, grid=GRID),
    ):
        live.save(tmp_path / "state")
        with pytest.raises(InvalidParameter, match="must be the policy that was saved"):
            type(live).load(tmp_path / "state", other)
    with pytest.raises(InvalidParameter, match=r"written by AdaptivePolicy\.save"):
        AdaptivePolicy.load(tmp_path / "state", policy)
    (tmp_path / "state").write_text("{}")
    with pytest.raises(InvalidParameter, match="cannot be read"):
        SlidingPolicy.load(tmp_path / "state", policy)


# -- refused --------------------------------------------------------------------------


def test_what_is_refused(calibrated):
    policy, X, Y = calibrated
    with pytest.raises(InvalidParameter, match="must be a compiled policy"):
        AdaptivePolicy(policy.problem, X, Y)
    with pytest.raises(InvalidParameter, match="gamma"):
        AdaptivePolicy(policy, X, Y, gamma=0)
    with pytest.raises(InvalidParameter, match=r"window=.*at least 1"):
        AdaptivePolicy(policy, X, Y, window=0)
    with pytest.raises(InvalidParameter, match=r"every=.*at least 1"):
        SlidingPolicy(policy, X, Y, every=0)
    with pytest.raises(InvalidParameter, match=r"on_alarm=.*'recalibrate'"):
        MonitoredPolicy(policy, on_alarm="pray")
    with pytest.raises(InvalidParameter, match="not calibrated"):
        MonitoredPolicy(make_policy()[0])
    with pytest.raises(InvalidParameter, match=r"decisions=.*those of the 3 rows"):
        MonitoredPolicy(policy).update(X[:3], Y[:3], policy.decide(X[:2]))
    with pytest.raises(InvalidParameter, match="batch"):
        replay(MonitoredPolicy(policy), X, Y, batch=0)
    by_days, _ = make_policy()
    frame = pd.DataFrame(X, pd.date_range("2024", periods=99, freq="4h"))
    by_days.calibrate(frame, Y, 0.2, guarantee=sl.guarantees.WholeUnit("days"))
    with pytest.raises(InvalidParameter, match="on any row of a new day"):
        MonitoredPolicy(by_days)
