"""Models of three libraries in one set, one robust problem, from data to audit."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import betabinom
from sklearn.linear_model import LinearRegression

import sublevel as sl

lightgbm = pytest.importorskip("lightgbm")
pytest.importorskip("torch")

from sublevel.models import nets  # noqa: E402

ALPHA, CALIBRATION = 0.1, 99

ORDER = cp.Variable(2, nonneg=True, name="order")
HURRY = cp.Variable(nonneg=True, name="hurry")


def draw(n, seed):
    """Two demands and whether the supplier is open, from three covariates."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    first = 5 + 2 * X[:, 0] + 0.3 * rng.normal(size=n)
    second = 4 + np.abs(X[:, 1]) + 0.2 * rng.normal(size=n)
    late = X[:, 2] + 0.3 * rng.normal(size=n) > 0
    return X, np.column_stack([first, second, late.astype(float)])


@pytest.fixture(scope="module")
def sets():
    X, Y = draw(500, 0)
    models = [
        LinearRegression(),
        lightgbm.LGBMRegressor(n_estimators=40, num_leaves=7, verbose=-1, n_jobs=1),
        nets.NetworkClassifier(n_restarts=1, random_state=0),
    ]
    loss = sl.losses.Combined(["squared", "absolute", "cross_entropy"])
    found = sl.LossSet(models, loss=loss).fit(X, Y)
    return found.calibrate(*draw(CALIBRATION, 1), alpha=ALPHA)


@pytest.fixture(scope="module")
def problem(sets):
    """Order for two demands; a late delivery costs extra."""
    y = sl.Uncertain(4, name="y")
    kept = [ORDER[0] >= y[0], ORDER[1] >= y[1], 2 * y[3] <= HURRY]
    return sl.RobustProblem(cp.Minimize(cp.sum(ORDER) + HURRY), kept, {y: sets})


def test_every_block_is_its_own_model(sets):
    X, Y = draw(50, 2)
    batch = sets.predict_set(X)
    assert batch.names == ("y0", "y1", "y2=0.0", "y2=1.0")
    vectors = batch.outcomes.encode(Y)
    squared, absolute, entropy = sets.losses_[0].components(batch.prediction, vectors).T
    weights = sets.losses_[0].weights
    linear, boosted, network = sets.model_.models_
    assert squared == pytest.approx((Y[:, 0] - linear.predict(X)) ** 2 / weights[0])
    assert absolute == pytest.approx(np.abs(Y[:, 1] - boosted.predict(X)) / weights[1])
    chance = network.predict_proba(X)[np.arange(50), Y[:, 2].astype(int)]
    assert entropy == pytest.approx(-np.log(chance) / weights[2])


def test_the_set_keeps_its_promise(sets):
    X, Y = draw(2000, 3)
    most = betabinom.isf(1e-5, 2000, 10, 90)
    # Given 99 scores, the rate is Beta(10, 90) at most; then binomial.
    assert (~sets.predict_set(X).contains(Y)).sum() <= most
    half = sets.predict_set(X, budget=sets.budget_ / 2)
    assert (~half.contains(Y)).sum() > most


def test_decisions_are_audited_and_safe_inside_the_set(sets, problem):
    policy = problem.compile()
    X, Y = draw(15, 3)
    found = policy.decide(X)
    assert (found.status == "optimal").all()
    assert found.audit.gap.max() <= 1e-5
    inside = sets.predict_set(X).contains(Y)
    late = found.value(HURRY) < 2 * Y[:, 2] - 1e-5
    short = (found.value(ORDER) < Y[:, :2] - 1e-5).any(axis=1)
    assert inside.sum() >= 8
    assert not ((late | short) & inside).any()


def test_orders_are_the_largest_demands_of_the_set(sets, problem):
    X, _ = draw(3, 4)
    found = problem.compile().decide(X)
    batch = sets.predict_set(X)
    for i in range(3):
        for k in range(2):
            reach = batch[i].support(np.eye(4)[k])
            assert found.value(ORDER)[i, k] == pytest.approx(reach, abs=1e-4)


@pytest.mark.slow
def test_calibrated_decisions_violate_at_most_as_often_as_promised(problem):
    policy = problem.compile().calibrate(*draw(19, 5), alpha=ALPHA)
    assert not policy.certificate_.heuristic
    found = policy.evaluate(*draw(40, 6))
    # Given 19 scores, the rate is Beta(2, 18) at most; then binomial.
    assert found.violated.sum() <= betabinom.isf(1e-5, 40, 2, 18)
    assert found.violated.sum() < 20
