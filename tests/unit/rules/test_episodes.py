"""Whole episodes: the loop by hand, and the level of the definition."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

import sublevel as sl
from sublevel.errors import InvalidParameter, SolvesFailed
from sublevel.guarantees import Marginal, Mondrian

LEVELS = np.linspace(0, 4, 21)


def any_above(level, episode):
    return (episode > level).any()


def test_the_loop_by_hand():
    seen = []

    def decide(x, level):
        seen.append((x["load"], level))
        return None if x["load"] > 3 else x["load"] + level

    run = sl.run_episode(
        decide,
        lambda decision, y: y - decision,
        pd.DataFrame({"load": [1.0, 2.0, 4.0, 3.0]}),
        [1.5, 2.6, 9.0, 3.0],
        0.5,
        state=10.0,
        context=lambda x, state: x if state > 0 else None,
        advance=lambda state, decision, y: state - (decision or 0.0),
        forbidden=lambda state: 5 - state,
    )
    assert seen == [(1.0, 0.5), (2.0, 0.5), (4.0, 0.5), (3.0, 0.5)]
    assert run.decisions == (1.5, 2.5, None, 3.5)
    assert run.states == (10.0, 8.5, 6.0, 6.0, 2.5)
    # The second decision is short by 0.1; the last state is below five.
    assert run.broken.tolist() == [False, True, False, True]
    assert run.status.tolist() == ["decided", "decided", "no_decision", "decided"]
    assert run.violated
    assert repr(run) == "EpisodeRun(4 steps, 2 violated)"


def test_without_a_state_the_rule_sees_the_row_and_with_one_the_pair():
    def shown(x, level):
        seen.append(x)
        return level

    seen = []
    sl.run_episode(shown, None, [1.0, 2.0], [0.0, 0.0], 1.0)
    assert seen == [1.0, 2.0]
    seen = []
    run = sl.run_episode(shown, None, [1.0, 2.0], [0.0, 0.0], 1.0, state=0.0)
    assert seen == [(1.0, 0.0), (2.0, 0.0)]
    assert not run.violated


@pytest.mark.parametrize(
    "change, message",
    [
        ({"decide": 1}, "decide=...\\) must be a function"),
        ({"violates": 1}, "violates=...\\) must be a function"),
        ({"advance": 1}, "advance=...\\) must be a function"),
        ({"Y": [1.0]}, "as many rows"),
        ({"violates": lambda d, y: [1, 2]}, "True, False, or one number"),
    ],
)
def test_what_the_loop_refuses(change, message):
    given = {"decide": lambda x, t: t, "violates": None, "X": [1.0, 2.0]}
    given |= {"Y": [1.0, 2.0], "level": 1.0}
    with pytest.raises(InvalidParameter, match=message):
        sl.run_episode(**given | change)


def test_the_level_is_that_of_the_worst_step():
    rng = np.random.default_rng(0)
    days = rng.normal(size=(99, 24))
    rule = sl.calibrate_episodes(any_above, days, 0.1, LEVELS)
    worst = Marginal().calibrate(days.max(axis=1), 0.1).budget
    assert rule.level_ == LEVELS[worst <= LEVELS].min()
    assert rule(days[:3]).levels.tolist() == [rule.level_] * 3
    seen = rule.evaluate(days, list(days))
    assert seen.violation == np.mean(days.max(axis=1) > rule.level_)


def test_the_certificate_speaks_of_any_violation_in_an_episode():
    days = np.random.default_rng(1).normal(size=(99, 24))
    certificate = sl.calibrate_episodes(any_above, days, 0.1, LEVELS).certificate_
    text = " ".join(str(certificate).split())
    assert "any violation in an episode" in text
    assert "calibration episodes and the new ones, not the steps" in " ".join(
        text.split()
    )
    sure = sl.calibrate_episodes(any_above, days, 0.1, LEVELS, delta=0.1).certificate_
    assert sure.confidence == 0.9
    assert "any violation in an episode" in sure.event


def test_groups_of_days():
    rng = np.random.default_rng(2)
    season = rng.integers(0, 2, size=200)
    days = rng.normal(size=(200, 6)) * (1 + season[:, None]) / 2
    X = season[:, None]
    rule = sl.calibrate_episodes(
        any_above, days, 0.1, LEVELS, X=X, guarantee=Mondrian(0)
    )
    for group in (0, 1):
        alone = sl.calibrate_episodes(any_above, days[season == group], 0.1, LEVELS)
        assert rule([[group]]).levels.tolist() == [alone.level_]
    assert rule([[0]])[0] < rule([[1]])[0]
    with pytest.raises(InvalidParameter, match="as many rows"):
        sl.calibrate_episodes(any_above, days, 0.1, LEVELS, X=X[1:])


def test_a_loop_that_breaks_is_a_violation():
    days = [[0.0, 1.0 + (day == 3)] for day in range(30)]

    def loop(level, day):
        if day == days[3]:
            raise RuntimeError("lost the feed")
        return max(day) > level

    with pytest.warns(SolvesFailed, match="lost the feed"):
        rule = sl.calibrate_episodes(loop, days, 0.1, LEVELS)
    assert rule.level_ == 1.0


def test_an_episode_goes_on_after_a_kill(tmp_path):
    days, path, calls = (
        np.random.default_rng(3).normal(size=(40, 6)),
        tmp_path / "k",
        [],
    )

    def loop(level, day):
        calls.append(level)
        return (day > level).any()

    first = sl.calibrate_episodes(loop, days, 0.1, LEVELS, resume=path)
    every = len(calls)
    assert sl.calibrate_episodes(loop, days, 0.1, LEVELS, resume=path).level_ == (
        first.level_
    )
    assert len(calls) == every + 5


def test_a_policy_in_the_loop_does_what_its_closed_form_does():
    """Stock above the worst demand: forecast + sqrt(level) - charge is bought."""
    demand, bought = sl.Uncertain(name="d"), cp.Variable(nonneg=True, name="bought")
    charge = cp.Parameter(name="charge")
    problem = sl.RobustProblem(
        cp.Minimize(bought),
        [charge + bought >= demand],
        {demand: sl.LossSet(lambda X: X)},
    )
    decide, violates = problem.compile().as_rule()

    def robust(seen, level):
        forecast, charge.value = seen
        return decide([forecast], level)

    rng = np.random.default_rng(4)
    X = rng.uniform(3, 5, size=8)
    Y = X + rng.normal(size=8)
    run = sl.run_episode(
        robust,
        violates,
        X,
        Y,
        0.25,
        state=1.0,
        advance=lambda left, step, y: max(left + step.value(bought) - y, 0.0),
    )
    state = 1.0
    for step, (x, y) in enumerate(zip(X, Y, strict=True)):
        buys = max(x + 0.5 - state, 0.0)
        np.testing.assert_allclose(run.decisions[step].value(bought), buys, atol=1e-6)
        assert run.broken[step] == (y > state + buys)
        state = max(state + buys - y, 0.0)
    assert 0 < run.broken.sum() < 8


def test_an_episode_leaves_its_start_alone():
    # Otherwise the next one would begin where this one ended.
    def advance(charge, bought, demand):
        charge -= demand
        return charge

    start = np.array([5.0])
    run = sl.run_episode(
        lambda x, level: level,
        None,
        [1.0] * 3,
        [1.0] * 3,
        0.0,
        state=start,
        advance=advance,
    )
    assert start.tolist() == [5.0]
    assert [state.tolist() for state in run.states] == [[5.0], [4.0], [3.0], [2.0]]


def test_a_step_whose_outcome_is_nan_is_refused_and_an_episode_may_have_nan():
    with pytest.raises(InvalidParameter, match="must have no nan"):
        sl.run_episode(lambda x, t: t, lambda d, y: y > d, [1.0], [np.nan], 0.0)
    days = np.where(np.arange(30)[:, None] == 0, np.nan, np.ones((30, 4)))
    rule = sl.calibrate_episodes(
        lambda level, day: bool(np.nansum(day) > level), days, 0.1, [3.0, 5.0]
    )
    assert rule.level_ == 5.0
