"""The early-stopping search against the definition of the envelope, by brute force."""

import numpy as np
import pytest

from sublevel.calibration.envelope import (
    envelope_scores,
    pass_in_sequence,
    risk_level,
)

INSTANCES = 3000


def instance(rng, safe=True):
    """Random losses, a random grid and violations that need not be monotone."""
    n, k = int(rng.integers(1, 25)), int(rng.integers(1, 12))
    grid = np.sort(rng.choice(np.arange(1, 40), size=k, replace=False)) / 10.0
    scores = rng.choice(np.arange(1, 45), size=n) / 10.0
    table = rng.random((k, n)) < rng.uniform(0.0, 0.6)
    if safe:
        table &= scores[None, :] > grid[:, None]
    return grid, scores, table


def level_of(scores, grid, row_of, allowed, safe=True, lost=False, wave=1):
    """The order statistic with `allowed` envelope scores above it."""
    found = envelope_scores(
        scores,
        grid,
        lambda levels, rows: [
            row_of[v][p] for v, p in zip(levels.tolist(), rows.tolist(), strict=True)
        ],
        lambda envelope, floor: np.sum(envelope > floor) > allowed,
        safe,
        lost,
        np.all(safe),
        wave,
    )
    return float(np.sort(found)[len(scores) - allowed - 1])


def by_definition(grid, scores, table, allowed, safe):
    """Order statistic of R = the lowest level from which on nothing is violated."""
    envelope = np.empty(len(scores))
    for p in range(len(scores)):
        bad = np.flatnonzero(table[:, p])
        last = bad[-1] if bad.size else -1
        at_top = last == len(grid) - 1
        envelope[p] = np.inf if at_top else grid[last + 1]
        if safe and scores[p] > grid[-1]:
            envelope[p] = scores[p]
    return float(np.sort(envelope)[len(scores) - allowed - 1])


@pytest.mark.parametrize("wave", [1, 7, 1000])
@pytest.mark.parametrize("safe", [True, False])
def test_equals_the_definition(safe, wave):
    rng = np.random.default_rng(0)
    for _ in range(INSTANCES // 3):
        grid, scores, table = instance(rng, safe)
        allowed = int(rng.integers(0, len(scores)))
        row_of = {level: table[i] for i, level in enumerate(grid.tolist())}
        found = level_of(scores, grid[::-1], row_of, allowed, safe, wave=wave)
        assert found == by_definition(grid, scores, table, allowed, safe)


def test_all_scores_are_those_of_the_definition():
    rng = np.random.default_rng(5)
    for _ in range(300):
        grid, scores, table = instance(rng)
        row_of = {level: table[i] for i, level in enumerate(grid.tolist())}
        found = envelope_scores(
            scores,
            grid[::-1],
            lambda v, p, o=row_of: [o[a][b] for a, b in zip(v, p, strict=True)],
            enough=lambda envelope, floor: False,
            wave=5,
        )
        order = [
            by_definition(grid, scores, table, allowed, True)
            for allowed in range(len(scores))
        ]
        assert sorted(found.tolist(), reverse=True) == order


def test_points_safe_and_unsafe_together():
    """A fallback violates at some points only: there nothing may be left out."""
    rng = np.random.default_rng(6)
    for _ in range(500):
        grid, scores, table = instance(rng, safe=False)
        safe = rng.random(len(scores)) < 0.6
        safe[0] = False
        table &= ~safe | (scores[None, :] > grid[:, None])
        allowed = int(rng.integers(0, len(scores)))
        row_of = {level: table[i] for i, level in enumerate(grid.tolist())}
        expected = []
        for p in range(len(scores)):
            # A level above the grid would mean the fallback at some point.
            expected.append(by_definition(grid, scores[[p]], table[:, [p]], 0, False))
        found = level_of(scores, grid[::-1], row_of, allowed, safe, wave=3)
        assert found == sorted(expected)[len(scores) - allowed - 1]


def test_lost_points_have_an_infinite_score():
    scores = np.array([0.5, 1.5, 2.5])
    row_of = {3.0: [False] * 3, 2.0: [False] * 3, 1.0: [False] * 3}
    lost = np.array([True, False, False])
    assert level_of(scores, row_of, row_of, 1, safe=~lost, lost=lost) == 1.0
    assert level_of(scores, row_of, row_of, 0, safe=~lost, lost=lost) == np.inf


def test_an_outcome_in_no_set_has_an_infinite_score():
    scores = np.array([0.5, np.inf, 1.5])
    row_of = {2.0: [False] * 3, 1.0: [False, False, True]}
    assert level_of(scores, row_of, row_of, allowed=1) == 2.0
    assert level_of(scores, row_of, row_of, allowed=0) == np.inf


def test_no_point_is_asked_twice_for_nothing():
    """Points inside their sets, and points that have violated, need no solve."""
    scores = np.array([0.5, 1.5, 2.5, 3.5])
    asked = []

    def violates(levels, rows):
        asked.append((levels.tolist(), rows.tolist()))
        return levels < 2.0

    found = envelope_scores(
        scores,
        [4.0, 3.0, 2.0, 1.0],
        violates,
        lambda envelope, floor: np.sum(envelope > floor) > 1,
    )
    assert asked == [
        ([3.0], [3]),
        ([2.0, 2.0], [2, 3]),
        ([1.0, 1.0, 1.0], [1, 2, 3]),
    ]
    assert found.tolist() == [1.0, 2.0, 2.0, 2.0]


def test_never_above_the_loss_by_more_than_a_step():
    rng = np.random.default_rng(1)
    for _ in range(500):
        grid, scores, table = instance(rng)
        allowed = int(rng.integers(0, len(scores)))
        row_of = {level: table[i] for i, level in enumerate(grid.tolist())}
        found = level_of(scores, grid[::-1], row_of, allowed)
        plain = np.sort(scores)[len(scores) - allowed - 1]
        above = grid[grid >= plain]
        assert found <= (above[0] if above.size else plain)


def test_order_of_the_points_does_not_matter():
    rng = np.random.default_rng(2)
    for _ in range(200):
        grid, scores, table = instance(rng)
        order = rng.permutation(len(scores))
        answers = []
        for s, t in ((scores, table), (scores[order], table[:, order])):
            row_of = dict(zip(grid.tolist(), t, strict=True))
            answers.append(level_of(s, grid[::-1], row_of, 0))
        assert answers[0] == answers[1]


def violation_rate(search, replications=4000, n=39, k=12, alpha=0.1):
    """Mean violation of a new point at the level found, violations at random.

    The violation path of a point is adversarial: it switches on and off along the
    grid, so that the rate at a level says nothing about its neighbours.
    """
    rng = np.random.default_rng(3)
    grid = np.arange(1.0, k + 1)
    hits = 0
    for _ in range(replications):
        scores = rng.uniform(0, k + 2, size=n + 1)
        chance = np.exp(-0.35 * grid)[:, None]
        table = (rng.random((k, n + 1)) < chance) & (scores > grid[:, None])
        row_of = {level: table[i] for i, level in enumerate(grid.tolist())}
        level = search(scores[:n], grid[::-1], row_of, alpha, n)
        if level <= k:
            hits += bool(row_of[level][n])
        else:
            hits += bool(scores[n] > level)
    return hits / replications


def region(alpha, replications):
    """Four standard errors above the level promised."""
    return alpha + 4 * np.sqrt(alpha * (1 - alpha) / replications)


def test_a_new_point_violates_at_most_as_promised():
    def search(scores, grid, row_of, alpha, n):
        allowed = n - int(np.ceil((n + 1) * (1 - alpha)))
        return level_of(scores, grid, row_of, allowed)

    rate = violation_rate(search)
    assert rate <= region(0.1, 4000)
    assert rate >= 0.02  # the promise is used, not undercut


def test_one_point_too_many_breaks_the_promise():
    """Negative control: a level that allows more violations is found out."""

    def search(scores, grid, row_of, alpha, n):
        allowed = n - int(np.ceil((n + 1) * (1 - 2 * alpha)))
        last = grid[0]
        for level in grid:  # and no envelope: the level alone is looked at
            if row_of[level][:n].sum() > allowed + 2:
                break
            last = level
        return last

    assert violation_rate(search) > region(0.1, 4000)


def test_learn_then_test_stops_at_the_first_failure():
    counts = {5.0: 0, 4.0: 2, 3.0: 3, 2.0: 1}
    assert pass_in_sequence(counts, lambda v: counts[v] <= 2) == 4.0
    assert pass_in_sequence(counts, lambda v: counts[v] <= 3) == 2.0
    assert pass_in_sequence([5.0], lambda v: False) == np.inf


def test_risk_control_by_hand():
    losses = {3.0: [0.0, 0.0, 0.0], 2.0: [0.4, 0.0, 0.0], 1.0: [0.0, 0.9, 0.3]}
    found = risk_level(losses, lambda v: np.array(losses[v]), alpha=0.5)
    # At 2: (0.4 + 1) / 4 = 0.35; at 1 the envelope is (0.4 + 0.9 + 0.3 + 1) / 4 = 0.65.
    assert found == 2.0
    assert risk_level(losses, lambda v: np.array(losses[v]), alpha=0.2) == np.inf
