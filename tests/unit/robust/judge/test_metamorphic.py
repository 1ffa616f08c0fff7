"""The same model in other words: same decisions, same verdicts, same budget.

Each case writes one model in another way: in other units, with a switch and a big M,
with a variable or rule that is best at zero, as one vector, in another order, with
rows that say nothing. What is decided, promised, counted and calibrated may not change.
"""

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl

N = 60
#: Of one step of the default grid of budgets.
STEP = 1.05


@dataclass
class Written:
    """A model as it was written, in given units.

    Attributes
    ----------
    goal, limits, keys : what RobustProblem takes
    variable : the decision that is compared
    X, outcomes : contexts, and for each key its outcomes
    size, money : units of the decision and of the objective
    budgets : for each key the budget at which decisions are compared
    """

    goal: Any
    limits: list[Any]
    keys: dict[Any, Any]
    variable: Any
    X: Any
    outcomes: dict[str, Any]
    size: float
    money: float
    budgets: dict[str, float]

    def problem(self):
        return sl.RobustProblem(self.goal, self.limits, self.keys)


def stock(unit=1.0):
    """Buy at least the demand; the spread is what costs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3 * N, 1))
    Y = unit * (10 + X + rng.normal(size=X.shape))
    d, s = sl.Uncertain(name="d"), cp.Variable(name="s")
    sets = sl.LossSet(lambda X: unit * (10 + X))
    limits = [d <= s, s >= 0, s <= 1000 * unit]
    return Written(
        cp.Minimize(s),
        limits,
        {d: sets},
        s,
        X,
        {"d": Y[:, 0]},
        unit,
        unit,
        {"d": 0.7 * unit**2},
    )


def returns(unit=1.0):
    """The worst-case return of a portfolio: an uncertain objective."""
    rng = np.random.default_rng(1)
    X = rng.uniform(1, 3, size=(3 * N, 3))
    Y = unit * (X + rng.normal(size=X.shape) * [0.3, 0.5, 1.0])
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    spread = unit * np.array([0.3, 0.5, 1.0])
    sets = sl.LossSet(lambda X: (unit * X, np.tile(spread, (len(X), 1))), "gaussian")
    limits = [cp.sum(w) == 1]
    goal, at = cp.Maximize(r @ w), {"r": 0.5}
    return Written(goal, limits, {r: sets}, w, X, {"r": Y}, 1, unit, at)


def loads(unit=1.0):
    """Two keys and two limits; shares shrink as the loads grow."""
    rng = np.random.default_rng(2)
    X = rng.uniform(1, 2, size=(3 * N, 2))
    A = unit * (X + 0.2 * rng.normal(size=X.shape))
    B = X[:, ::-1] + 0.2 * rng.normal(size=X.shape)
    a, b = sl.Uncertain(2, name="a"), sl.Uncertain(2, name="b")
    x = cp.Variable(2, nonneg=True, name="x")
    one = sl.LossSet(lambda X: unit * X).calibrate(X[2 * N :], A[2 * N :], alpha=0.2)
    other = sl.LossSet(lambda X: X[:, ::-1], "absolute").calibrate(
        X[2 * N :], B[2 * N :], alpha=0.2
    )
    limits = [a @ x <= 4 * unit, b @ x <= 3]
    outcomes, goal = {"a": A, "b": B}, cp.Maximize(x[0] + 2 * x[1])
    at = {"a": 0.02 * unit**2, "b": 0.1}
    return Written(goal, limits, {a: one, b: other}, x, X, outcomes, 1, 1, at)


def shipped(unit=1.0):
    """What is shipped is what is received: the demand holds it, by way of another."""
    rng = np.random.default_rng(3)
    X = rng.uniform(1, 2, size=(3 * N, 3))
    Y = X + 0.3 * rng.normal(size=X.shape)
    y = sl.Uncertain(3, name="y")
    ship = cp.Variable(3, nonneg=True, name="ship")
    receive = cp.Variable(3, nonneg=True, name="receive")
    limits = [ship == receive, cp.sum(receive) == 10 * unit]
    keys, at = {y: sl.LossSet(lambda X: X)}, {"y": 0.1}
    goal = cp.Minimize(y @ ship)
    return Written(goal, limits, keys, ship, X, {"y": Y}, unit, unit, at)


MODELS = {"stock": stock, "returns": returns, "loads": loads}


def outcome(written, rows):
    if len(written.outcomes) == 1:
        (values,) = written.outcomes.values()
        return values[rows]
    return {name: values[rows] for name, values in written.outcomes.items()}


def judged(written):
    """What is calibrated; and what is decided, promised and counted at a budget."""
    first, second = slice(0, N), slice(N, 2 * N)
    policy = written.problem().compile()
    policy.calibrate(written.X[first], outcome(written, first), alpha=0.2)
    budgets = np.atleast_1d(policy.budget_)
    names = [name.name() for name in written.keys]
    fixed = policy.at(written.budgets if len(names) > 1 else written.budgets[names[0]])
    decisions = fixed.decide(written.X[second])
    happened = fixed.evaluate(written.X[second], outcome(written, second))
    return {
        "status": decisions.status,
        "value": decisions.value(written.variable) / written.size,
        "objective": decisions.objective / written.money,
        "violated": happened.violated,
        "budget": {
            name: budget / written.budgets[name]
            for name, budget in zip(names, budgets, strict=True)
        },
    }


def assert_same(one, other):
    assert (one["status"] == "optimal").all()
    np.testing.assert_array_equal(one["status"], other["status"])
    np.testing.assert_allclose(one["objective"], other["objective"], rtol=1e-5)
    np.testing.assert_array_equal(one["violated"], other["violated"])
    assert 0 < one["violated"].sum() < N
    for name, budget in other["budget"].items():
        assert abs(np.log(one["budget"][name] / budget)) <= np.log(STEP) + 1e-9


@pytest.fixture(scope="module")
def plain():
    return {name: judged(model()) for name, model in MODELS.items()}


#: Of all powers of ten a few, and the rest in the slow suite.
FEW = (-8, -3, 5, 8)
UNITS = [
    pytest.param(k, marks=() if k in FEW else pytest.mark.slow)
    for k in range(-8, 9)
    if k
]


@pytest.mark.parametrize("power", UNITS)
@pytest.mark.parametrize("name", MODELS)
def test_units(plain, name, power):
    one = judged(MODELS[name](10.0**power))
    assert_same(one, plain[name])
    np.testing.assert_allclose(one["value"], plain[name]["value"], atol=1e-3)


def switched(M, **kind):
    """The demand is met, unless that is switched off; and it is not."""
    written = stock()
    (d,) = written.keys
    z = cp.Variable(name="z", **kind)
    written.limits[0] = d - written.variable <= M * (1 - z)
    written.limits += [z <= 1, z >= 1]
    return written


@pytest.mark.parametrize("M", [1e2, 1e4, 1e5, 1e6, 1e7])
def test_a_big_m_with_a_continuous_switch(plain, M):
    one = judged(switched(M))
    assert_same(one, plain["stock"])
    np.testing.assert_allclose(one["value"], plain["stock"]["value"], rtol=1e-5)


@pytest.mark.parametrize(
    "M",
    [
        pytest.param(1e2, marks=pytest.mark.slow),
        1e5,
        pytest.param(1e7, marks=pytest.mark.slow),
    ],
)
def test_a_big_m_with_a_whole_switch(M):
    """One by one, so on few contexts and a grid of few budgets."""
    rows, answers = 12, []
    for written, engine in ((switched(M, boolean=True), "auto"), (stock(), "cuts")):
        policy = written.problem().compile(engine=engine)
        X, y = written.X[::5], written.outcomes["d"][::5]
        tried = 0.7 * STEP ** np.arange(-10.0, 31.0, 4.0)
        policy.calibrate(X[:rows], y[:rows], alpha=0.2, grid=tried)
        X, y = X[rows:], y[rows:]
        decisions, happened = policy.decide(X), policy.evaluate(X, y)
        assert (decisions.status == "optimal").all()
        bought = decisions.value(written.variable)
        np.testing.assert_array_equal(happened.violated, y > bought * (1 + 1e-6))
        answers.append((policy.budget_, bought, happened.violated))
    (one, bought, violated), (other, wanted, counted) = answers
    assert one == pytest.approx(other)
    np.testing.assert_allclose(bought, wanted, rtol=1e-6)
    np.testing.assert_array_equal(violated, counted)


@pytest.mark.parametrize("M", [1e2, 1e6])
def test_a_constant_on_both_sides(plain, M):
    written = stock()
    (d,) = written.keys
    written.limits[0] = d - written.variable + M <= M
    assert_same(judged(written), plain["stock"])


def with_variable(written):
    """Something to buy on top that is too dear."""
    (d,) = written.keys
    more = cp.Variable(nonneg=True, name="more")
    written.limits[0] = d <= written.variable + more
    written.goal = cp.Minimize(written.variable + 3 * more)
    return written


def with_rule(written):
    """A rule that could answer to the outcome, at more than that saves."""
    (d,) = written.keys
    rule = sl.affine_rule(d, (), nonneg=True, name="rule")
    written.limits[0] = d <= written.variable + rule
    written.limits.append(rule <= 2.5 * written.size)
    written.goal = cp.Minimize(written.variable + 2.5 * rule)
    return written


@pytest.mark.parametrize("power", [-6, 0, 6])
@pytest.mark.parametrize("change", [with_variable, with_rule])
def test_what_is_best_at_zero(plain, change, power):
    assert_same(judged(change(stock(10.0**power))), plain["stock"])


def in_one_vector(written):
    (a, b), x = written.keys, written.variable
    rows = [1e6 * (a @ x), b @ x]
    written.limits = [cp.hstack(rows) <= [4e6, 3]]
    return written


def in_another_order(written):
    written.limits = written.limits[::-1]
    written.keys = dict(reversed(written.keys.items()))
    return written


def with_idle_rows(written):
    (a, b), x = written.keys, written.variable
    written.limits += [a @ x <= 9, cp.hstack([a @ x, b @ x]) <= [1e9, 3.0]]
    written.limits += [x <= 1e7, cp.sum(x) <= 1e4]
    return written


@pytest.mark.parametrize("change", [in_one_vector, in_another_order, with_idle_rows])
def test_rows_and_keys_in_other_words(plain, change):
    one = judged(change(loads()))
    assert_same(one, plain["loads"])
    np.testing.assert_allclose(one["value"], plain["loads"]["value"], atol=1e-4)


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_links_that_are_never_full(unit):
    """A bound far away says nothing of what a demand holds by way of another entry."""
    open_ended, full = judged(shipped(unit)), shipped(unit)
    full.limits.append(full.variable <= 1e8 * unit)
    assert_same(judged(full), open_ended)


def test_a_row_that_cancels_to_rounding_at_some_outcome():
    """(.1 + .2 - .3) is 5e-17, which holds no entry to anything."""

    def model(weights):
        written = shipped()
        wide, ones = sl.Uncertain(6, name="y"), np.ones((3 * N, 3))
        model = sl.LossSet(lambda X: np.hstack([X, ones[: len(X)]]))
        ship, extra = written.variable, cp.Variable(nonneg=True, name="extra")
        written.goal = cp.Minimize(wide[:3] @ ship)
        written.limits.append(extra + (weights @ wide[3:]) * cp.sum(ship) <= 20)
        written.keys = {wide: model}
        written.outcomes = {"y": np.hstack([written.outcomes["y"], ones])}
        return written

    exact = judged(model(np.array([1.0, 1.0, -2.0])))
    assert_same(judged(model(np.array([0.1, 0.2, -0.3]))), exact)


def test_components_in_another_order(plain):
    written = returns()
    order = np.array([2, 0, 1])
    spread = np.array([0.3, 0.5, 1.0])[order]
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    sets = sl.LossSet(lambda X: (X[:, order], np.tile(spread, (len(X), 1))), "gaussian")
    turned = Written(
        cp.Maximize(r @ w),
        [cp.sum(w) == 1],
        {r: sets},
        w,
        written.X,
        {"r": written.outcomes["r"][:, order]},
        1,
        1,
        written.budgets,
    )
    one = judged(turned)
    assert_same(one, plain["returns"])
    values = plain["returns"]["value"][:, order]
    np.testing.assert_allclose(one["value"], values, atol=1e-4)
