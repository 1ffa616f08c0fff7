"""Sets with functions of their outcomes: domains, policies, scenarios."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.errors import NotRobustifiable, OutsideDomain
from sublevel.robust import RobustProblem, Uncertain
from sublevel.robust.model.oracle import Oracle
from sublevel.robust.solve.cuts.cuts import Cuts
from sublevel.robust.solve.lifted_set import LiftedSet, with_lifted

RNG = np.random.default_rng(12)
X = cp.Variable(2, nonneg=True, name="x")
BOX = sl.sets.Box([0.5, 0.6], [1.5, 1.4])


@pytest.mark.parametrize(
    ("write", "lower"),
    [(cp.log, -0.3), (cp.log, 0.0), (cp.sqrt, -0.3), (lambda v: -cp.inv_pos(v), 0.0)],
)
def test_every_outcome_must_be_where_the_function_is_defined(write, lower):
    y = Uncertain(2, name="y")
    region = sl.sets.Box([0.5, lower], [1.5, 1.4])
    robust = RobustProblem(cp.Minimize(write(y) @ X), [cp.sum(X) == 1], {y: region})
    with pytest.raises(OutsideDomain, match=r"must be defined.*'y'.*Box"):
        robust.solve()


@pytest.mark.parametrize("write", [cp.sqrt, cp.entr])
@pytest.mark.parametrize("region", ["box", "law", "signed"])
def test_the_edge_of_a_domain_is_fine_where_the_function_is_finite(write, region):
    regions = {
        "box": sl.sets.Box([0.0, 0.1], [1.0, 2.0]),
        "law": sl.sets.VariationBall([0.2, 0.8], 1.0),
        "signed": sl.sets.Ellipsoid([0.2, 0.5], radius=0.4),
    }
    y = Uncertain(2, name="y", nonneg=region == "signed")
    goal = cp.Minimize(write(y) @ X - y @ cp.multiply([2.0, 0.5], X))
    robust = RobustProblem(goal, [cp.sum(X) == 1], {y: regions[region]})
    dual, cuts = robust.solve(engine="dual"), robust.solve(engine="cuts")
    assert (dual.status, cuts.status) == ("optimal", "optimal")
    assert dual.objective == pytest.approx(cuts.objective, abs=1e-6)
    assert dual.objective == pytest.approx(float(dual.audit.objective), abs=1e-6)


def test_an_oracle_cannot_say_what_bends():
    points = np.array([[1.0, 2.0], [2.0, 1.0]])
    oracle = Oracle(2, lambda d: points[np.argmax(points @ d)])
    y = Uncertain(2, name="y")
    robust = RobustProblem(cp.Minimize(cp.log(y) @ X), [cp.sum(X) == 1], {y: oracle})
    with pytest.raises(NotRobustifiable, match="Give 'y' a set"):
        robust.solve()


def test_a_function_set_too_low_is_caught(monkeypatch):
    y = Uncertain(2, name="y")
    goal = cp.Minimize(cp.log(y) @ X - 0.6 * y @ X)
    robust = RobustProblem(goal, [cp.sum(X) == 1], {y: BOX})
    assert robust.solve().status == "optimal"
    right = LiftedSet.hypograph

    def low(self, outcome, bounds, entries=None):
        return right(self, outcome, bounds + 0.1, entries)

    monkeypatch.setattr(LiftedSet, "hypograph", low)
    assert robust.solve(engine="dual").status == "audit_failed"


@pytest.fixture(scope="module")
def predicted():
    """Sets around 4, and at covariates of -30 far below 0."""
    x = RNG.normal(size=(300, 2))
    y = 4 + x @ [[0.3, 0.2], [0.1, 0.3]] + 0.1 * RNG.normal(size=(300, 2))
    sets = sl.LossSet(LinearRegression()).fit(x[:150], y[:150])
    return sets.calibrate(x[150:], y[150:], alpha=0.1), x, y


def test_policies_decide_context_by_context(predicted):
    sets, x, y = predicted
    price = Uncertain(2, name="price")
    goal = cp.Minimize(cp.log(price) @ X + 0.2 * cp.sum_squares(X))
    robust = RobustProblem(goal, [cp.sum(X) == 1], {price: sets})
    policy = robust.compile()
    found = policy.decide(x[:3])
    alone = [robust.solve(x[i : i + 1]).objective for i in range(3)]
    assert "bends the outcome" in policy.one_by_one
    assert found.objective == pytest.approx(alone, abs=1e-7)
    assert found.worst_case(price).shape == (3, 2)
    happened = [
        np.log(row) @ w + 0.2 * w @ w for row, w in zip(y, found.value(X), strict=False)
    ]
    missed = np.mean(np.array(happened) > found.objective)
    assert policy.evaluate(x[:3], y[:3]).violation == pytest.approx(missed)


def test_a_context_outside_the_domain_is_one_rows_status(predicted):
    sets, x, _ = predicted
    price = Uncertain(2, name="price")
    robust = RobustProblem(
        cp.Minimize(cp.log(price) @ X), [cp.sum(X) == 1], {price: sets}
    )
    found = robust.compile().decide(np.vstack([x[:1], [[-30.0, -30.0]], x[1:2]]))
    assert found.status.tolist() == ["optimal", "outside_domain", "optimal"]


def test_scenarios_are_the_users_outcomes():
    y = Uncertain(2, name="y")
    limits = [cp.log(y) @ X <= 1, y @ X <= 30, X <= 9]
    robust = RobustProblem(cp.Maximize(cp.sum(X)), limits, {y: BOX})
    decision = robust.solve(engine="cuts")
    assert list(decision.scenarios) == [y]
    warm = Cuts(scenarios={y: np.array([[1.5, 1.4], [1.0, 1.0], [9.0, 9.0]])})
    again = robust.solve(engine=warm)
    assert again.objective == pytest.approx(decision.objective, abs=1e-6)
    assert BOX.contains(again.scenarios[y]).all()


def test_the_set_of_outcomes_and_functions():
    y = Uncertain(2, name="y")
    robust = RobustProblem(cp.Minimize(cp.log(y) @ X), [cp.sum(X) == 1], {y: BOX})
    sets = with_lifted({(y,): BOX}, robust.prepared().model.rows)
    region = next(s for s in sets.values() if isinstance(s, LiftedSet))
    assert region.dim == 4
    inside, above = np.array([1.0, 1.0, -0.1, 0.0]), np.array([1.0, 1.0, 0.1, 0.0])
    outside = np.array([2.0, 1.0, 0.0, 0.0])
    assert region.contains([inside, above, outside]).tolist() == [True, False, False]
    assert region.support([0.0, 0.0, 1.0, 1.0]) == pytest.approx(
        np.log([1.5, 1.4]).sum()
    )
    assert region.support([1.0, 0.0, 0.0, -1.0]) == np.inf
    assert "log(y)" in repr(region)
