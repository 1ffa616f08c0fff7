"""Decisions as arrays, as a table and one by one; the bar; the memory they take."""

import tracemalloc

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

import sublevel as sl
from sublevel.errors import InvalidParameter

from .given import calibrated, contexts, portfolio

DIM = 2


@pytest.fixture
def decided():
    rng = np.random.default_rng(81)
    r, w, problem = portfolio(calibrated("gaussian", DIM, rng), DIM, nonneg=True)
    X = contexts(4, DIM, rng)
    X[2, :DIM] = -50
    return r, w, problem, X, problem.compile().decide(X)


def test_rows_answer_like_a_single_decision(decided):
    r, w, problem, X, found = decided
    assert len(found) == 4 == len(list(found))
    assert repr(found) == "Decisions(4 contexts: 1 empty_set, 3 optimal)"
    for i, decision in enumerate(found):
        if i == 2:
            continue
        alone = problem.solve(X[i : i + 1])
        np.testing.assert_allclose(decision.value(w), alone.value(w), atol=1e-4)
        np.testing.assert_array_equal(decision.value("w"), found.value("w")[i])
        np.testing.assert_array_equal(decision.worst_case(r), found.worst_case(r)[i])
        assert decision.certificate == alone.certificate
        assert decision.audit.binding is None
        assert decision.audit.violations == ()
    assert found[-1].objective == found[3].objective
    assert found[np.int64(1)].status == "optimal"
    lost = found[-2]
    assert (lost.status, lost.audit) == ("empty_set", None)
    with pytest.raises(InvalidParameter, match="there was no decision"):
        lost.value(w)
    for outside in (4, -5):
        with pytest.raises(IndexError, match="of 4 decisions"):
            found[outside]


def test_names_that_are_not_there(decided):
    found = decided[-1]
    with pytest.raises(InvalidParameter, match=r"no variable 'v'\. The model has: w"):
        found.value("v")
    with pytest.raises(InvalidParameter, match="no variable 'w'"):
        found.value(cp.Variable(DIM, name="w"))
    with pytest.raises(InvalidParameter, match="no uncertain parameter 's'"):
        found.worst_case("s")


def test_a_table_keeps_names_and_labels(decided):
    _, w, problem, X, found = decided
    frame = pd.DataFrame(X, index=["a", "b", "c", "d"])
    table = problem.compile().decide(frame).to_pandas()
    heads = ["status", "objective", "gap", "w[0]", "w[1]", "worst r[0]", "worst r[1]"]
    assert list(table.columns) == heads
    assert list(table.index) == list("abcd")
    assert table.loc["c", "status"] == "empty_set"
    assert table.loc["c", heads[1:]].isna().all()
    np.testing.assert_array_equal(table["w[1]"], found.value(w)[:, 1])
    assert list(found.to_pandas().index) == [0, 1, 2, 3]


def test_scalars_and_variables_of_the_same_name():
    rng = np.random.default_rng(82)
    r, x, y = sl.Uncertain(2, name="r"), cp.Variable(name="x"), cp.Variable(name="x")
    sets = calibrated("gaussian", 2, rng)
    goal = cp.Minimize(r[0] * x + r[1] * y)
    problem = sl.RobustProblem(goal, [x >= 1, y >= 2, x <= 3, y <= 3], {r: sets})
    found = problem.compile().decide(contexts(3, 2, rng))
    assert found.value(x).shape == (3,)
    np.testing.assert_allclose(found.value(y), 2, atol=1e-6)
    assert list(found.to_pandas().columns[3:5]) == ["x", "x (2)"]
    with pytest.raises(InvalidParameter, match="has 2 of variable 'x'"):
        found.value("x")
    np.testing.assert_allclose(found[0].value(y), 2, atol=1e-6)


def test_lists_sparse_matrices_and_frames_are_covariates():
    import scipy.sparse as sp
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(83)
    X = rng.normal(size=(80, 3))
    Y = X[:, :2] + 0.1 * rng.normal(size=(80, 2))
    sets = sl.LossSet(Ridge()).fit(X[:40], Y[:40]).calibrate(X[40:], Y[40:], alpha=0.2)
    policy = portfolio(sets, 2)[2].compile()
    expected = policy.decide(X[:9])
    for given in (X[:9].tolist(), sp.coo_array(X[:9]), sp.csc_matrix(X[:9])):
        found = policy.decide(given, chunk=4)
        np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-6)


@pytest.mark.parametrize("integer", [False, True])
def test_the_bar_counts_contexts(integer, capsys):
    rng = np.random.default_rng(84)
    r, w = sl.Uncertain(DIM), cp.Variable(DIM, nonneg=True, integer=integer)
    sets = calibrated("gaussian", DIM, rng)
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    policy, X = problem.compile(), contexts(6, DIM, rng)
    policy.decide(X)
    assert capsys.readouterr().err == ""
    policy.decide(X, progress=True, chunk=2)
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = [line.rstrip() for line in printed.err.split("\r")]
    assert any(line.startswith("  0%|") and "0/6 contexts" in line for line in lines)
    assert lines[-1].startswith("100%|")
    assert "6/6 contexts [00:0" in lines[-1]
    assert printed.err.endswith("\n")


def test_memory_grows_with_the_answers_only():
    """Ten times the contexts: more memory for the answers, none for the work."""
    rng = np.random.default_rng(85)
    n = 40
    sets = calibrated("gaussian", n, rng)
    policy = portfolio(sets, n)[2].compile()

    def peak(X):
        tracemalloc.start()
        found = policy.decide(X, chunk=20)
        kept, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (found.status == "optimal").all()
        return kept, most - kept

    few, many = contexts(40, n, rng), contexts(400, n, rng)
    policy.decide(few)
    (_, work), (kept, more) = peak(few), peak(many)
    answers = 400 * (2 * n + 20) * 8
    assert kept < 2 * answers
    assert more < 1.5 * work + 20_000
