"""Every promise about decisions is kept, on rules that need no solver.

A rule here is a closed form: at level t it decides x = t + f(X) where that is at most a
limit, and breaks its promise if the outcome is above x, or by chance inside a band of
levels, so that violations need not fall as the level grows. The probability that a
decision at a level violates is then known exactly, and each replication (one fresh
calibration) gives the exact violation rate p of the level it chose.

Marginal promises bound the mean of p: the mean over R replications exceeds alpha by
more than 4.75 of its standard errors with probability 1e-6. Promises with confidence
bound how often p > alpha: that count is at most binomial, held against
binom.isf(1e-6, R, delta). Every test has a control, a calibration slightly wrong, that
the same threshold rejects.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from sublevel.calibration.band import search_band
from sublevel.calibration.levels import Given
from sublevel.calibration.request import read_request
from sublevel.calibration.search import Looks, Search
from sublevel.guarantees import PAC, Marginal, Mondrian, Weighted

pytestmark = pytest.mark.slow

ALPHA, DELTA, ERROR = 0.1, 0.1, 1e-6
GRID = np.linspace(0.05, 6.0, 120)
REPLICATIONS = 1000
#: Levels of the band in which violations are more frequent again.
BAND, EXTRA = (1.0, 1.4), 0.02


def in_band(level):
    return (np.asarray(level) >= BAND[0]) & (np.asarray(level) <= BAND[1])


@dataclass
class Rule:
    """Normal noise of a size that depends on the context; decided up to a limit."""

    X: np.ndarray
    noise: np.ndarray
    luck: np.ndarray
    limit: float = np.inf
    has_fallback = False
    has_sets = True
    proves = None
    fails = None
    wave = 10_000

    @classmethod
    def draw(cls, rng, n, limit=np.inf, X=None):
        X = rng.random(n) if X is None else X
        return cls(X, scale(X) * rng.normal(size=n), rng.random(n), limit)

    @property
    def scores(self):
        # Inside the band luck may break the promise: the outcome is then in no set of
        # a level up to there.
        unlucky = np.where(self.luck < EXTRA, BAND[1] + 1e-9, 0.0)
        return np.maximum(np.maximum(self.noise, unlucky), 0.0)

    @property
    def fallback_miss(self):
        return np.full(len(self.X), -np.inf)

    def look(self, levels, rows):
        decided = self.X[rows] + levels <= self.limit
        bad = self.noise[rows] > levels
        bad |= in_band(levels) & (self.luck[rows] < EXTRA)
        miss = np.clip(self.noise[rows] - levels, 0.01, None)
        return Looks(np.where(bad & decided, miss, -np.inf), decided)

    def level(self, request, levels=GRID):
        search = Search(self, Given(tuple(levels.tolist())), endless=False)
        return search.calibrate(request, self.X[:, None])


def scale(X):
    """A fifth of the contexts, X > 0.8, is three times as noisy."""
    return np.where(X > 0.8, 1.5, 0.5)


def violation(level, X):
    """Probability that the decision at a level violates at a context."""
    extra = EXTRA * in_band(level)
    return extra + (1 - extra) * stats.norm.sf(level / scale(X))


#: Points at which expectations over X, uniform on [0, 1], are taken exactly enough.
MIDDLES = (np.arange(1000) + 0.5) / 1000


def excess(rates):
    """By how much the mean is above alpha, less what chance explains."""
    chance = stats.norm.isf(ERROR) * rates.std(axis=0) / np.sqrt(len(rates))
    return rates.mean(axis=0) - ALPHA - chance


def most_failures(replications, delta=DELTA):
    return stats.binom.isf(ERROR, replications, delta)


def rates(request, n, seed, weights=None, flags=None, levels=GRID):
    """The exact violation rate after each calibration: overall, shifted, by group."""
    rng = np.random.default_rng(seed)
    share = np.ones(len(MIDDLES)) if weights is None else weights(MIDDLES[:, None])
    groups = [np.ones(len(MIDDLES), bool)] if flags is None else flags(MIDDLES)
    rows = []
    for _ in range(REPLICATIONS):
        at = Rule.draw(rng, n).level(request, levels).at(MIDDLES[:, None], 1000)
        p = np.where(np.isinf(at), 0.0, violation(at, MIDDLES))
        rows.append([np.average(p, weights=share * group) for group in groups])
    return np.array(rows)


def ask(guarantee, alpha=ALPHA, **more):
    return read_request("calibrate", alpha, guarantee, **more)


def test_marginal():
    assert excess(rates(ask("marginal"), 60, 1)) <= 0
    # Control: half as much again.
    assert excess(rates(ask("marginal", 1.5 * ALPHA), 60, 1)) > 0


def test_with_confidence():
    failures = np.sum(rates(ask(PAC(DELTA)), 120, 2) > ALPHA)
    assert failures <= most_failures(REPLICATIONS)
    # Control: the marginal level fails in a large share of calibrations.
    failures = np.sum(rates(ask("marginal"), 120, 2) > ALPHA)
    assert failures > most_failures(REPLICATIONS)


def test_learn_then_test():
    request = ask(PAC(DELTA), method="learn-then-test")
    failures = np.sum(rates(request, 120, 3) > ALPHA)
    assert failures <= most_failures(REPLICATIONS)
    # Control: four times the confidence deficit.
    request = ask(PAC(4 * DELTA), method="learn-then-test")
    assert np.sum(rates(request, 120, 3) > ALPHA) > most_failures(REPLICATIONS)


def overlapping(X):
    """All contexts, the noisy fifth, and the upper half."""
    return [np.ones(len(X), bool), X > 0.8, X > 0.5]


def flags(X):
    return np.column_stack(overlapping(X[:, 0]))


def test_every_one_of_overlapping_groups():
    seen = rates(ask(Mondrian(flags)), 150, 4, flags=overlapping)
    assert (excess(seen) <= 0).all()
    # Control: one level for all breaks the promise to the noisy fifth, by far.
    seen = rates(ask("marginal"), 150, 4, flags=overlapping)
    assert excess(seen)[0] <= 0 < 0.1 < excess(seen)[1]


def test_overlapping_groups_at_once_with_confidence():
    each = Mondrian(flags, PAC(DELTA), at_once=True)
    seen = rates(ask(each), 250, 5, flags=overlapping)
    assert np.sum((seen > ALPHA).any(axis=1)) <= most_failures(REPLICATIONS)
    # Control: marginal levels of each group.
    seen = rates(ask(Mondrian(flags)), 250, 5, flags=overlapping)
    assert np.sum((seen > ALPHA).any(axis=1)) > most_failures(REPLICATIONS)


def later(X):
    """Deployment contexts lean towards the noisy ones."""
    return np.exp(3 * X[:, 0])


def test_where_contexts_have_shifted():
    assert excess(rates(ask(Weighted(later)), 150, 6, weights=later)) <= 0
    # Control: without the density ratio.
    assert excess(rates(ask("marginal"), 150, 6, weights=later)) > 0


def mean_miss(level):
    """Expected miss, at most 1, at a level."""
    rng = np.random.default_rng(0)
    rule = Rule.draw(rng, 20_000)
    miss = rule.look(np.full(20_000, level), np.arange(20_000)).miss
    return np.clip(miss, 0, 1).mean()


def test_risk():
    exact = {level: mean_miss(level) for level in GRID.tolist()}

    def risks(alpha):
        rng = np.random.default_rng(7)
        request = ask("marginal", alpha, method="risk")
        chosen = [Rule.draw(rng, 60).level(request).budget for _ in range(REPLICATIONS)]
        return np.array([0.0 if np.isinf(v) else exact[v] for v in chosen])

    assert excess(risks(ALPHA)) <= 0
    assert excess(risks(1.5 * ALPHA)) > 0


def given_taken(level, limit):
    """Violation probability among the decisions taken at a level; nan if none is."""
    decided = MIDDLES + level <= limit
    return violation(level, MIDDLES[decided]).mean() if decided.any() else np.nan


def test_among_decisions_that_are_taken():
    limit, levels = 1.2, np.append(np.linspace(0.05, 1.2, 32), [3.0, 6.0])
    exact = {level: given_taken(level, limit) for level in levels.tolist()}

    def failures(request, n=600):
        rng = np.random.default_rng(8)
        chosen = [
            Rule.draw(rng, n, limit).level(request, levels).budget
            for _ in range(REPLICATIONS)
        ]
        assert np.isfinite(chosen).mean() > 0.1  # the promise is used
        return sum(exact.get(level, 0.0) > ALPHA for level in chosen)

    request = ask(PAC(DELTA), given_decided=True)
    assert failures(request) <= most_failures(REPLICATIONS)
    # Control: where contexts without a decision count as kept, decisions are not.
    assert failures(ask(PAC(DELTA))) > most_failures(REPLICATIONS)


def test_a_marginal_certificate_that_abstains_is_worse_where_it_is_issued():
    """Why its headline says so: 9 points, a top level that may itself violate."""
    rng = np.random.default_rng(9)
    chance, finite = 0.22, []
    for _ in range(REPLICATIONS):
        scores = np.where(rng.random(9) < chance, np.inf, 1.0)
        finite.append(np.isfinite(Marginal().certify(scores, ALPHA).budget))
    # Jointly alpha is kept; of every certificate issued the rate is the chance.
    assert excess(chance * np.array(finite, dtype=float)) <= 0
    assert np.mean(finite) > 0.05
    assert chance > 2 * ALPHA


def joint_failures(bound_at, n, seed, replications=2000):
    """In how many calibrations some level of the grid violates more than its bound.

    Whoever looks at the whole frontier may choose just that level.
    """
    rng = np.random.default_rng(seed)
    exact = np.array([violation(level, MIDDLES).mean() for level in GRID])
    failures = 0
    for _ in range(replications):
        rule = Rule.draw(rng, n)
        band = search_band(Search(rule, Given(tuple(GRID)), False), 0.3, DELTA)
        bounds = np.array([bound_at(band, level) for level in GRID])
        failures += bool((exact > bounds).any())
    return failures


def pointwise(band, level):
    """Clopper and Pearson's bound of each level on its own."""
    rank = int(np.searchsorted(band.levels, level, side="right"))
    beyond = len(band.levels) - rank
    return stats.beta.isf(DELTA, beyond + 1, band.size - beyond) if rank else 1.0


def test_the_frontier_holds_at_every_level_at_once():
    most = most_failures(2000)
    assert joint_failures(lambda band, level: band.bound_at(level), 150, 9) <= most
    # Control: bounds that hold one at a time.
    assert joint_failures(pointwise, 150, 9) > most


def eight_groups(X):
    """All contexts, the noisy fifth, halves, thirds and a tenth: they overlap."""
    return [
        np.ones(len(X), bool),
        X > 0.8,
        X > 0.5,
        X <= 0.5,
        X < 1 / 3,
        (X >= 1 / 3) & (X < 2 / 3),
        X >= 2 / 3,
        X > 0.9,
    ]


def test_the_worst_of_eight_overlapping_groups():
    """The mean violation of each is at most alpha, up to three standard errors."""

    def worst(guarantee):
        seen = rates(ask(guarantee), 300, 10, flags=eight_groups)
        room = 3 * seen.std(axis=0) / np.sqrt(len(seen))
        return (seen.mean(axis=0) - ALPHA - room).max()

    assert worst(Mondrian(lambda X: np.column_stack(eight_groups(X[:, 0])))) <= 0
    # Control: one level for all.
    assert worst("marginal") > 0.1
