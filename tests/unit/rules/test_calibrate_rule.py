"""Anyone's rule: the level that the definition gives, and what a rule may do wrong."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import cvxpy as cp
import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import sublevel as sl
from sublevel.errors import (
    CannotWrite,
    InfiniteBudget,
    InvalidParameter,
    SolvesFailed,
)
from sublevel.guarantees import PAC, Marginal, Mondrian, Weighted

SRC = str(Path(sl.__file__).parents[1])


class Table:
    """A rule that violates where a table of (levels, points) says so: any behaviour.

    A context is its row number, a decision is (level, row).
    """

    def __init__(self, rng, n=80, k=9, rate=0.25, undecided=0.0):
        self.levels = np.sort(rng.choice(np.arange(1, 60), size=k, replace=False)) / 10
        fall = np.linspace(2 * rate, 0.1 * rate, k)[:, None]
        self.bad = rng.random((k, n)) < fall
        self.miss = np.where(self.bad, rng.uniform(0.01, 2, (k, n)), -1.0)
        self.none = rng.random((k, n)) < undecided
        self.X = np.column_stack([np.arange(n), rng.random(n), rng.integers(0, 2, n)])
        self.calls = 0

    def decide(self, x, level):
        self.calls += 1
        at = int(np.searchsorted(self.levels, level))
        return None if self.none[at, int(x[0])] else (at, int(x[0]))

    def violates(self, decision, y):
        assert decision[1] == int(y)
        return float(self.miss[decision])

    @property
    def broken(self):
        """What counts as a violation, shape (levels, points)."""
        return self.bad & ~self.none

    def calibrate(self, alpha, **more):
        return sl.calibrate_rule(
            self.decide,
            self.violates,
            self.X,
            self.X[:, 0],
            alpha,
            self.levels[::-1],
            **more,
        )

    def envelope(self):
        """By definition: the least level from which on, all the way up, all is kept."""
        scores = []
        for column in self.broken.T:
            last = max(np.flatnonzero(column), default=-1)
            scores.append([*self.levels, np.inf][last + 1])
        return np.array(scores)


def groups(X):
    return np.column_stack([X[:, 1] < 0.7, X[:, 1] > 0.3, X[:, 2] > 0])


@pytest.mark.filterwarnings("ignore::sublevel.errors.InfiniteBudget")
@pytest.mark.parametrize(
    "guarantee",
    [
        Marginal(),
        PAC(0.2),
        Mondrian(2),
        Mondrian(groups),
        Mondrian(groups, PAC(0.3), at_once=True),
        Weighted(lambda X: 0.2 + X[:, 1]),
    ],
    ids=lambda g: type(g).__name__,
)
def test_the_level_is_that_of_the_definition(guarantee):
    rng = np.random.default_rng(0)
    for _ in range(15):
        table = Table(rng, undecided=0.2)
        alpha = float(rng.choice([0.1, 0.2, 0.35]))
        rule = table.calibrate(alpha, guarantee=guarantee)
        by_hand = guarantee.calibrate(table.envelope(), alpha, table.X)
        np.testing.assert_array_equal(
            rule(table.X[:20]).levels, by_hand.at(table.X[:20], 20)
        )
        assert rule.certificate_.alpha == alpha


@pytest.mark.filterwarnings("ignore::sublevel.errors.InfiniteBudget")
def test_learn_then_test_risk_and_given_decided_by_hand():
    rng = np.random.default_rng(1)
    levels, finite = [], 0
    for _ in range(15):
        table = Table(rng, n=100, undecided=0.2)
        k = len(table.levels)
        tested = table.calibrate(0.2, delta=0.1, method="learn-then-test").level_
        allowed, reached = 100 - PAC(0.1).rank(100, 0.2), np.inf
        for at in range(k)[::-1]:
            if table.broken[at].sum() > allowed:
                break
            reached = table.levels[at]
        assert tested == reached
        risk = table.calibrate(0.3, method="risk").level_
        losses = np.where(table.broken, np.clip(table.miss, 0, 1), 0.0)
        worst = np.maximum.accumulate(losses[::-1])[::-1].sum(axis=1)
        fine = [t for t, sum_ in zip(table.levels, worst, strict=True) if sum_ <= 29.3]
        assert risk == min(fine, default=np.inf)
        given = table.calibrate(0.3, delta=0.2, given_decided=True).level_
        levels.append((given, tested))
        finite += np.isfinite([given, risk, tested]).all()
        passes = []
        for at in range(k):
            taken = int((~table.none[at]).sum())
            rank = PAC(0.2 / k).rank(taken, 0.3)
            passes.append(table.broken[at].sum() <= taken - rank)
        # As many starts as levels: the least level that passes is reached.
        assert given == min(table.levels[passes], default=np.inf)
    assert finite > 5


# ---- a policy as a rule --------------------------------------------------------------


def portfolio(rng):
    X = rng.normal(size=(120, 3))
    Y = X + rng.normal(size=(120, 3))
    sets = sl.LossSet(LinearRegression()).fit(X[:80], Y[:80])
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    return problem.compile(), X[80:], Y[80:], np.geomspace(0.05, 60, 8)


def bakery(rng):
    X = pd.DataFrame({"day": rng.normal(size=120), "sun": rng.normal(size=120)})
    Y = X["day"] + rng.normal(size=120)
    sets = sl.LossSet(LinearRegression()).fit(X[:80], Y[:80])
    d, s = sl.Uncertain(name="d"), cp.Variable(name="s")
    limits = [s >= d, s <= 2.0]
    policy = sl.RobustProblem(cp.Minimize(s), limits, {d: sets}).compile()
    return policy, X[80:], Y[80:], np.geomspace(0.05, 60, 8)


def triage(rng):
    X = rng.normal(size=(160, 2))
    labels = np.array(["low", "high"])[(X[:, 0] + rng.logistic(size=160) > 0) * 1]
    sets = sl.LossSet(LogisticRegression(), "cross_entropy").fit(X[:120], labels[:120])
    y, s = sl.Uncertain(2, name="y"), cp.Variable(2, name="s")
    problem = sl.RobustProblem(cp.Minimize(cp.sum(s)), [s >= y], {y: sets})
    return problem.compile(), X[120:], labels[120:], np.geomspace(0.1, 3, 6)


@pytest.mark.parametrize(
    "world", [portfolio, bakery, pytest.param(triage, marks=pytest.mark.slow)]
)
def test_a_policy_as_a_black_box_has_the_level_of_its_own_calibration(world):
    policy, X, Y, grid = world(np.random.default_rng(0))
    for asked in ({"delta": 0.4}, {}):
        own = policy.calibrate(X, Y, 0.2, grid=grid, **asked)
        assert np.isfinite(own.budget_)
        rule = sl.calibrate_rule(*policy.as_rule(), X, Y, 0.2, grid, **asked)
        assert rule.level_ == own.budget_
    assert grid.min() < rule.level_ < grid.max()
    decisions = policy.decide(X)
    np.testing.assert_array_equal(rule(X).decided, decisions.decided)
    for k in np.flatnonzero(decisions.decided)[:3]:
        value = rule(X)[k].decisions.objective
        np.testing.assert_allclose(value, decisions.objective[[k]], rtol=1e-6)


# ---- what a rule may do --------------------------------------------------------------


def margin(x, level):
    return x + level


def short(stock, demand):
    return demand > stock


def demands(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(5, 10, size=n)
    return X, X + rng.normal(size=n)


LEVELS = np.linspace(0, 4, 41)


def test_a_rule_that_fails_in_one_context_goes_on():
    X, Y = demands()
    worst = int(np.argmin(Y - X))  # would never violate

    def stumbling(x, level):
        if x == X[worst]:
            raise RuntimeError("no licence")
        return x + level

    fine = np.linspace(0, 4, 401)
    plain = sl.calibrate_rule(margin, short, X, Y, 0.1, fine)
    with pytest.warns(SolvesFailed, match=r"count as violations.*no licence"):
        rule = sl.calibrate_rule(stumbling, short, X, Y, 0.1, fine)
    assert rule.level_ > plain.level_  # a failure is no decision kept
    decisions = rule([X[worst], 6.0])
    assert decisions.status.tolist() == ["failed", "decided"]
    assert decisions[0] is None
    assert "no licence" in decisions.errors[0]
    seen = rule.evaluate(X, Y)
    assert seen.violated[worst]
    assert not seen.decided[worst]


def test_a_rule_that_fails_everywhere_is_an_error():
    X, Y = demands()
    with pytest.raises(InvalidParameter, match=r"failed at every context.*argument"):
        sl.calibrate_rule(lambda x: x, short, X, Y, 0.1, LEVELS)


def test_no_decision_is_kept_and_the_fallback_counts():
    X, Y = demands(200)

    def small(x, level):
        return x + level if x < 8 else None

    kept = sl.calibrate_rule(small, short, X, Y, 0.1, LEVELS)
    ample = sl.calibrate_rule(small, short, X, Y, 0.1, LEVELS, fallback=lambda x: 2 * x)
    by_hand = sl.calibrate_rule(
        lambda x, level: small(x, level) or 2 * x, short, X, Y, 0.1, LEVELS
    )
    assert kept.level_ == ample.level_ == by_hand.level_
    assert "takes no decision keeps its promise" in " ".join(
        str(kept.certificate_).split()
    )
    assert kept([9.0]).status.tolist() == ["no_decision"]
    assert list(ample([9.0, 7.0])) == [18.0, 7.0 + ample.level_]
    assert ample([9.0]).status.tolist() == ["fallback"]
    with pytest.warns(InfiniteBudget, match="largest level"):
        tight = sl.calibrate_rule(small, short, X, Y, 0.1, LEVELS, fallback=7.0)
    assert np.isinf(tight.level_)
    rare = sl.calibrate_rule(small, short, X, Y, 0.1, LEVELS, fallback=10.0)
    assert kept.level_ < rare.level_ < np.inf


def test_where_nothing_can_be_certified():
    X, Y = demands()
    with pytest.warns(InfiniteBudget, match="largest level.*Give larger levels"):
        rule = sl.calibrate_rule(margin, short, X, Y, 0.1, [0.0, 0.1], fallback=3.0)
    assert np.isinf(rule.level_)
    assert rule.certificate_.alpha == 1.0  # of the fallback nothing is promised
    assert list(rule([5.0])) == [3.0]
    with pytest.warns(InfiniteBudget, match="at least 9 calibration points"):
        rule = sl.calibrate_rule(margin, short, X[:5], Y[:5], 0.1, LEVELS)
    assert rule([5.0]).status.tolist() == ["no_decision"]
    assert rule.points.memory.looks == {}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"decide": 3}, r"decide=...\) must be a function, got 3"),
        ({"violates": None}, "violates=...\\) must be a function"),
        ({"cost": 1.0}, "cost=...\\) must be a function"),
        ({"X": [1.0]}, "as many rows, and one at least, got 1 and 60"),
        ({"X": [], "Y": []}, "got 0 and 0"),
        ({"alpha": 1.5}, "alpha=...\\) must lie strictly between 0 and 1"),
        ({"levels": []}, "levels=...\\) must be a non-empty list"),
        ({"levels": [1.0, np.nan]}, "levels=...\\) must be a non-empty list of finite"),
        ({"levels": "all"}, "levels=...\\) must be numeric"),
        ({"delta": 2.0}, "delta=...\\) must lie"),
        ({"method": "magic"}, "method=...\\) must be one of"),
        ({"guarantee": "magic"}, "magic"),
        ({"guarantee": Mondrian(0), "fallback": 1.0}, "'marginal' and 'pac' only"),
        ({"max_calls": 0}, "max_calls=...\\) must be a whole number of at least 1"),
        ({"max_seconds": -1}, "max_seconds=...\\) must be a positive number"),
        ({"n_jobs": 0}, "n_jobs=... must be a whole number other than 0"),
        ({"progress": 1}, "calibrate_rule\\(progress=...\\) must be True or False"),
        ({"maximise": "yes"}, "maximise=...\\) must be True or False"),
        ({"resume": 3}, "resume=...\\) must be the path of a file"),
        ({"resume": "/nowhere/at/all"}, "a file in a folder that exists"),
        ({"violates": lambda d, y: np.array([True, False])}, "Say .any\\(\\) or .max"),
        ({"violates": lambda d, y: np.nan}, "True, False, or one number.*got nan"),
        ({"violates": lambda d, y: "yes"}, "True, False, or one number"),
    ],
)
def test_what_is_refused(change, message):
    X, Y = demands()
    given = {"decide": margin, "violates": short, "X": X, "Y": Y, "levels": LEVELS}
    with pytest.raises(InvalidParameter, match=message):
        sl.calibrate_rule(**given | change)


def test_frames_out_of_order_are_refused():
    X, Y = (pd.Series(values) for values in demands())
    with pytest.raises(InvalidParameter, match="rows in the order of X"):
        sl.calibrate_rule(margin, short, X.to_frame(), Y[::-1], 0.1, LEVELS)


def test_contexts_and_outcomes_of_any_kind():
    X, Y = demands()
    level = sl.calibrate_rule(margin, short, X, Y, 0.1, LEVELS).level_
    frame = pd.DataFrame({"load": X, "kind": "a"})
    both = {"demand": Y, "price": np.ones(len(Y))}
    cases = [
        (lambda x, t: x["load"] + t, short, frame, pd.Series(Y)),
        (lambda x, t: x["load"] + t, short, [{"load": x} for x in X], list(Y)),
        (margin, lambda s, y: y["demand"] > s, X, both),
        (lambda x, t: x + t, lambda s, y: float(y - s), X, Y),
        (lambda x, t: np.array([x + t]), lambda s, y: y > s, X, Y),
    ]
    for decide, violates, contexts, outcomes in cases:
        rule = sl.calibrate_rule(decide, violates, contexts, outcomes, 0.1, LEVELS)
        assert rule.level_ == level
        assert len(rule(contexts)) == len(X)


# ---- workers, progress, limits, and a kill -------------------------------------------


@pytest.mark.parametrize(
    "backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)]
)
def test_workers_change_nothing(backend):
    X, Y = demands()
    alone = sl.calibrate_rule(margin, short, X, Y, 0.1, LEVELS[::4])
    with joblib.parallel_config(backend=backend):
        shared = sl.calibrate_rule(margin, short, X, Y, 0.1, LEVELS[::4], n_jobs=2)
    assert shared.level_ == alone.level_
    assert list(shared(X, n_jobs=2)) == list(alone(X))


def test_progress_is_shown_if_asked_for(capsys):
    X, Y = demands()
    sl.calibrate_rule(margin, short, X, Y, 0.1, LEVELS, progress=True)
    assert "/2460 decisions" in capsys.readouterr().err
    sl.calibrate_rule(margin, short, X, Y, 0.1, LEVELS)
    assert capsys.readouterr().err == ""


@pytest.mark.filterwarnings("ignore::sublevel.errors.InfiniteBudget")
@pytest.mark.parametrize("guarantee", [Marginal(), PAC(0.2), Mondrian(groups)])
@pytest.mark.parametrize("method", ["envelope", "learn-then-test", "risk"])
def test_a_search_that_is_stopped_has_looked_at_higher_levels(guarantee, method):
    if (method == "risk" and guarantee != Marginal()) or (
        method == "learn-then-test" and isinstance(guarantee, Mondrian)
    ):
        return
    table = Table(np.random.default_rng(2), rate=0.15)
    asked = {"guarantee": guarantee, "method": method}
    full = table.calibrate(0.3, **asked)
    at = full(table.X).levels
    reached = []
    for most in range(40, 800, 80):
        table.calls = 0
        rule = table.calibrate(0.3, max_calls=most, **asked)
        levels = rule(table.X[:0]).levels if False else rule.calibration.at(table.X, 80)
        assert (levels >= at).all()
        stopped = "stopped by max_calls" in rule.certificate_.note
        assert stopped or (levels == at).all()
        reached.append(levels.max())
        assert len(rule.points.memory.looks) <= most
    assert reached[0] == np.inf
    assert reached[-1] == at.max()
    assert (np.diff(reached) <= 0).all()


def test_seconds_are_limited_in_the_middle_of_a_level():
    X, Y = demands()

    def slow(x, level):
        time.sleep(0.002)
        return x + level

    start = time.monotonic()
    rule = sl.calibrate_rule(slow, short, X, Y, 0.1, LEVELS, max_seconds=0.3)
    assert time.monotonic() - start < 2
    assert "max_seconds=0.3" in rule.certificate_.note
    assert sl.calibrate_rule(margin, short, X, Y, 0.1, LEVELS).level_ < rule.level_


def test_a_calibration_goes_on_where_it_was(tmp_path):
    X, Y = demands()
    calls = []

    def counted(x, level):
        calls.append(level)
        return x + level

    full = sl.calibrate_rule(counted, short, X, Y, 0.1, LEVELS)
    every, path = len(calls), tmp_path / "kept"
    calls.clear()
    first = sl.calibrate_rule(
        counted, short, X, Y, 0.1, LEVELS, resume=path, max_calls=every // 2
    )
    half = len(calls)
    assert first.level_ > full.level_
    second = sl.calibrate_rule(counted, short, X, Y, 0.1, LEVELS, resume=path)
    assert second.level_ == full.level_
    assert second.certificate_ == full.certificate_
    assert len(calls) == every + 5  # five are asked again, to see that all is the same
    third = sl.calibrate_rule(counted, short, X, Y, 0.1, LEVELS, resume=path)
    assert len(calls) == every + 10
    assert third.level_ == full.level_
    assert half <= every // 2
    # Another question about the same decisions needs few more.
    sl.calibrate_rule(counted, short, X, Y, 0.05, LEVELS, resume=str(path))
    assert len(calls) == every + 15
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]


KILLED = """
import os, signal, sys
import numpy as np
import sublevel as sl
calls = 0
def decide(x, level):
    global calls
    calls += 1
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return x + level
def violates(stock, demand):
    return demand > stock
rng = np.random.default_rng(0)
X = rng.uniform(5, 10, size=60)
Y = X + rng.normal(size=60)
rule = sl.calibrate_rule(decide, violates, X, Y, 0.1, np.linspace(0, 4, 41),
                         resume=sys.argv[1])
print(calls, rule.level_)
"""


def test_after_a_kill_decisions_are_kept(tmp_path):
    script, path = tmp_path / "script.py", tmp_path / "kept.npz"
    script.write_text(KILLED)
    environment = os.environ | {"PYTHONPATH": SRC}

    def run(path, after):
        command = [sys.executable, str(script), str(path), str(after)]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    assert run(path, 700).returncode == -signal.SIGKILL
    calls, level = run(path, -1).stdout.split()
    whole = sl.calibrate_rule(margin, short, *demands(), 0.1, LEVELS)
    every = len(whole.points.memory.looks)
    assert float(level) == whole.level_
    # What was looked at up to the last level before the kill is not looked at again.
    assert int(calls) <= every - 700 + 60 + 5
    assert int(calls) < every


def test_the_file_of_another_calibration_is_refused(tmp_path):
    X, Y = demands()
    path = tmp_path / "kept"

    def run(decide=margin, violates=short, X=X, Y=Y, levels=LEVELS, **more):
        return sl.calibrate_rule(
            decide, violates, X, Y, 0.1, levels, resume=path, **more
        )

    run()
    for change in (
        {"X": X + 1e-9},
        {"Y": Y[::-1]},
        {"levels": LEVELS[:-1]},
        {"decide": lambda x, level: x + 2 * level},
        {"violates": lambda stock, demand: demand >= stock},
        {"fallback": 3.0},
    ):
        with pytest.raises(InvalidParameter, match="file of another calibration"):
            run(**change)
    run()
    # The same code that reads something else.
    shift = [0.0]

    def reading(x, level):
        return x + level + shift[0]

    path = tmp_path / "other"
    run(reading, violates=lambda stock, demand: float(demand - stock))
    shift[0] = 0.5
    with pytest.raises(InvalidParameter, match="must be deterministic"):
        run(reading, violates=lambda stock, demand: float(demand - stock))


def scaled(factor):
    return lambda x, level: x + factor * level


class Scaled:
    """A rule that is an object, and counts."""

    def __init__(self, factor):
        self.factor, self.calls = factor, 0

    def __call__(self, x, level):
        self.calls += 1
        return x + self.factor * level

    def decide(self, x, level):
        return self(x, level)


def defaulting(factor):
    def decide(x, level, factor=factor):
        return x + factor * level

    return decide


def by_object(factor):
    return Scaled(factor).decide


def by_partial(factor):
    return partial(weigh, factor)


def weigh(factor, x, level):
    return x + factor * level


def by_array(factor):
    weights = np.array([factor])
    return lambda x, level: x + weights[0] * level


def by_function(factor):
    inner = scaled(factor)
    return lambda x, level: inner(x, level)


@pytest.mark.parametrize(
    "make", [scaled, Scaled, defaulting, by_object, by_partial, by_array, by_function]
)
def test_numbers_that_the_code_reads_belong_to_it(tmp_path, make):
    X, Y = demands()
    path = tmp_path / "kept"

    def run(factor):
        made = make(factor)
        return sl.calibrate_rule(made, short, X, Y, 0.1, LEVELS, resume=path).level_

    assert run(1.0) == run(1.0)
    with pytest.raises(InvalidParameter, match="file of another calibration"):
        run(0.98)


def test_a_policy_is_resumed(tmp_path):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 1))
    Y = X[:, 0] + rng.normal(size=90)
    sets = sl.LossSet(LinearRegression().fit(X[:50], Y[:50]), "absolute")
    d, stock = sl.Uncertain(1), cp.Variable(1)
    problem = sl.RobustProblem(cp.Minimize(cp.sum(stock)), [stock >= d], {d: sets})
    rule, grid = problem.compile().as_rule(), [0.5, 1.0, 2.0, 4.0]
    asked = (X[50:], Y[50:], 0.1, grid)
    kept = sl.calibrate_rule(*rule, *asked, resume=tmp_path / "kept")
    assert kept.level_ == sl.calibrate_rule(*rule, *asked).level_
    again = sl.calibrate_rule(*rule, *asked, resume=tmp_path / "kept")
    assert again.level_ == kept.level_


def test_a_rule_that_is_a_little_less_careful_is_seen_to_be(tmp_path):
    # Nothing but a list tells the two apart: the decisions looked at again must.
    X, Y = demands()
    factor, path = [1.0], tmp_path / "kept"

    def reading(x, level):
        return x + factor[0] * level

    sl.calibrate_rule(reading, short, X, Y, 0.1, LEVELS, resume=path)
    factor[0] = 0.9
    with pytest.raises(InvalidParameter, match="must be deterministic"):
        sl.calibrate_rule(reading, short, X, Y, 0.1, LEVELS, resume=path)


# ---- code that writes to what it is given, and nan -----------------------------------


def rows_of(kind, X):
    if kind == "array":
        return X[:, None].copy()
    if kind == "frame":
        return pd.DataFrame({0: X})
    if kind == "dicts":
        return [{0: x} for x in X.tolist()]
    if kind == "nested":
        return [({0: x}, 1)[0] for x in X.tolist()]
    return [[x] for x in X.tolist()]


@pytest.mark.parametrize("kind", ["array", "frame", "dicts", "nested", "lists"])
def test_a_rule_may_write_to_its_row(kind):
    X, Y = demands()

    def writing(x, level):
        x[0] += level
        return x[0]

    def spoiling(stock, demand):
        worse = demand[0] > stock
        demand[0] = -np.inf
        return worse

    rows, outcomes = rows_of(kind, X), rows_of(kind, Y)
    rule = sl.calibrate_rule(writing, spoiling, rows, outcomes, 0.1, LEVELS)
    assert rule.level_ == sl.calibrate_rule(margin, short, X, Y, 0.1, LEVELS).level_
    evaluated = rule.evaluate(rows, outcomes)
    assert evaluated.violation == rule.evaluate(rows, outcomes).violation


def test_each_context_has_a_fallback_of_its_own():
    def using_up(stock, demand):
        left = stock[0] - demand
        stock[0] = -np.inf
        return left < 0

    X, Y = demands()
    fallback = np.array([99.0])
    rule = sl.calibrate_rule(
        lambda x, level: None, using_up, X, Y, 0.1, LEVELS, fallback=fallback
    )
    assert rule.level_ == LEVELS[0]
    assert fallback.tolist() == [99.0]


@pytest.mark.parametrize(
    "wrap",
    [np.asarray, list, pd.Series, lambda Y: {"a": Y}, lambda Y: [[y] for y in Y]],
)
def test_outcomes_that_are_nan_are_refused(wrap):
    # Comparisons with nan are false: each would count as kept.
    X, Y = demands()
    keep = sl.calibrate_rule(
        lambda x, t: x, lambda d, y: False, X, wrap(Y), 0.1, LEVELS
    )
    Y = np.where(np.arange(len(Y)) == 3, np.nan, Y)
    with pytest.raises(InvalidParameter, match="must have no nan"):
        sl.calibrate_rule(margin, lambda d, y: False, X, wrap(Y), 0.1, LEVELS)
    with pytest.raises(InvalidParameter, match=r"evaluate\(Y\) must have no nan"):
        keep.evaluate(X, wrap(Y))


@pytest.mark.parametrize("what", [np.nan, np.array([1.0, np.nan]), {"buy": [np.nan]}])
def test_a_decision_that_is_nan_has_failed(what):
    X, Y = demands()

    def failing(x, level):
        return what if x > 9 else x + level

    def violates(decision, y):
        return bool(np.any(y > np.nan)) if decision is what else y > decision

    with pytest.warns(SolvesFailed, match="nan"), pytest.warns(InfiniteBudget):
        rule = sl.calibrate_rule(failing, violates, X, Y, 0.1, LEVELS)
    assert rule.at(4.0)([9.5, 5.0]).status.tolist() == ["failed", "decided"]


def test_parts_of_a_dict_have_as_many_rows():
    X, Y = demands()
    parts = {"load": X, "price": X[:-1]}
    with pytest.raises(InvalidParameter, match="as many rows under every name"):
        sl.calibrate_rule(margin, short, parts, Y[:-1], 0.1, LEVELS)
    tables = {"load": pd.Series(X), "price": pd.Series(X)[::-1]}
    with pytest.raises(InvalidParameter, match="in the order of X"):
        sl.calibrate_rule(margin, short, tables, Y, 0.1, LEVELS)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04"])
def test_a_file_that_is_none_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(InvalidParameter, match="cannot be read"):
        sl.calibrate_rule(margin, short, *demands(), 0.1, LEVELS, resume=path)
    assert path.read_bytes() == content


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_takes_no_files(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(CannotWrite, match="resume"):
        sl.calibrate_rule(margin, short, *demands(), 0.1, LEVELS, resume=tmp_path / "a")
    tmp_path.chmod(0o700)


# ---- looking back --------------------------------------------------------------------


def test_the_frontier_has_the_levels_of_calibrations():
    X, Y = demands(300)
    rule = sl.calibrate_rule(
        margin, short, X[:200], Y[:200], 0.1, LEVELS, cost=lambda s, y: s
    )
    alphas = [0.001, 0.05, 0.1, 0.3]
    table = rule.frontier(X[200:], Y[200:], alphas, delta=None)
    levels = [np.inf] + [
        sl.calibrate_rule(margin, short, X[:200], Y[:200], a, LEVELS).level_
        for a in alphas[1:]
    ]
    np.testing.assert_array_equal(table["level"], levels)
    for level, rate, cost in table[["level", "violation", "realised"]].to_numpy()[1:]:
        assert rate == np.mean(Y[200:] > X[200:] + level)
        np.testing.assert_allclose(cost, np.mean(X[200:] + level))
    assert table["decided"][0] == 0  # at no certified level nothing is decided
    assert list(rule.frontier(alphas=alphas)) == ["alpha", "bound", "level"]
    with pytest.raises(InvalidParameter, match="alphas"):
        rule.frontier(alphas=[2.0])


def test_a_rule_beside_policies():
    policy, X, Y, _ = bakery(np.random.default_rng(3))
    policy.calibrate(X[:20], Y[:20], 0.2)
    rule = sl.calibrate_rule(
        lambda x, level: x["day"] + level,
        lambda stock, demand: demand > stock,
        X[:20],
        Y[:20],
        0.2,
        LEVELS,
        cost=lambda stock, demand: stock,
    )
    seen = sl.evaluate({"policy": policy, "margin": rule}, X[20:], Y[20:])
    table = seen.to_pandas()
    shortage = np.mean(Y[20:] > X["day"][20:] + rule.level_)
    assert table.loc["margin", "violation"] == shortage
    cost = np.mean(X["day"][20:] + rule.level_)
    np.testing.assert_allclose(table.loc["margin", "realised"], cost)
    assert np.isfinite(seen.paired("policy").loc["margin", "difference"])
    reward = sl.calibrate_rule(
        margin, short, *demands(), 0.1, LEVELS, cost=margin, maximise=True
    )
    with pytest.raises(InvalidParameter, match="all minimise or all maximise"):
        sl.evaluate({"rule": reward, "other": rule}, *demands())


def test_at_a_level_of_ones_own_nothing_is_promised():
    rule = sl.calibrate_rule(margin, short, *demands(), 0.1, LEVELS)
    given = rule.at(2.0)
    assert list(given([1.0])) == [3.0]
    assert given.certificate_.heuristic
    assert given.certificate_.alpha == 1.0
    with pytest.raises(InvalidParameter, match="level"):
        rule.at("high")


def test_what_certificates_say():
    certificate = sl.calibrate_rule(margin, short, *demands(), 0.1, LEVELS).certificate_
    text = " ".join(str(certificate).split())
    assert "the decision of the rule violates" in text
    assert "among certificates issued the rate may be higher" in text
    assert "constraint" not in text
    assert sl.guarantees.Certificate.from_dict(certificate.to_dict()) == certificate


@pytest.mark.parametrize("guarantee", ["marginal", sl.guarantees.UnitAverage("days")])
def test_rows_with_times_say_what_is_assumed_of_later_ones(guarantee):
    rng = np.random.default_rng(0)
    times = pd.date_range("2024-03-01", periods=240, freq="h")
    X = pd.DataFrame({"load": rng.uniform(5, 10, size=240)}, index=times)
    Y = X["load"].to_numpy() + rng.normal(size=240)

    def rule(X):
        return sl.calibrate_rule(
            lambda x, margin: float(np.ravel(x)[0]) + margin,
            lambda reserve, y: y > reserve,
            X,
            Y,
            0.2,
            levels=np.linspace(0, 6, 25),
            guarantee=guarantee,
        )

    timed = rule(X)
    last = timed.certificate_.assumptions[-1]
    assert "2024-03-01" in last
    assert "2024-03-10" in last
    assert "later ones are assumed to be like these" in last
    if guarantee == "marginal":
        # Rows without times have nothing to say of them, and the same level.
        plain = rule(X.reset_index(drop=True))
        assert plain.level_ == timed.level_
        assert plain.certificate_.assumptions == timed.certificate_.assumptions[:-1]
        later = timed.at_alpha(0.2, alphas=(0.05, 0.2)).certificate_
        assert "no confidence is left" in later.assumptions[-1]


def test_an_evaluation_of_a_rule_mentions_no_certified_cost():
    X, Y = np.arange(1.0, 41.0), np.arange(1.0, 41.0)
    rule = sl.calibrate_rule(
        lambda x, level: x + level, lambda a, b: b > a, X, Y, 0.1, [0.0, 1.0]
    )
    text = repr(rule.evaluate(X, Y))
    assert "violation 0 [0, " in text
    assert "nan" not in text
