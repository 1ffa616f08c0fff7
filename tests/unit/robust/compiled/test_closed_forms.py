"""Closed forms: the same values as Clarabel, and never a wrong one."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.conic.canonical import cone_program
from sublevel.conic.forms import ClosedForm, closed_form, form_of
from sublevel.conic.kkt import Conditions
from sublevel.conic.program import fill
from sublevel.conic.solver import INFEASIBLE, OPTIMAL, UNBOUNDED, Clarabel

from .given import calibrated, contexts, portfolio

CONTEXTS = 160


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def penalty(kind, scale, x):
    """The worst case over a set around 0, and none."""
    if kind == "ellipsoid":
        return cp.norm(cp.multiply(scale, x))
    if kind == "l1":
        return cp.norm(cp.multiply(scale, x), "inf")
    return scale @ cp.abs(x) if kind == "box" else 0


def region(kind, x, level, rng):
    """Constraints of a region of a kind."""
    n = x.size
    upper, slopes = rng.uniform(0.1, 2.5 / n + 0.2, n), rng.uniform(0.2, 2, n)
    return {
        "simplex": [x >= 0, cp.sum(x) == level],
        "budget": [x >= 0, x <= upper, cp.sum(x) == level],
        "at most": [x >= 0, x <= upper, cp.sum(x) <= level],
        "box": [x >= 0, x <= upper],
        "signed box": [x >= -upper, x <= 2 * upper],
        "signed budget": [x >= -upper, x <= upper, cp.sum(x) == level - 0.7],
        "scaled": [x >= 0, x <= upper, slopes @ x <= level],
        "no upper ends": [x >= 0, cp.sum(x) <= level],
        "bounded twice": [x >= -1, x >= 0, x <= upper, x <= upper + 0.1]
        + [slopes @ x == level],
    }[kind]


def odd_contexts(n, rng):
    """Ties, certain entries, no uncertainty, other units, no or too much to spend."""
    cost = rng.normal(size=(CONTEXTS, n))
    scale = rng.uniform(0.1, 1.5, (CONTEXTS, n))
    level = np.ones((CONTEXTS, 1))
    cost[::7], scale[::7] = np.round(cost[::7]), np.ceil(2 * scale[::7]) / 2
    scale[1::9] *= rng.random(scale[1::9].shape) > 0.3
    scale[2::11] = 0.0
    cost[3::13] = cost[3::13, :1]
    cost[4::17] = 0.0
    cost[5::19], scale[5::19] = 1e6 * cost[5::19], 1e6 * scale[5::19]
    cost[6::23], scale[6::23] = 1e-6 * cost[6::23], 1e-6 * scale[6::23]
    scale[8::29] *= 20
    level[10::31], level[11::31], level[12::31] = -1.0, 0.0, 30.0
    return {"cost": cost, "scale": scale, "level": level}


def posed(kind, over, n, rng, contexts=odd_contexts):
    """Data of odd contexts, or of others."""
    cost, scale = cp.Parameter(n), cp.Parameter(n, nonneg=True)
    level, x = cp.Parameter(), cp.Variable(n)
    aim = cp.Minimize(cost @ x + penalty(kind, scale, x))
    problem = cp.Problem(aim, region(over, x, level, rng))
    names = {cost.id: "cost", scale.id: "scale", level.id: "level"}
    program = cone_program(problem, names)
    numbers = contexts(n, rng)
    slots = {k: v for k, v in numbers.items() if k in program.slots}
    data = fill(program, np.append(np.zeros(program.size - 1), 1.0), slots)
    unit = np.abs(np.hstack([numbers["cost"], numbers["scale"]])).max(axis=1)
    return data, unit * (np.abs(numbers["level"][:, 0]) + 3)


REGIONS = (
    "simplex",
    "budget",
    "at most",
    "box",
    "signed box",
    "signed budget",
    "scaled",
    "no upper ends",
    "bounded twice",
)
#: Where most contexts must be solved by the formula; elsewhere it may give up.
SURE = ("simplex", "no upper ends")


@pytest.mark.parametrize("kind", ["ellipsoid", "l1", "box", "point"])
@pytest.mark.parametrize("over", REGIONS)
def test_same_values_as_clarabel(kind, over, rng):
    for n in (1, 2, 6):
        data, unit = posed(kind, over, n, rng)
        form = form_of(data.program)
        if isinstance(form, str):
            # Of one entry, the norm is a maximum too.
            assert over.startswith("signed"), form
            assert kind == "l1" or n == 1, form
            continue
        x, z = closed_form.solve_form(form, data)
        good, value, _ = Conditions(data).hold(slice(None), x, z)
        ours, theirs = ClosedForm().solve(data), Clarabel(effort=1).solve(data)
        both = (ours.status == OPTIMAL) & (theirs.status == OPTIMAL)
        miss = np.abs(ours.objective - theirs.objective)[both]
        assert (miss <= 1e-6 * unit[both] + 1e-10).all()
        # What is claimed by the formula alone, Clarabel may not know; never otherwise.
        assert (good | (ours.status == Clarabel().solve(data).status)).all()
        assert not np.isin(theirs.status[good], (INFEASIBLE, UNBOUNDED)).any()
        np.testing.assert_allclose(value[good], ours.objective[good], atol=0)
        if over in SURE and n > 1:
            assert good[theirs.status == OPTIMAL].mean() > 0.95
        elif (theirs.status == OPTIMAL).mean() > 0.5 and n > 2:
            assert good[theirs.status == OPTIMAL].mean() > 0.6


def test_simplex_by_hand():
    # v = (3, 2), s = (1, 1): |(v - nu)_+| = 1 at nu = 2, x = (1, 0), value -3 + 1.
    data, _ = posed("ellipsoid", "simplex", 2, np.random.default_rng(0))
    program = data.program
    slots = {"cost": [[-3.0, -2.0]], "scale": [[1.0, 1.0]], "level": [[1.0]]}
    one = fill(
        program,
        np.append(np.zeros(program.size - 1), 1.0),
        {k: np.array(v) for k, v in slots.items()},
    )
    solved = ClosedForm().solve(one)
    np.testing.assert_allclose(solved.x[0], [1.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose([solved.objective, solved.bound], -2.0)


@pytest.mark.parametrize("kind", ["ellipsoid", "l1", "box"])
def test_conditions_refuse_what_is_not_optimal(kind, rng):
    data, _ = posed(kind, "budget", 6, rng)
    x, z = closed_form.solve_form(form_of(data.program), data)
    conditions = Conditions(data)
    good = conditions.hold(slice(None), x, z)[0]
    # All costs 0 and no price: everything is optimal, whatever the multipliers.
    flat = (np.abs(data.q.rows()[:, :6]).max(axis=1) == 0) & good
    sharp = good & ~flat & (np.abs(x).sum(axis=0) > 0)
    assert sharp.sum() > 50

    def hold(x, z):
        return conditions.hold(slice(None), x, z)[0][sharp]

    assert hold(x, z).all()
    assert not hold(x * (1 + 1e-7), z).any()  # beyond the budget
    assert not hold(x, -z).any()
    assert not hold(x, z * (1 + 1e-7)).any()
    assert not hold(x, 0 * z).any()
    assert not hold(0 * x, z).any()
    assert not hold(x + np.nan, z).any()
    assert not hold(x, z + np.nan).any()
    for row in np.flatnonzero(np.abs(z[:, sharp]).max(axis=1) > 1e-3):
        other = z.copy()
        other[row] *= 1 + 1e-6
        moved = (np.abs(z[row]) > 1e-2 * np.abs(z).max(axis=0))[sharp]
        assert not hold(x, other)[moved].any()


def test_nothing_is_optimal_by_its_word_alone(rng):
    # At x = 0 neither gap nor complementarity can tell; the residual must.
    data, _ = posed("ellipsoid", "box", 6, rng)
    x, z = np.zeros((7, CONTEXTS)), np.zeros((data.program.height, CONTEXTS))
    held = Conditions(data).hold(slice(None), x, z)[0]
    nothing = np.abs(data.q.rows()[:, :6]).max(axis=1) == 0
    assert not held[~nothing].any()


@pytest.mark.parametrize("loss", ["gaussian", "squared", "absolute"])
def test_policy_decides_as_with_clarabel(loss, rng):
    sets, X = calibrated(loss, 5, rng), contexts(40, 5, rng)
    problem = portfolio(sets, 5)[2]
    policy = problem.compile()
    ours = policy.decide(X)
    theirs = problem.compile(solver="CLARABEL").decide(X)
    assert (ours.status == "optimal").all()
    np.testing.assert_allclose(ours.objective, theirs.objective, rtol=1e-6)
    np.testing.assert_allclose(ours.bound, ours.objective, rtol=1e-9)
    # The same whatever the chunk.
    again = policy.decide(X, chunk=7)
    np.testing.assert_array_equal(again.objective, ours.objective)
    assert policy.choice.name == "closed form"
    assert problem.compile(solver="CLARABEL").choice.reason == "as asked for"


def test_a_wrong_formula_is_never_taken(rng, monkeypatch):
    sets, X = calibrated("gaussian", 5, rng), contexts(20, 5, rng)
    policy = portfolio(sets, 5)[2].compile()
    expected = policy.decide(X).objective
    right = closed_form.least_with_norm

    def equal_shares(numbers, coupled, equal):
        point = right(numbers, coupled, equal)
        return closed_form.FormPoint(
            np.full_like(point.x, 0.2), point.multiplier, point.pull
        )

    def wrong_sign(numbers, coupled, equal):
        point = right(numbers, coupled, equal)
        return closed_form.FormPoint(point.x, -point.multiplier, point.pull)

    for wrong in (equal_shares, wrong_sign):
        monkeypatch.setattr(closed_form, "least_with_norm", wrong)
        decisions = policy.decide(X)
        np.testing.assert_allclose(decisions.objective, expected, rtol=1e-6)
        # Clarabel's, not ours: an interior point never says exactly 0.
        assert (decisions.objective != expected).any()


def test_forms_by_value_and_saved(tmp_path, rng):
    y, x = sl.Uncertain(3, name="y"), cp.Variable(3, nonneg=True, name="x")
    given = {
        "ellipsoid": sl.sets.Ellipsoid([1.0, 2.0, 3.0], [0.5, 1.0, 2.0]),
        "l1": sl.sets.L1Ball([1.0, 2.0, 3.0], [0.5, 1.0, 2.0]),
        "box": sl.sets.Box([0.0, 1.0, -1.0], [2.0, 3.0, 7.0]),
    }
    for region in given.values():
        problem = sl.RobustProblem(cp.Maximize(y @ x), [cp.sum(x) == 2], {y: region})
        policy = problem.compile()
        assert policy.choice.name == "closed form"
        expected = problem.compile(solver="CLARABEL").decide()
        np.testing.assert_allclose(
            policy.decide().objective, expected.objective, rtol=1e-6
        )
        policy.save(tmp_path / "policy.sublevel")
        loaded = sl.load_policy(tmp_path / "policy.sublevel")
        np.testing.assert_array_equal(
            loaded.decide().objective, policy.decide().objective
        )


def test_explanations(rng):
    sets = calibrated("gaussian", 4, rng)
    r, w = sl.Uncertain(4), cp.Variable(4, nonneg=True)
    rows = [cp.sum(w) == 1, w[0] + w[1] <= 0.5]
    general = sl.RobustProblem(cp.Maximize(r @ w), rows, {r: sets}).compile()
    assert "no closed form, as two rows couple the variables;" in str(general.explain())
    simple = sl.RobustProblem(cp.Maximize(r @ w), rows[:1], {r: sets}).compile()
    assert "Solver: closed form: a linear objective and a norm" in str(simple.explain())
    whole = cp.Variable(4, boolean=True)
    integer = sl.RobustProblem(cp.Maximize(r @ whole), [cp.sum(whole) == 2], {r: sets})
    assert integer.compile().choice is None
