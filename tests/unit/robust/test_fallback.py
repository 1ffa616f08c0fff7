"""What is done where no robust decision exists must be allowed, and counts."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.errors import InfiniteBudget, SolvesFailed
from sublevel.robust import compiled_policy, deciding

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 1))
Y = X[:, 0] + 0.5 * RNG.normal(size=600)
FOLD, TEST = slice(0, 200), slice(200, 600)


def bakery(**kind):
    stock, demand = cp.Variable(name="stock", **kind), sl.Uncertain(name="demand")
    limits = [stock >= demand, stock <= 1.0]
    sets = sl.LossSet(lambda X: X[:, 0])
    problem = sl.RobustProblem(cp.Minimize(stock), limits, {demand: sets})
    return problem.compile(), stock


@pytest.mark.parametrize(
    ("kind", "value", "named"),
    [({}, 50.0, "stock <= 1.0 by 49"), ({"nonneg": True}, -1.0, "stock declares")],
)
def test_the_certificate_names_what_a_fallback_breaks(kind, value, named):
    policy, stock = bakery(**kind)
    grid = np.geomspace(0.001, 0.5, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteBudget)
        policy.calibrate(X[FOLD], Y[FOLD], 0.3, grid=grid, fallback={stock: value})
    told = policy.decide(X[TEST]).certificate.assumptions[-1]
    assert named in told
    assert "is not counted" in told
    assert stock.value is None
    policy.calibrate(X[FOLD], Y[FOLD], 0.3, grid=grid, fallback={stock: 1.0})
    assert "fallback, as declared" not in str(policy.certificate_)


def test_scores_know_the_fallback_that_decisions_fall_back_on():
    """Calibrated elsewhere, they promise what `calibrate` itself does."""
    policy, stock = bakery()
    grid = np.geomspace(0.001, 100, 40)
    policy.calibrate(X[FOLD], Y[FOLD], 0.3, grid=grid, fallback={stock: 1.0})
    scores = policy.envelope_scores(X[FOLD], Y[FOLD], grid=grid)
    found = sl.guarantees.Marginal().calibrate(scores, 0.3)
    assert found.budget == policy.budget_
    lost = policy.decide(X[FOLD]).status == "fallback"
    assert (scores[lost & (Y[FOLD] > 1.0)] == np.inf).all()
    # Without one such contexts count as kept.
    assert (bakery()[0].envelope_scores(X[FOLD], Y[FOLD], grid=grid) < np.inf).all()


def test_the_frontier_keeps_the_levels_asked_for_and_takes_a_grid():
    policy, stock = bakery()
    grid = np.geomspace(0.001, 100, 40)
    policy.calibrate(X[FOLD], Y[FOLD], 0.3, grid=grid, fallback={stock: 1.0})
    data = X[FOLD], Y[FOLD], X[TEST], Y[TEST]
    found = policy.frontier(*data, alphas=[0.01, 0.3], grid=grid, delta=None)
    assert found["alpha"].tolist() == [0.01, 0.3] * 2
    rows = found[found["calibration"] == "decisions"].set_index("alpha")["budget"]
    assert rows[0.3] == policy.budget_
    assert rows[0.01] == np.inf


def test_decisions_that_could_not_be_computed_are_not_kept(monkeypatch):
    policy, _ = bakery()
    plain = policy.calibrate(X[FOLD], Y[FOLD], 0.3).budget_
    decide_chunks = deciding.decide_chunks

    def failing(*given):
        arrays = decide_chunks(*given)
        arrays.status[1::2] = "solver_failed"
        return arrays

    monkeypatch.setattr(deciding, "decide_chunks", failing)
    computed = r"of \d+ decisions could not be computed"
    certifiable = pytest.warns(InfiniteBudget, match=r"decisions exist at \d+ of")
    with pytest.warns(SolvesFailed, match=computed), certifiable:
        policy.calibrate(X[FOLD], Y[FOLD], 0.3)
    assert plain < policy.budget_ == np.inf


@pytest.mark.parametrize("rows", [300, 60])
def test_what_fails_though_its_outcome_is_inside_counts(rows, monkeypatch):
    """No decision was looked at there, and none is taken there later."""
    rng = np.random.default_rng(7)
    needs, noise = rng.uniform(1, 2, (2, 4000))
    share = 0.06

    def failing(engine, layout, sets, *rest, **how):
        arrays, used = decide_sets(engine, layout, sets, *rest, **how)
        arrays.status[sets.batches[0].points[:, 0] > 2 - share] = "solver_failed"
        return arrays, used

    decide_sets = compiled_policy.decide_sets
    monkeypatch.setattr(compiled_policy, "decide_sets", failing)
    have, need = cp.Variable(1, name="have"), sl.Uncertain(1, name="need")
    sets = sl.LossSet(lambda X: X)
    problem = sl.RobustProblem(cp.Minimize(have), [have >= need], {need: sets})
    X, Y = needs[:, None], (needs + noise - 1.5)[:, None]
    policy = problem.compile()
    with pytest.warns(SolvesFailed):
        policy.calibrate(X[:rows], Y[:rows], alpha=0.1)
    level = policy.budget_
    missed = (Y[:, 0] - X[:, 0]) > np.sqrt(level)
    lost = X[:, 0] > 2 - share
    # At most alpha of the calibration points, failures among them.
    assert np.sum((missed | lost)[:rows]) <= 0.1 * (rows + 1) - 1
    assert np.isfinite(level)
