"""Weighted sample averages: weights by hand, decisions by brute force, constraints."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor

import sublevel as sl
from sublevel.baselines import (
    Clairvoyant,
    ForestWeights,
    KernelWeights,
    NearestWeights,
    TrueLaw,
    WeightedSample,
)
from sublevel.baselines.scenario_model import ScenarioModel
from sublevel.errors import InvalidParameter, NotCalibrated

ANYWHERE = sl.sets.Box([0.0], [20.0])
SCHEMES = [NearestWeights(15), KernelWeights(0.3), ForestWeights()]


def shop(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    return X, 10 * X + (1 + X) * rng.normal(size=(n, 1))


def newsvendor(short=4.0, over=1.0):
    demand, order = sl.Uncertain(1, name="demand"), cp.Variable(1, name="order")
    cost = cp.maximum(short * (demand - order), over * (order - demand))
    problem = sl.RobustProblem(cp.Minimize(cost), [order >= 0], {demand: ANYWHERE})
    return problem, order


def weights_of(scheme, X, new):
    """Weight of each past row at each new one: the mean of one-hot outcomes."""
    return clone(scheme).fit(X, np.eye(len(X))).sample(new).mean


def test_nearest_weights_by_hand():
    X = np.array([[0.0], [1.0], [3.0], [10.0]])
    found = weights_of(NearestWeights(2), X, [[0.9], [9.0]])
    assert found.tolist() == [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]
    assert NearestWeights().fit(X, np.arange(4.0)).n_neighbors_ == 2


@pytest.mark.parametrize(
    "kernel, expected",
    [
        ("uniform", [1.0, 1.0, 0.0]),
        ("epanechnikov", [1.0, 0.75, 0.0]),
        ("tricubic", [1.0, (7 / 8) ** 3, 0.0]),
        ("gaussian", [1.0, np.exp(-1 / 8), np.exp(-9 / 8)]),
    ],
)
def test_kernel_weights_by_hand(kernel, expected):
    # Distances 0, 1/2 and 3/2 bandwidths.
    X = np.array([[0.0], [1.0], [3.0]])
    found = weights_of(KernelWeights(2.0, kernel), X, [[0.0]])
    assert found[0] == pytest.approx(np.array(expected) / np.sum(expected))


def test_a_context_out_of_reach_takes_the_nearest_outcome():
    found = weights_of(KernelWeights(1.0), np.array([[0.0], [5.0]]), [[99.0]])
    assert found.tolist() == [[0.0, 1.0]]


def test_forest_weights_by_loops():
    X, Y = shop(60)
    forest = RandomForestRegressor(7, min_samples_leaf=5, random_state=0)
    scheme = ForestWeights(forest).fit(X, Y)
    new = np.array([[0.2], [0.7]])
    past, here = scheme.forest_.apply(X), scheme.forest_.apply(new)
    expected = np.zeros((2, 60))
    for i in range(2):
        for tree in range(7):
            same = past[:, tree] == here[i, tree]
            expected[i] += same / same.sum() / 7
    sample = scheme.sample(new)
    assert sample.mean == pytest.approx(expected @ Y)
    assert sample.weights.sum(axis=1) == pytest.approx(np.ones(2))
    squares = np.einsum("nk,nkm->nm", sample.weights, sample.outcomes**2)
    assert squares == pytest.approx(expected @ Y**2)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: type(s).__name__)
def test_newsvendor_orders_the_weighted_quantile(scheme):
    X, Y = shop(150)
    problem, order = newsvendor()
    fitted = clone(scheme).fit(X, Y)
    new = np.array([[0.15], [0.5], [0.9]])
    found = WeightedSample(problem, fitted).decide(new)
    sample = fitted.sample(new)
    assert (found.status == "optimal").all()
    for i in range(3):
        demands, weights = sample.outcomes[i, :, 0], sample.weights[i]

        def cost(x, demands=demands, weights=weights):
            return weights @ np.maximum(4 * (demands - x), x - demands)

        # A piecewise linear cost is least at one of its kinks.
        best = min(cost(x) for x in demands)
        assert found.objective[i] == pytest.approx(best, abs=1e-6)
        assert cost(found.value(order)[i, 0]) == pytest.approx(best, abs=1e-6)


def test_a_linear_cost_is_decided_at_the_weighted_mean():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(100, 2)), rng.normal(size=(100, 3))
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    box = sl.sets.Box(-np.ones(3), np.ones(3))
    risk = cp.sum_squares(w)
    problem = sl.RobustProblem(cp.Maximize(r @ w - risk), [cp.sum(w) == 1], {r: box})
    scheme = NearestWeights(10).fit(X, Y)
    policy = WeightedSample(problem, scheme)
    found = policy.decide(X[:5])
    assert ScenarioModel(problem, 10, "every").scenarios is None
    for i, mean in enumerate(scheme.sample(X[:5]).mean):
        direct = cp.Problem(cp.Maximize(mean @ w - risk), [cp.sum(w) == 1])
        direct.solve(solver=cp.CLARABEL)
        assert found.objective[i] == pytest.approx(direct.value, abs=1e-6)
        assert found.value(w)[i] == pytest.approx(w.value, abs=1e-4)


def test_uncertain_constraints_hold_everywhere_or_on_average():
    X, Y = shop(100)
    y, x = sl.Uncertain(1, name="y"), cp.Variable(1, name="x")
    problem = sl.RobustProblem(cp.Minimize(cp.sum(x)), [x >= y], {y: ANYWHERE})
    scheme = NearestWeights(10).fit(X, Y)
    sample = scheme.sample(X[:4])
    every = WeightedSample(problem, scheme).decide(X[:4]).objective
    mean = WeightedSample(problem, scheme, constraints="mean").decide(X[:4]).objective
    assert every == pytest.approx(sample.outcomes.max(axis=1)[:, 0], abs=1e-6)
    assert mean == pytest.approx(sample.mean[:, 0], abs=1e-6)


def test_a_curved_constraint_on_average():
    # Mean of max(y - x, 0) at most 1/10: the least such x, by bisection.
    X, Y = shop(100)
    y, x = sl.Uncertain(1, name="y"), cp.Variable(1, name="x")
    kept = [cp.pos(y - x) <= 0.1]
    problem = sl.RobustProblem(cp.Minimize(cp.sum(x)), kept, {y: ANYWHERE})
    scheme = KernelWeights(0.3).fit(X, Y)
    sample = scheme.sample(X[:3])
    found = WeightedSample(problem, scheme, constraints="mean").decide(X[:3]).objective
    for i in range(3):
        low, high = -50.0, 50.0
        for _ in range(60):
            middle = (low + high) / 2
            short = np.maximum(sample.outcomes[i, :, 0] - middle, 0)
            low, high = (
                (middle, high) if sample.weights[i] @ short > 0.1 else (low, middle)
            )
        assert found[i] == pytest.approx(high, abs=1e-5)


def test_whole_decisions():
    rng = np.random.default_rng(0)
    X, Y = rng.uniform(size=(60, 1)), rng.uniform(1, 3, (60, 3))
    y, z = sl.Uncertain(3, name="y"), cp.Variable(3, boolean=True, name="z")
    box = sl.sets.Box(np.ones(3), 3 * np.ones(3))
    problem = sl.RobustProblem(cp.Minimize(y @ z), [cp.sum(z) >= 2], {y: box})
    scheme = NearestWeights(8).fit(X, Y)
    found = WeightedSample(problem, scheme).decide(X[:3])
    cheapest = np.sort(scheme.sample(X[:3]).mean, axis=1)[:, :2].sum(axis=1)
    assert found.objective == pytest.approx(cheapest, abs=1e-6)


def test_more_scenarios_at_some_contexts_change_nothing_at_others():
    X, Y = shop(120)
    problem, _ = newsvendor()
    policy = WeightedSample(problem, KernelWeights(0.2).fit(X, Y))
    new = np.array([[0.02], [0.5]])
    together = policy.decide(new).objective
    apart = [policy.decide(new[i : i + 1]).objective[0] for i in range(2)]
    assert together == pytest.approx(apart, abs=1e-6)


def test_matrices_and_vectors_side_by_side():
    """Scenarios of several parameters are split, and matrices read column by column."""
    rng = np.random.default_rng(0)
    X, Y = rng.uniform(size=(40, 1)), rng.uniform(size=(40, 5))
    a = sl.Uncertain((2, 2), name="a", nonneg=True)
    b = sl.Uncertain(1, name="b", nonneg=True)
    x = cp.Variable(2, nonneg=True, name="x")
    weighed = np.array([1.0, 3.0])
    cost = cp.square(weighed @ (a @ x) + b @ x[:1])
    unit = sl.sets.Box(np.zeros(5), np.ones(5))
    problem = sl.RobustProblem(cp.Minimize(cost), [cp.sum(x) == 1], {(a, b): unit})
    scheme = NearestWeights(6).fit(X, Y)
    found = WeightedSample(problem, scheme).decide(X[:2])
    for i, scenarios in enumerate(scheme.sample(X[:2]).outcomes):
        each = [
            cp.square(weighed @ (y[:4].reshape(2, 2, order="F") @ x) + y[4] * x[0])
            for y in scenarios
        ]
        direct = cp.Problem(cp.Minimize(sum(each) / 6), [cp.sum(x) == 1])
        direct.solve(solver=cp.CLARABEL)
        assert found.objective[i] == pytest.approx(direct.value, abs=1e-6)


def test_labels_are_scenarios_too():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(80, 1))
    labels = np.where(rng.uniform(size=80) < X[:, 0], "high", "low")
    p, t, x = sl.Uncertain(2, name="p"), cp.Variable(2), cp.Variable(name="x")
    demand = np.array([10.0, 1.0])
    cost = [t >= 6 * (demand - x), t >= 4 * (x - demand), x >= 0]
    simplex = sl.sets.KLBall([0.5, 0.5], 0.1)
    problem = sl.RobustProblem(cp.Minimize(p @ t + x), cost, {p: simplex})
    policy = WeightedSample(problem, NearestWeights(20).fit(X, labels))
    evaluation = policy.evaluate(X[:10], labels[:10])
    orders = policy.decide(X[:10]).value(x)
    met = np.where(labels[:10] == "high", 10.0, 1.0)
    cost = np.maximum(6 * (met - orders), 4 * (orders - met)) + orders
    assert evaluation.realised == pytest.approx(cost, abs=1e-5)
    assert evaluation.regret == pytest.approx(cost - met, abs=1e-5)


def test_the_true_law_approaches_the_best_expected_cost():
    problem, order = newsvendor()
    law = TrueLaw(lambda X, k, rng: 5 + rng.normal(size=(len(X), k, 1)), 60)
    found = WeightedSample(problem, law).decide(np.zeros((2, 1)))
    from scipy.stats import norm

    # The 80 % quantile; its error is sqrt(.8 .2 / 60) over the density, .184.
    quantile = 5 + norm.ppf(0.8)
    assert found.value(order)[0, 0] == pytest.approx(quantile, abs=4 * 0.184)
    with pytest.raises(InvalidParameter, match=r"shape \(2, 60, m\)"):
        TrueLaw(lambda X, k, rng: np.zeros((k, 1)), 60).sample(np.zeros((2, 1)))


def test_the_clairvoyant_has_no_regret_and_nobody_beats_him():
    X, Y = shop(60)
    problem, order = newsvendor()
    seer = Clairvoyant(problem)
    best = seer.evaluate(X[:20], Y[:20])
    assert best.regret == pytest.approx(np.zeros(20), abs=1e-6)
    assert best.violation == 0.0
    ideal = np.maximum(Y[:20], 0)
    assert seer.decide(Y[:20]).value(order) == pytest.approx(ideal, abs=1e-6)
    other = WeightedSample(problem, NearestWeights(10).fit(X, Y)).evaluate(X, Y)
    assert (other.regret >= -1e-6).all()


def test_the_clairvoyant_of_two_parameters():
    a, b = sl.Uncertain(2, name="a"), sl.Uncertain(1, name="b")
    w = cp.Variable(2, nonneg=True, name="w")
    sets = {a: sl.sets.Box([0.0, 0.0], [1.0, 1.0]), b: sl.sets.Box([0.0], [1.0])}
    problem = sl.RobustProblem(cp.Maximize(a @ w), [cp.sum(w) <= b], sets)
    Y = {"a": [[0.1, 0.4], [0.3, 0.2]], "b": [2.0, 1.0]}
    assert Clairvoyant(problem).decide(Y).objective == pytest.approx([0.8, 0.3])
    with pytest.raises(InvalidParameter, match=r"each of \['a', 'b'\]"):
        Clairvoyant(problem).decide(Y["a"])
    with pytest.raises(InvalidParameter, match="one set of uncertain parameters"):
        WeightedSample(problem, NearestWeights())


def test_what_is_refused():
    X, Y = shop(30)
    problem, _ = newsvendor()
    with pytest.raises(InvalidParameter, match=r"one of \('every', 'mean'\)"):
        WeightedSample(problem, NearestWeights(), constraints="some")
    with pytest.raises(NotCalibrated, match="needs past outcomes"):
        WeightedSample(problem, NearestWeights()).decide(X)
    wide = NearestWeights(5).fit(X, np.hstack([Y, Y]))
    with pytest.raises(InvalidParameter, match="must have 1 components"):
        WeightedSample(problem, wide).decide(X)
    with pytest.raises(InvalidParameter, match="from 1 to the 30 past contexts"):
        NearestWeights(0).fit(X, Y)
    with pytest.raises(InvalidParameter, match="must be one of"):
        KernelWeights(kernel="cosine").fit(X, Y)
    with pytest.raises(InvalidParameter, match="must be a positive number"):
        KernelWeights(bandwidth=-1.0).fit(X, Y)
    with pytest.raises(InvalidParameter, match="as many rows, at least one"):
        NearestWeights(2).fit(X, Y[:5])
    policy = WeightedSample(problem, NearestWeights(5).fit(X, Y))
    with pytest.raises(InvalidParameter, match="X and Y must have as many rows"):
        policy.evaluate(X[:3], Y[:2])


def test_constraints_on_average_must_be_inequalities():
    X, Y = shop(30)
    y, x = sl.Uncertain(1, name="y"), cp.Variable(1, name="x")
    kept = [cp.NonNeg(x - y)]
    problem = sl.RobustProblem(cp.Minimize(cp.sum(x)), kept, {y: ANYWHERE})
    scheme = NearestWeights(5).fit(X, Y)
    every = WeightedSample(problem, scheme).decide(X[:2]).objective
    assert every == pytest.approx(scheme.sample(X[:2]).outcomes.max(axis=1)[:, 0])
    with pytest.raises(InvalidParameter, match="takes inequalities <= and >="):
        WeightedSample(problem, scheme, constraints="mean").decide(X[:2])
