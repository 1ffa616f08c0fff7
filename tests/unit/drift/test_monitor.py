"""False alarms, power and the interval of the monitor."""

import numpy as np
import pytest
from scipy.integrate import quad

from sublevel.drift import Monitor
from sublevel.errors import InvalidParameter

RUNS, STEPS = 200, 200


def alarms(rate, alpha=0.1, runs=RUNS, steps=STEPS, seed=0):
    rng = np.random.default_rng(seed)
    return sum(
        Monitor(alpha, delta=0.1).watch(rng.random(steps) < rate).alarm
        for _ in range(runs)
    )


def test_false_alarms_are_rare():
    """At the promised rate itself: at most delta, four standard errors allowed."""
    limit = RUNS * 0.1 + 4 * np.sqrt(RUNS * 0.1 * 0.9)
    assert alarms(rate=0.1) <= limit


def test_twice_the_rate_is_found_out():
    """Negative control: the monitor must be able to alarm."""
    assert alarms(rate=0.25) >= 0.8 * RUNS


def test_late_trouble_is_found_too():
    rng = np.random.default_rng(1)
    good, bad = rng.random(400) < 0.05, rng.random(200) < 0.5
    monitor = Monitor(0.1).watch(good)
    assert not monitor.alarm
    monitor.watch(bad)
    assert monitor.alarm
    assert 400 < monitor.alarm_at < 440


def test_the_evidence_is_the_mixture_it_says():
    """Against numerical integration of the likelihood ratio, one starting moment."""
    monitor = Monitor(0.2, block=100).watch([True, False, True, False, False])

    def ratio(p):
        return (p / 0.2) ** 2 * ((1 - p) / 0.8) ** 3 / 0.8

    mixture = quad(ratio, 0.2, 1)[0]
    assert monitor.evidence == pytest.approx(0.5 * mixture + 0.5)


def test_the_bet_is_fair_at_the_promised_rate():
    """Enumeration: the expected evidence after n outcomes is exactly 1."""
    alpha, n, total = 0.3, 8, 0.0
    for code in range(2**n):
        hits = [bool(code >> k & 1) for k in range(n)]
        chance = alpha ** sum(hits) * (1 - alpha) ** (n - sum(hits))
        total += chance * Monitor(alpha, block=3).watch(hits).evidence
    assert total == pytest.approx(1.0, abs=1e-9)


def test_bets_given_up_never_help_an_alarm(monkeypatch):
    """Enumeration: with bets thrown away the expected evidence is at most 1."""
    monkeypatch.setattr("sublevel.drift.monitor.MOST_BETS", 2)
    monkeypatch.setattr("sublevel.drift.monitor.YOUNG", 1)
    alpha, n, total = 0.3, 8, 0.0
    for code in range(2**n):
        hits = [bool(code >> k & 1) for k in range(n)]
        chance = alpha ** sum(hits) * (1 - alpha) ** (n - sum(hits))
        total += chance * Monitor(alpha, block=2).watch(hits).evidence
    assert 0.5 < total < 1.0


def test_a_long_watch_keeps_few_bets_and_still_alarms():
    rng = np.random.default_rng(5)
    monitor = Monitor(0.1, block=5).watch(rng.random(2000) < 0.05)
    assert len(monitor._start) == 200
    assert not monitor.alarm
    assert monitor.watch(rng.random(100) < 0.5).alarm


def test_the_interval_covers_at_all_moments():
    rng = np.random.default_rng(2)
    missed = 0
    for _ in range(100):
        monitor, out = Monitor(0.5, delta=0.1), False
        for hit in rng.random(60) < 0.2:
            low, high = monitor.watch(hit).interval
            out |= not low <= 0.2 <= high
        missed += out
    assert missed <= 100 * 0.1 + 4 * np.sqrt(100 * 0.1 * 0.9)
    assert 0 < low < 0.2 < high < 0.6


@pytest.mark.parametrize("bad", [[None], [0.4], ["x"]])
def test_only_truth_values_are_watched(bad):
    with pytest.raises(InvalidParameter, match="true or false"):
        Monitor(0.1).watch(bad)
