"""Tables of polars go in where those of pandas do, with their names."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.predictions import take_rows

pl = pytest.importorskip("polars")

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
Y = X + rng.normal(size=(300, 2))


def table(values, names):
    return pl.DataFrame(dict(zip(names, values.T, strict=True)))


def test_rows_keep_their_names():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "kind": ["u", "v", "w"]})
    for rows in ([0, 2], np.array([True, False, True]), slice(0, 3, 2)):
        chosen = take_rows(frame, rows)
        assert list(chosen.columns) == ["a", "kind"]
        assert chosen["a"].tolist() == [1.0, 3.0]
        assert chosen["kind"].tolist() == ["u", "w"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_decisions_are_those_of_arrays(n_jobs):
    named, plain = [], []
    for contexts, outcomes, answers in (
        (table(X, "ab"), table(Y, "uv"), named),
        (X, Y, plain),
    ):
        sets = sl.LossSet(LinearRegression()).fit(contexts[:100], outcomes[:100])
        demand = sl.Uncertain(2, name="demand")
        stock = cp.Variable(2, name="stock")
        problem = sl.RobustProblem(
            cp.Minimize(cp.sum(stock)), [stock >= demand], {demand: sets}
        )
        policy = problem.compile().calibrate(contexts[100:200], outcomes[100:200])
        # Warnings are errors: a model that misses its names would say so.
        decisions = policy.decide(contexts[200:], n_jobs=n_jobs, chunk=30)
        assert decisions.certificate is not None
        answers.append(decisions.value(stock))
    np.testing.assert_allclose(named[0], plain[0])


def test_decisions_become_a_table():
    demand = sl.Uncertain(1, name="demand")
    stock = cp.Variable(1, name="stock")
    sets = sl.LossSet(lambda X: np.asarray(X)[:, :1])
    sets.calibrate(X, Y[:, :1])
    goal = cp.Minimize(cp.sum(stock))
    policy = sl.RobustProblem(goal, [stock >= demand], {demand: sets}).compile()
    decisions = policy.decide(X[:5])
    frame = pl.DataFrame(decisions.columns())
    assert frame["stock[0]"].to_list() == decisions.value(stock)[:, 0].tolist()
