"""Decisions as plain values: JSON for a service, columns for a table."""

import json

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

import sublevel as sl


@pytest.fixture
def policy():
    demand = sl.Uncertain(2, name="demand")
    stock = cp.Variable(2, name="stock")
    sets = sl.LossSet(lambda X: np.asarray(X, dtype=float), loss="absolute")
    X = np.arange(40.0).reshape(20, 2)
    sets.calibrate(X, X + 1.0, alpha=0.1)
    limits = [stock >= demand, stock <= 50]
    return sl.RobustProblem(
        cp.Minimize(cp.sum(stock)), limits, {demand: sets}
    ).compile()


def test_json_has_what_the_arrays_have(policy):
    decisions = policy.decide([[1.0, 2.0], [3.0, 4.0]])
    read = json.loads(decisions.to_json())
    assert read["promise"] == "Marginal, at most 0.1"
    for row, record in enumerate(read["decisions"]):
        assert record["context"] == row
        assert record["status"] == "optimal"
        assert record["objective"] == decisions.objective[row]
        assert record["variables"] == {"stock": decisions.value("stock")[row].tolist()}
        worst = decisions.worst_case("demand")[row].tolist()
        assert record["worst_case"] == {"demand": worst}


def test_without_a_decision_there_is_nothing_to_act_on(policy):
    record = json.loads(policy.decide([[1.0, 60.0]]).to_json())["decisions"][0]
    assert record == {
        "context": 0,
        "status": "infeasible",
        "objective": None,
        "variables": {},
        "worst_case": {},
    }


def test_what_failed_its_audit_is_not_handed_on(policy):
    decisions = policy.decide([[1.0, 2.0]])
    decisions.arrays.status[:] = "audit_failed"
    record = decisions.records()[0]
    assert record["status"] == "audit_failed"
    assert record["variables"] == {}
    assert record["objective"] is None


def test_labels_of_contexts_are_kept(policy):
    days = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], index=["monday", "tuesday"])
    records = policy.decide(days).records()
    assert [record["context"] for record in records] == ["monday", "tuesday"]


def test_variables_of_one_name_stay_apart():
    load = sl.Uncertain(name="load")
    x, y = cp.Variable(name="x"), cp.Variable(name="x")
    rows = [x >= load, y >= load + 1]
    problem = sl.RobustProblem(
        cp.Minimize(x + y), rows, {load: sl.sets.Box([0.0], [1.0])}
    )
    record = problem.solve().to_dict()
    assert sorted(record["variables"]) == ["x", "x (2)"]
    assert sorted(record["variables"].values()) == pytest.approx([1.0, 2.0])


def test_columns_make_a_table_of_any_library(policy):
    decisions = policy.decide([[1.0, 2.0], [3.0, 4.0]])
    columns = decisions.columns()
    assert list(columns)[:4] == ["status", "objective", "gap", "stock[0]"]
    pd.testing.assert_frame_equal(pd.DataFrame(columns), decisions.to_pandas())


def test_what_a_session_shows_is_short(policy):
    decisions = policy.decide([[1.0, 2.0], [1.0, 60.0]])
    assert repr(decisions.audit) == "Audits(1 of 2 passed)"
    X = np.arange(40.0).reshape(20, 2)
    policy.calibrate(X, X + 1 / 3, alpha=0.1)
    budget = policy.budget_
    assert f"; budget {budget:.4g}; " in repr(policy)
    assert f"{budget}" not in repr(policy) or f"{budget}" == f"{budget:.4g}"
