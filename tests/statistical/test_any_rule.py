"""A rule of any kind, non-monotone as can be, holds its promise.

At high levels a decision violates if one number of the point, uniform, is below a rate
that falls as the level grows. At the ten low levels it violates with probability 0.13,
at each by luck of its own: less often than at the levels just above, and more often
than alpha. Each of 300 replications, one fresh calibration, gives the exact violation
rate p of the level it chose. Marginal promises bound the mean of p, which exceeds alpha
by more than 4.75 of its standard errors with probability 1e-6. Promises with confidence
bound how often p > alpha: a count held against binom.isf(1e-6, 300, delta).

Controls that the same thresholds reject: a calibration at half as much again; and the
natural mistake, the smallest level at which few enough violations are seen.
"""

import numpy as np
import pytest
from scipy import stats

import sublevel as sl

pytestmark = pytest.mark.filterwarnings("ignore::sublevel.errors.InfiniteBudget")

ALPHA, DELTA, ERROR, REPLICATIONS = 0.1, 0.1, 1e-6, 300
LOW, SIZE = 10, 40
RATES = np.append(np.full(LOW, 0.13), 0.3 * np.exp(-np.arange(20) / 4))
LEVELS = np.arange(len(RATES), dtype=float)


def draw(rng, n):
    """Luck of its own at each low level, and one number for all others."""
    return rng.random((n, LOW + 1))


def decide(luck, level):
    return int(level), luck[min(int(level), LOW)]


def violates(decision, outcome):
    level, luck = decision
    return luck < RATES[level]


def levels(alpha, **asked):
    rng = np.random.default_rng(0)
    for _ in range(REPLICATIONS):
        X = draw(rng, SIZE)
        yield sl.calibrate_rule(
            decide, violates, X, np.zeros(SIZE), alpha, LEVELS, **asked
        ).level_


def at_a_glance(alpha):
    """The smallest level at which few enough violations are seen."""
    rng = np.random.default_rng(0)
    for _ in range(REPLICATIONS):
        luck = draw(rng, SIZE)[:, np.minimum(np.arange(len(RATES)), LOW)]
        seen = (luck < RATES).sum(axis=0)
        yield LEVELS[np.argmax(seen <= SIZE - np.ceil((SIZE + 1) * (1 - alpha)))]


def rates(levels):
    """The exact violation rates of levels; nothing is done at an infinite one."""
    return np.array([0.0 if np.isinf(level) else RATES[int(level)] for level in levels])


def excess(seen):
    """By how much the mean is above alpha, less what chance explains."""
    chance = stats.norm.isf(ERROR) * seen.std() / np.sqrt(len(seen))
    return seen.mean() - ALPHA - chance


def test_on_average():
    seen = rates(levels(ALPHA))
    assert excess(seen) <= 0
    assert seen.mean() > 0.7 * ALPHA  # the promise is used
    assert excess(rates(levels(1.5 * ALPHA))) > 0
    assert excess(rates(at_a_glance(ALPHA))) > 0


@pytest.mark.slow
@pytest.mark.parametrize("method", ["envelope", "learn-then-test"])
def test_with_confidence(method):
    most = stats.binom.isf(ERROR, REPLICATIONS, DELTA)
    seen = rates(levels(ALPHA, delta=DELTA, method=method))
    assert np.sum(seen > ALPHA) <= most
    assert seen.mean() > 0.3 * ALPHA
    loose = rates(levels(ALPHA, delta=5 * DELTA, method=method))
    assert np.sum(loose > ALPHA) > most
    assert np.sum(rates(at_a_glance(ALPHA)) > ALPHA) > most


# ---- whole episodes ------------------------------------------------------------------

HOURS, GO_ON = 24, 0.7


def days(rng, n):
    """Errors of 24 hours that go on from hour to hour, each standard normal."""
    error = rng.normal(size=(n, HOURS))
    for hour in range(1, HOURS):
        error[:, hour] *= np.sqrt(1 - GO_ON**2)
        error[:, hour] += GO_ON * error[:, hour - 1]
    return error


def test_any_violation_in_an_episode():
    """A day goes wrong where its largest error is above the reserve.

    The rate at a reserve is counted on 100 000 days, with a standard error of at most
    0.0016, next to nothing beside that of 300 calibrations. The control calibrates
    hours, on the same days: each keeps alpha, days go wrong far more often.
    """
    rng = np.random.default_rng(1)
    worst, reserves = days(rng, 100_000).max(axis=1), np.linspace(1, 4, 16)

    def missing(reserve, day):
        return (day > reserve).any()

    by_day, by_hour = [], []
    for _ in range(REPLICATIONS):
        sample = days(rng, SIZE)
        rule = sl.calibrate_episodes(missing, sample, ALPHA, reserves)
        by_day.append(np.mean(worst > rule.level_))
        by_hour.append(np.mean(worst > np.quantile(sample, 1 - ALPHA)))
    assert excess(np.array(by_day)) <= 0
    assert np.mean(by_day) > 0.5 * ALPHA
    assert excess(np.array(by_hour)) > 0.3
