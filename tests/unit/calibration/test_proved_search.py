"""The search where some decisions are proved to be kept, on tables."""

import numpy as np
import pytest

from sublevel.calibration.envelope import Stopped, envelope_scores
from sublevel.calibration.proved_search import ProvedSearch

LEVELS = np.arange(40.0, 0.0, -1.0)
INSTANCES = 60


class Table:
    """Decisions that violate, and proofs, where tables of (levels, points) say so."""

    def __init__(self, rng, wrong=False):
        n = int(rng.integers(5, 40))
        self.scores = rng.choice(np.arange(1, 45), size=n) + 0.5
        reaches = self.scores > LEVELS[:, None]
        self.bad = reaches & (rng.random(reaches.shape) < rng.uniform(0.0, 0.3))
        kept = rng.random(reaches.shape) < rng.uniform(0.0, 1.0)
        self.proved = kept if wrong else kept & ~self.bad
        self.asked = []
        self.most = np.inf

    def violates(self, levels, rows):
        self.asked += list(zip(levels.tolist(), rows.tolist(), strict=True))
        if len(self.asked) > self.most:
            raise Stopped
        return self.bad[(LEVELS[0] - levels).astype(int), rows]

    def proves(self, levels, rows):
        return self.proved[(LEVELS[0] - levels).astype(int), rows]

    def plain(self, beyond):
        return envelope_scores(
            self.scores, LEVELS, self.violates, enough(beyond), wave=9, beyond=beyond
        )

    def search(self, beyond):
        search = ProvedSearch(
            self.scores, LEVELS, self.violates, self.proves, wave=9, beyond=beyond
        )
        return search.envelope(enough(beyond))


def enough(beyond):
    return lambda scores, floor: int(np.sum(scores > floor)) > beyond


def order_statistic(scores, beyond):
    return np.sort(scores)[len(scores) - beyond - 1]


@pytest.mark.parametrize("seed", range(INSTANCES))
def test_the_order_statistic_is_that_of_looking_everywhere(seed):
    rng = np.random.default_rng(seed)
    table = Table(rng)
    beyond = int(rng.integers(0, len(table.scores)))
    plain = table.plain(beyond)
    table.asked.clear()
    proved = table.search(beyond)
    assert order_statistic(proved, beyond) == order_statistic(plain, beyond)
    assert len(set(table.asked)) == len(table.asked)
    places = [(int(LEVELS[0] - level), row) for level, row in table.asked]
    assert not any(table.proved[place] for place in places)


@pytest.mark.parametrize("seed", range(INSTANCES))
def test_all_scores_are_the_same_if_all_are_asked_for(seed):
    table = Table(np.random.default_rng(seed))
    never = len(table.scores)
    np.testing.assert_array_equal(table.search(never), table.plain(never))


def test_wrong_proofs_change_the_answer():
    changed = 0
    for seed in range(INSTANCES):
        table = Table(np.random.default_rng(seed), wrong=True)
        beyond = len(table.scores) // 3
        mine, right = table.search(beyond), table.plain(beyond)
        changed += order_statistic(mine, beyond) != order_statistic(right, beyond)
    assert changed > INSTANCES // 4


@pytest.mark.parametrize("seed", range(INSTANCES))
def test_a_search_that_is_stopped_says_nothing_too_low(seed):
    table = Table(np.random.default_rng(seed))
    beyond = len(table.scores) // 4
    right = table.plain(beyond)
    table.asked.clear()
    table.most = 20
    stopped = table.search(beyond)
    assert order_statistic(stopped, beyond) >= order_statistic(right, beyond)


@pytest.mark.parametrize("count", [1, 2, 8, 9, 60, 200])
def test_levels_above_every_score_are_passed_without_a_look(count):
    """All of them may be opened at once, and none asked about."""
    scores, levels = np.array([0.5, 0.7]), np.arange(count, 0.0, -1.0)
    search = ProvedSearch(scores, levels, None, None, beyond=0)
    np.testing.assert_array_equal(search.envelope(enough(0)), [1.0, 1.0])


def test_without_levels_scores_are_the_losses():
    search = ProvedSearch(np.array([1.0, 2.0]), [], None, None)
    np.testing.assert_array_equal(search.envelope(enough(0)), [1.0, 2.0])
