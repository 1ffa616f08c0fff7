"""Sums of maxima in compiled policies: as solved alone, in files, as they turn out."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl

from .given import Given, assert_as_solved, calibrated, contexts

#: By name: number of products, and what is minimised.
COSTS = {
    "newsvendor": (1, lambda d, q: cp.sum(5 * cp.pos(d - q) + cp.pos(q - d))),
    "many kinks": (
        1,
        lambda d, q: cp.sum(
            sum(cp.pos(d - q - k / 4) for k in range(5)) + cp.abs(d - q)
        ),
    ),
    "square": (1, lambda d, q: cp.sum(cp.square(d - q) + cp.pos(d - q)) + cp.sum(q)),
    "two products": (2, lambda d, q: -cp.sum(5 * cp.minimum(d, q) - 3 * q)),
    "staffing": (3, lambda d, q: 3 * cp.sum(cp.pos(d - q)) + cp.sum(q) + cp.norm1(d)),
}


def policy_of(name, loss, rng, **options):
    dim, cost = COSTS[name]
    d = sl.Uncertain(dim, name="d", **options)
    q = cp.Variable(dim, nonneg=True, name="q")
    sets = calibrated(loss, dim, rng)
    return dim, cost, q, sl.RobustProblem(cp.Minimize(cost(d, q)), [q <= 9], {d: sets})


@pytest.mark.parametrize("loss", ["squared", "pinball"])
@pytest.mark.parametrize("name", COSTS)
def test_as_solved_alone_and_in_a_file(name, loss, tmp_path):
    rng = np.random.default_rng(3)
    dim, _, _, problem = policy_of(name, loss, rng)
    X = contexts(3, dim, rng)
    decided = assert_as_solved(problem, X)
    assert (decided.status == "optimal").all()
    policy = problem.compile()
    policy.save(tmp_path / "policy.npz")
    again = sl.load_policy(tmp_path / "policy.npz", models={"d": Given()}).decide(X)
    np.testing.assert_allclose(again.objective, decided.objective, rtol=1e-9)


@pytest.mark.parametrize("name", COSTS)
def test_no_outcome_of_the_set_costs_more_and_the_worst_costs_as_much(name):
    rng = np.random.default_rng(4)
    dim, cost, q, problem = policy_of(name, "squared", rng, nonneg=True)
    X = contexts(2, dim, rng)
    decided = problem.compile().decide(X)
    assert (decided.status == "optimal").all()
    batch = next(iter(problem.uncertainty.values())).predict_set(X)
    for i in range(2):
        values = decided.value(q)[i]
        outcomes = np.maximum(batch[i].sample(300, 0), 0.0)
        worst = decided[i].worst_case("d")
        costs = [
            float(cost(cp.Constant(y), cp.Constant(values)).value)
            for y in [*outcomes, np.ravel(worst)]
        ]
        assert max(costs[:-1]) <= decided.objective[i] + 1e-5
        assert costs[-1] == pytest.approx(decided.objective[i], rel=1e-6, abs=1e-6)


def test_calibrated_decisions_and_their_evaluation():
    """Levels, violations and regret go through the same judge."""
    rng = np.random.default_rng(5)
    dim, _, _, problem = policy_of("two products", "squared", rng)
    X = contexts(60, dim, rng)
    Y = np.abs(X[:, :dim] + X[:, dim:] * rng.normal(size=(60, dim)))
    policy = problem.compile().calibrate(X[:40], Y[:40], alpha=0.2)
    seen = policy.evaluate(X[40:], Y[40:])
    assert seen.decided.all()
    assert seen.violated.mean() <= 0.5
    assert np.isfinite(seen.regret).all()
