"""Every source end to end: compiled, decided, audited, evaluated, calibrated."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import binom
from sklearn.linear_model import LinearRegression, LogisticRegression

import sublevel as sl
from sublevel.baselines import (
    ClassicalEllipsoid,
    ConformalEllipsoid,
    NearestEllipsoid,
    PhiDivergence,
    PointPrediction,
    PredictThenCalibrateBox,
    PredictThenCalibrateEllipsoid,
    TrueMoments,
    TwoStage,
)
from sublevel.errors import InvalidParameter

M = 4
SLOPES = np.random.default_rng(9).normal(size=(3, M))


def mean(X):
    return 2 + X @ SLOPES


def scale(X):
    return 0.2 + 0.3 * np.abs(X[:, :1]) * np.ones((1, M))


def draw(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, mean(X) + scale(X) * rng.normal(size=(n, M))


X_TRAIN, Y_TRAIN = draw(400, 0)
X_CAL, Y_CAL = draw(100, 1)
X_TEST, Y_TEST = draw(40, 2)

SOURCES = {
    "point": PointPrediction(LinearRegression()),
    "classical": ClassicalEllipsoid(0.1),
    "covariance": ClassicalEllipsoid(0.1, spread="full"),
    "nearest": NearestEllipsoid(25),
    "flat": NearestEllipsoid(3),
    "box": PredictThenCalibrateBox(LinearRegression(), 0.1),
    "ellipsoid": PredictThenCalibrateEllipsoid(LinearRegression(), 0.1),
    "conformal": ConformalEllipsoid(LinearRegression(), 0.1),
    "two stages": TwoStage(0.1),
    "oracle": TrueMoments(mean, scale, 0.1),
}


@pytest.fixture(scope="module", params=list(SOURCES))
def source(request):
    return SOURCES[request.param].fit(X_TRAIN, Y_TRAIN)


def portfolio(sets):
    r, w = sl.Uncertain(M, name="r"), cp.Variable(M, nonneg=True, name="w")
    return sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets}), w


def best_worst_case(region):
    """The robust portfolio by cutting planes, with the set's own oracle alone."""
    cuts = [region.worst_case(-axis) for axis in np.eye(M)]
    w, goal = cp.Variable(M, nonneg=True), cp.Variable()
    while True:
        above = [goal <= cut @ w for cut in cuts]
        cp.Problem(cp.Maximize(goal), [cp.sum(w) == 1, *above]).solve(solver=cp.HIGHS)
        worst = region.worst_case(-w.value)
        if worst @ w.value >= goal.value - 1e-7:
            return float(goal.value)
        cuts.append(worst)


def test_decisions_are_the_robust_ones(source):
    problem, w = portfolio(source)
    policy = problem.compile()
    assert policy.one_by_one is None
    found = policy.decide(X_TEST)
    assert (found.status == "optimal").all()
    assert found.audit.gap.max() <= 1e-5
    batch = source.predict_set(X_TEST)
    for i in (0, 7):
        expected = best_worst_case(batch[i])
        assert found.objective[i] == pytest.approx(expected, abs=2e-5)
        single = problem.solve(X_TEST[i : i + 1])
        assert single.objective == pytest.approx(expected, abs=2e-5)
    worst = -batch.support(-found.value(w))
    assert worst == pytest.approx(found.objective, abs=1e-5)


def test_evaluation_adds_up(source):
    problem, w = portfolio(source)
    policy = problem.compile()
    found, weights = policy.evaluate(X_TEST, Y_TEST), policy.decide(X_TEST).value(w)
    realised = np.sum(Y_TEST * weights, axis=1)
    assert found.realised == pytest.approx(realised, abs=1e-6)
    assert found.regret == pytest.approx(Y_TEST.max(axis=1) - realised, abs=1e-5)
    # A return below the certified one needs an outcome outside the set.
    outside = ~source.predict_set(X_TEST).contains(Y_TEST)
    assert not (found.violated & ~outside).any()


def test_decisions_can_be_calibrated(source):
    problem, _ = portfolio(source)
    policy = problem.compile().calibrate(X_CAL, Y_CAL, alpha=0.2)
    assert not policy.certificate_.heuristic
    violated = policy.evaluate(*draw(400, 3)).violated.sum()
    # Given 100 calibration points the rate is Beta(20, 81) at most; then binomial.
    from scipy.stats import betabinom

    assert violated <= betabinom.isf(1e-5, 400, 20, 81)


def test_rows_a_source_was_fitted_on_are_refused(source):
    policy = portfolio(source)[0].compile()
    if isinstance(source, TrueMoments):
        # It learns from no rows, so none were seen.
        policy.calibrate(X_TRAIN[:100], Y_TRAIN[:100], alpha=0.2)
        assert np.isfinite(policy.budget_)
        return
    with pytest.raises(InvalidParameter, match="not trained on"):
        policy.calibrate(X_TRAIN[:100], Y_TRAIN[:100], alpha=0.2)


def test_uncertain_constraints_and_signs(source):
    y = sl.Uncertain(M, name="y", nonneg=True)
    x = cp.Variable(M, nonneg=True, name="x")
    kept = [x >= y, y @ x <= 500.0]
    problem = sl.RobustProblem(cp.Minimize(cp.sum(x)), kept, {y: source})
    policy = problem.compile()
    found = policy.decide(X_TEST)
    batch = source.predict_set(X_TEST)
    decided = found.status == "optimal"
    # A set without a nonnegative outcome has nothing to protect against.
    assert set(found.status) <= {"optimal", "empty_set"}
    for i in [*np.flatnonzero(~decided), *np.flatnonzero(decided)[:2]]:
        assert has_nonnegative(batch[i]) == decided[i]
    upper, order = batch.bounds()[1][decided], found.value(x)[decided]
    if isinstance(source, TwoStage | PredictThenCalibrateBox):
        assert order == pytest.approx(np.maximum(upper, 0), abs=1e-4)
    assert (order <= np.maximum(upper, 0) + 1e-4).all()


def has_nonnegative(region):
    point = cp.Variable(M, nonneg=True)
    task = cp.Problem(cp.Minimize(0), region.constraints(point))
    task.solve(solver=cp.CLARABEL)
    return task.status == "optimal"


def test_whole_decisions(source):
    y, z = sl.Uncertain(M, name="y"), cp.Variable(M, boolean=True, name="z")
    problem = sl.RobustProblem(cp.Minimize(y @ z), [cp.sum(z) >= 2], {y: source})
    found = problem.compile().decide(X_TEST[:2])
    batch = source.predict_set(X_TEST[:2])
    pairs = [np.eye(M)[i] + np.eye(M)[j] for i in range(M) for j in range(i)]
    for i in range(2):
        best = min(batch[i].support(pair) for pair in pairs)
        assert found.objective[i] == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("name", ["kl", "burg", "chi_square", "hellinger"])
def test_newsvendor_over_laws(name):
    """Worst expected cost on a grid of orders and laws (b = 6, h = 4, c = 1)."""
    labels = ["high"] * 30 + ["low"] * 70
    sets = PhiDivergence(name, alpha=0.1).fit(np.zeros((100, 1)), labels)
    p, x, t = sl.Uncertain(2, name="p"), cp.Variable(name="x"), cp.Variable(2)
    demand = np.array([10.0, 1.0])
    cost = [t >= 6 * (demand - x), t >= 4 * (x - demand), x >= 0]
    problem = sl.RobustProblem(cp.Minimize(p @ t + x), cost, {p: sets})
    policy = problem.compile()
    assert policy.one_by_one is None
    found = policy.decide(np.zeros((3, 1)))
    share = np.linspace(1e-6, 1 - 1e-6, 20_001)
    laws = np.column_stack([share, 1 - share])
    laws = laws[sets.set_.contains(laws)]
    orders = np.linspace(0, 12, 1201)
    costs = np.maximum(6 * (demand - orders[:, None]), 4 * (orders[:, None] - demand))
    worst = (costs @ laws[[0, -1]].T).max(axis=1) + orders
    assert found.objective == pytest.approx(np.full(3, worst.min()), abs=5e-3)
    fixed = sl.RobustProblem(cp.Minimize(p @ t + x), cost, {p: sets.set_}).solve()
    assert found.objective[0] == pytest.approx(fixed.objective, abs=1e-4)


def test_the_published_newsvendor_numbers():
    # c=1, b=6, h=4, demands 1 and 10 equally likely: the cost is flat at 28, and the
    # regret of the middle order is 28 less the clairvoyant's 5.5.
    labels = ["1 low", "2 high"] * 1000
    X = np.zeros((2000, 1))
    sets = PhiDivergence("kl", alpha=0.1, rule="asymptotic").fit(X, labels)
    assert sets.budget_ == pytest.approx(0.000676, abs=5e-7)
    p, x, t = sl.Uncertain(2, name="p"), cp.Variable(name="x"), cp.Variable(2)
    demand = np.array([1.0, 10.0])
    cost = [t >= 6 * (demand - x), t >= 4 * (x - demand), x >= 0]
    policy = sl.RobustProblem(cp.Minimize(p @ t + x), cost, {p: sets}).compile()
    found = policy.evaluate(X[:10], labels[:10])
    assert found.certified == pytest.approx(np.full(10, 28.0), abs=1e-3)
    assert found.regret.mean() == pytest.approx(22.5, abs=1e-2)


def test_the_normal_oracle_violates_exactly_as_often_as_it_says():
    X, Y = draw(4000, 5)
    rate = {}
    for factor in (1.0, 0.8):
        truth = TrueMoments(mean, lambda X, f=factor: f * scale(X), 0.1, noise="normal")
        rate[factor] = portfolio(truth)[0].compile().evaluate(X, Y).violated.sum()
    low, high = binom.ppf(1e-6, 4000, 0.1), binom.isf(1e-6, 4000, 0.1)
    assert low <= rate[1.0] <= high
    assert rate[0.8] > high


def test_a_classifiers_probabilities_are_a_point():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    labels = np.where(X[:, 0] + 0.5 * rng.normal(size=200) > 0, "1 low", "2 high")
    sets = PointPrediction(LogisticRegression()).fit(X, labels)
    p, w = sl.Uncertain(2, name="p"), cp.Variable(2, nonneg=True, name="w")
    problem = sl.RobustProblem(cp.Maximize(p @ w), [cp.sum(w) == 1], {p: sets})
    found = problem.compile().evaluate(X, labels)
    assert found.realised.mean() == pytest.approx(
        np.mean(sets.model_.predict(X) == labels)
    )
