"""Equalities that rules absorb: on the hull of the set, and nowhere else."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.conic.canonical import cone_form
from sublevel.robust import RobustProblem, Uncertain
from sublevel.robust.model import robust_model
from sublevel.robust.model.equalities import absorbed, holding


def probability(sees):
    p, x = Uncertain(3, name="p"), cp.Variable()
    u = sl.affine_rule(p, sees=sees, name="u")
    return p, u, [u == p[1] + p[2], x >= u], x


FLAT = {
    "law": sl.sets.KLBall([0.2, 0.3, 0.5], 0.1),
    "finite": sl.sets.Finite([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]),
    "labels": sl.sets.LabelSet(([0.1, 0.4, 0.8],), 1.0),
    "fixed": sl.sets.Box([0.2, 0.3, 0.5], [0.4, 0.3, 0.5]),
    "point": sl.sets.Ellipsoid([0.2, 0.3, 0.5], radius=0.0),
}


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("engine", ["dual", "cuts"])
def test_an_equality_holds_on_the_set_and_need_not_elsewhere(name, engine):
    """u = p1 + p2 = 1 - p0 is known from p0 alone, where the entries sum to one."""
    p, u, rows, x = probability(np.array([True, False, False]))
    decision = RobustProblem(cp.Minimize(x), rows, {p: FLAT[name]}).solve(engine=engine)
    worst = FLAT[name].support([0.0, 1.0, 1.0])
    assert decision.objective == pytest.approx(worst, abs=1e-6)
    assert decision.audit.passed
    for outcome in FLAT[name].sample(20, random_state=1):
        assert decision.value(u)(outcome) == pytest.approx(outcome[1:].sum(), abs=1e-6)


def test_over_a_set_with_an_interior_the_same_equality_cannot_hold():
    p, _, rows, x = probability(np.array([True, False, False]))
    free = RobustProblem(cp.Minimize(x), rows, {p: sl.sets.Box([0] * 3, [1] * 3)})
    assert free.solve().status == "infeasible"


def test_equalities_over_two_independent_sets():
    a, b, x = Uncertain(2, name="a"), Uncertain((2, 2), name="b"), cp.Variable()
    u = sl.affine_rule([a, b], 2, name="u")
    rows = [u == a + b[:, 1] + 1, x >= cp.max(u)]
    regions = {a: sl.sets.Box([0, 0], [1, 2]), b: sl.sets.Ellipsoid(np.zeros(4))}
    decision = RobustProblem(cp.Minimize(x), rows, regions).solve()
    assert decision.objective == pytest.approx(2 + 1 + 1, abs=1e-5)
    slopes = [[1, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1]]
    assert decision.value(u).slopes == pytest.approx(np.array(slopes), abs=1e-6)
    assert decision.audit.passed


def inventory(scale):
    d = Uncertain(3, name="demand")
    order = sl.affine_rule(d, 3, nonneg=True, sees=np.arange(3), name="order")
    stock = sl.affine_rule(d, 3, nonneg=True, name="stock")
    rows = [stock == cp.cumsum(order) - cp.cumsum(d)]
    region = sl.sets.Ellipsoid(scale * np.array([5.0, 4.0, 6.0]), scale)
    return RobustProblem(cp.Minimize(cp.sum(order) + cp.sum(stock)), rows, {d: region})


def test_equalities_hold_and_pass_the_audit_in_any_units():
    unit = inventory(1.0).solve().objective
    for scale in (1e-4, 1e6):
        decision = inventory(scale).solve()
        assert decision.status == "optimal"
        # A solver's own tolerance is absolute where the numbers are small.
        assert decision.objective == pytest.approx(scale * unit, rel=1e-3)


def test_an_equality_at_one_outcome_only_fails_the_audit(monkeypatch):
    robust = inventory(1.0)
    assert robust.solve().status == "optimal"

    def at_the_centre(rows, sets):
        points = {key: region.center for key, region in sets.items()}
        return [row.at(points) == 0 for row in rows]

    monkeypatch.setattr(robust_model, "holding", at_the_centre)
    decision = inventory(1.0).solve(engine="dual")
    assert decision.status == "audit_failed"
    assert decision.audit.violations[0] > 0.1


def test_ordinary_parameters_in_an_equality_stay_parameters():
    d, x, start = Uncertain(2, name="d"), cp.Variable(), cp.Parameter(2, name="start")
    u = sl.affine_rule(d, 2, name="u")
    rows = [u == start - d, x >= -cp.min(u)]
    region = sl.sets.Box([0.0, 0.0], [1.0, 2.0])
    robust = RobustProblem(cp.Minimize(x), rows, {d: region})
    for value in ([3.0, 5.0], [7.0, 4.0]):
        start.value = np.array(value)
        decision = robust.solve()
        expected = max(1 - value[0], 2 - value[1])
        assert decision.objective == pytest.approx(expected, abs=1e-6)
        assert decision.value(u).intercept == pytest.approx(value, abs=1e-6)
        assert decision.audit.passed


def test_without_a_set_an_equality_holds_for_every_outcome():
    """What a program compiled for all contexts needs."""
    rows = inventory(1.0).prepared().model.equalities
    anywhere = holding(rows, {})
    assert sum(condition.size for condition in anywhere) == 3 + 9
    slopes = [v for c in anywhere for v in c.variables() if v.name() == "stock slopes"]
    cp.Problem(cp.Minimize(0), anywhere).solve(solver=cp.CLARABEL)
    assert slopes[0].value is not None
    for row in rows:
        for outcome in np.random.default_rng(0).normal(size=(5, 3)):
            at = row.at(dict.fromkeys(row.slopes, outcome))
            assert float(at.value) == pytest.approx(0, abs=1e-6)


def test_an_equality_that_defines_an_auxiliary_variable_is_not_absorbed():
    """CVXPY's own equalities are no decisions of the user's."""
    r, x = Uncertain(3, name="r"), cp.Variable(3)
    u = sl.affine_rule(r, 3, name="u")
    form = cone_form(cp.cumsum(u) + cp.cumsum(cp.multiply(r, x)) == 0)
    assert form.auxiliary
    assert not absorbed(form, slice(0, form.constant.shape[0]))
