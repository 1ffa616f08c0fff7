"""sl.Rationed: less protection where it is expensive."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import sublevel as sl
from sublevel.errors import CertificateVoid, InvalidParameter

DIM = 3


def noisy(X):
    """A mean of 5 and a spread that moves with X."""
    X = np.asarray(X)
    return np.full((len(X), 1), 5.0), np.exp(X[:, :1])


def stock_policy(model, loss="gaussian", cap=None):
    """One need that must be met: certified is the mean plus radius times spread."""
    need, have = sl.Uncertain(1, name="need"), cp.Variable(1, name="have")
    limits = [have >= need] + ([] if cap is None else [have <= cap])
    problem = sl.RobustProblem(
        cp.Minimize(have), limits, {need: sl.LossSet(model, loss)}
    )
    return problem.compile()


def turned(X):
    """Means and factors of three prices, which turn with X."""
    X = np.asarray(X)
    base = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-0.3, 0.2, 0.9]])
    size = np.exp(X[:, :1] * [1.0, 0.5, -0.5])
    return 2.0 + X, size[:, :, None] * base


def price_policy(model, sense=1.0):
    price, buy = sl.Uncertain(DIM, name="price"), cp.Variable(DIM, name="buy")
    limits = [cp.sum(buy) == 1, cp.abs(buy) <= 2]
    goal = cp.Minimize(price @ buy) if sense > 0 else cp.Maximize(-(price @ buy))
    sets = sl.LossSet(model, "gaussian")
    return sl.RobustProblem(goal, limits, {price: sets}).compile()


def shares_of(stakes, power, alpha=0.1):
    """Radii in units of the typical one, and the typical stake, by bisection."""
    z = norm.ppf(1 - alpha)
    low, high = np.log(stakes).min() - 10 / power, np.log(stakes).max() + 1.0
    for _ in range(100):
        middle = (low + high) / 2
        shares = np.clip(1 - power * (np.log(stakes) - middle), 0.0, None)
        if np.mean(1 - norm.cdf(z * shares)) > alpha:
            low = middle
        else:
            high = middle
    return np.maximum(shares, 1e-3), np.exp(middle)


def contexts(n, seed, width=1):
    return np.random.default_rng(seed).normal(size=(n, width))


@pytest.mark.parametrize("power", [0.4, 1.0, 2.0])
def test_one_need_has_its_spread_at_stake(power):
    X = contexts(20, 0)
    rationed = sl.Rationed(stock_policy(noisy), X, power=power)
    spread = np.exp(X[:, 0])
    np.testing.assert_allclose(rationed.stakes(X), spread, rtol=1e-6)
    shares, typical = shares_of(spread, power)
    assert rationed.typical == pytest.approx(typical, rel=1e-6)
    prediction = rationed(X)
    np.testing.assert_allclose(
        prediction.scale[:, 0], spread * shares, rtol=1e-5, atol=1e-6
    )
    # Some have no protection worth its cost, if stakes matter much.
    assert (shares.min() == 1e-3) == (power > 0.4)
    np.testing.assert_array_equal(prediction.location, 5.0)
    assert prediction.factor is None


def test_without_a_power_the_model_stays_as_it_is():
    X = contexts(20, 0)
    rationed = sl.Rationed(stock_policy(noisy), X, power=0.0)
    assert rationed.typical == pytest.approx(np.exp(np.mean(X)), rel=1e-6)
    np.testing.assert_allclose(rationed(X).scale, np.exp(X), rtol=1e-12)


def test_a_prediction_depends_on_its_own_context_only():
    X = contexts(12, 10, DIM)
    rationed = sl.Rationed(price_policy(turned), X)
    together = rationed(X).factor
    for rows in ([3], [7, 2], [11, 3, 0]):
        np.testing.assert_allclose(rationed(X[rows]).factor, together[rows], rtol=1e-6)


@pytest.mark.parametrize("spread_of_log", [0.3, 1.0, 3.0])
def test_however_stakes_differ_normal_errors_are_within_reach(spread_of_log):
    def model(X):
        return np.full((len(X), 1), 5.0), np.exp(spread_of_log * np.asarray(X))

    rows = 500
    X = np.random.default_rng(11).normal(size=(rows, 1))
    rationed = sl.Rationed(stock_policy(model), X, alpha=0.1)
    every = norm.ppf((np.arange(1000) + 0.5) / 1000)[:, None]

    def beyond(radius):
        shares = rationed(every).scale / np.exp(spread_of_log * every)
        return norm.sf(radius * shares)

    z = norm.ppf(0.9)
    # What the typical stake comes to is the mean over the training contexts.
    error = beyond(z).std() / np.sqrt(rows)
    assert beyond(z).mean() == pytest.approx(0.1, abs=3 * error)
    # A twin whose typical stake is the geometric mean leaves too many unprotected.
    rationed.typical = 1.0
    assert beyond(z).mean() > 0.1 + 3 * error
    assert (beyond(10 * z).mean() > 0.1) == (spread_of_log == 3.0)


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_stakes_are_those_of_the_problem_written_out(sense):
    X = contexts(6, 1, DIM)
    mean, factor = turned(X)

    def cost(row, radius):
        buy = cp.Variable(DIM)
        worst = mean[row] @ buy + radius * cp.norm(factor[row].T @ buy)
        limits = [cp.sum(buy) == 1, cp.abs(buy) <= 2]
        return cp.Problem(cp.Minimize(worst), limits).solve(solver=cp.CLARABEL)

    z = norm.ppf(0.9)
    slopes = [(cost(row, z) - cost(row, 0.0)) / z for row in range(len(X))]
    rationed = sl.Rationed(price_policy(turned, sense), X, alpha=0.1, power=0.5)
    np.testing.assert_allclose(rationed.stakes(X), slopes, rtol=1e-5)
    ratio, _ = shares_of(np.array(slopes), 0.5)
    np.testing.assert_allclose(
        rationed(X).factor, ratio[:, None, None] * factor, rtol=1e-5, atol=1e-12
    )


def test_the_power_is_that_of_normal_errors():
    X, policy = contexts(5, 2), stock_policy(noisy)
    for alpha in (0.01, 0.1):
        z = norm.ppf(1 - alpha)
        assert sl.Rationed(policy, X, alpha).power == pytest.approx(z**-2)
        # The slope of log t, for t^2 = c - 2 log s, at t = z.
        t = [np.sqrt(z**2 - 2 * log_s) for log_s in (-1e-6, 1e-6)]
        assert (t[0] - t[1]) / 2e-6 / z == pytest.approx(z**-2, rel=1e-4)
    assert sl.Rationed(policy, X, 0.2).power == 1.0
    assert sl.Rationed(policy, X, 0.6).radius == 0.5


def test_a_context_without_a_decision_has_the_typical_stake():
    X = np.array([[-1.0], [0.0], [3.0]])
    rationed = sl.Rationed(stock_policy(noisy, cap=10.0), X, power=1.0)
    _, typical = shares_of(np.exp([-1.0, 0.0]), 1.0)
    assert rationed.typical == pytest.approx(typical, rel=1e-6)
    assert rationed.stakes(X)[2] == pytest.approx(rationed.typical)
    assert rationed(X).scale[2, 0] == pytest.approx(np.exp(3.0))


def test_a_context_with_nothing_at_stake_stays_finite():
    def either(X):
        return np.full((len(X), 1), 5.0), np.where(np.asarray(X) > 0, 1.0, 1e-9)

    rationed = sl.Rationed(stock_policy(either), np.ones((3, 1)), power=0.5)
    (scale,) = rationed(-np.ones((1, 1))).scale[:, 0]
    assert scale == pytest.approx(1e-9 * (1 - 0.5 * np.log(1e-4)), rel=1e-6)


def test_saved_policies_decide_alike(tmp_path):
    X, fresh = contexts(60, 3, DIM), contexts(5, 4, DIM)
    rng = np.random.default_rng(5)
    mean, factor = turned(X)
    Y = mean + np.einsum("nij,nj->ni", factor, rng.normal(size=mean.shape))
    rationed = sl.Rationed(price_policy(turned), X[:20], alpha=0.2)
    policy = price_policy(rationed).calibrate(X[20:], Y[20:], alpha=0.2)
    decided = policy.decide(fresh)
    assert decided.certificate.alpha == 0.2
    policy.save(tmp_path / "policy.npz")
    for models, given in (({"price": rationed}, fresh), (None, rationed(fresh))):
        loaded = sl.load_policy(tmp_path / "policy.npz", models).decide(given)
        np.testing.assert_allclose(loaded.objective, decided.objective, rtol=1e-6)


def test_another_power_voids_the_certificate():
    X = contexts(60, 6)
    Y = 5.0 + np.exp(X) * np.random.default_rng(7).normal(size=X.shape)
    rationed = sl.Rationed(stock_policy(noisy), X[:20], alpha=0.2)
    policy = stock_policy(rationed).calibrate(X[20:], Y[20:], alpha=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert policy.decide(X[:3]).certificate.alpha == 0.2
    rationed.power = 0.0
    with pytest.warns(CertificateVoid, match="predicts something else"):
        policy.decide(X[:3])


def at_best(alpha, spread_of_log):
    """Mean certified cost of the best radii, and of one radius: known normal errors.

    Independent of the library: t^2 = c - 2 log s where that is positive, else 0.
    """
    logs = norm.ppf((np.arange(4000) + 0.5) / 4000) * spread_of_log

    def radii(c):
        return np.sqrt(np.maximum(c - 2 * logs, 0.0))

    c = brentq(lambda c: norm.sf(radii(c)).mean() - alpha, 0.01, 20.0)
    spreads = np.exp(logs)
    return np.mean(radii(c) * spreads), norm.ppf(1 - alpha) * spreads.mean()


def certified_and_violation(model, X, Y, X_test, Y_test, shrink=1.0):
    policy = stock_policy(model).calibrate(X, Y, alpha=0.1)
    decided = policy.at(shrink * policy.budget_).decide(X_test).objective
    return decided.mean() - 5.0, np.mean(Y_test[:, 0] > decided)


@pytest.mark.slow
def test_it_saves_half_of_what_can_be_saved_and_keeps_the_promise():
    rng, spread_of_log, runs, size = np.random.default_rng(8), 0.6, 20, 400

    def model(X):
        return np.full((len(X), 1), 5.0), np.exp(spread_of_log * np.asarray(X))

    def draw(n):
        X = rng.normal(size=(n, 1))
        return X, 5.0 + np.exp(spread_of_log * X) * rng.normal(size=(n, 1))

    rationed = sl.Rationed(stock_policy(model), draw(200)[0], alpha=0.1)
    seen = {"plain": [], "rationed": [], "shrunk": []}
    for _ in range(runs):
        data = (*draw(size), *draw(2000))
        seen["plain"].append(certified_and_violation(model, *data))
        seen["rationed"].append(certified_and_violation(rationed, *data))
        seen["shrunk"].append(certified_and_violation(rationed, *data, shrink=0.6))
    means = {name: np.mean(rows, axis=0) for name, rows in seen.items()}
    best, alike = at_best(0.1, spread_of_log)
    assert means["plain"][0] == pytest.approx(alike, rel=0.05)
    # One step of the grid, 2.5 % of a radius, is rounded up.
    assert means["rationed"][0] <= alike - 0.5 * (alike - best)
    assert means["rationed"][0] >= 0.97 * best
    limit = 0.1 + 3 * np.sqrt(0.09 * (1 / (size + 2) + 1 / 2000) / runs)
    assert means["rationed"][1] <= limit
    assert means["shrunk"][1] > limit


def test_what_is_refused():
    X, policy = contexts(4, 9), stock_policy(noisy)
    with pytest.raises(InvalidParameter, match=r"loss='gaussian'.*got NLL"):
        sl.Rationed(stock_policy(noisy, "nll"), X)
    for other in (noisy, sl.LossSet(noisy, "gaussian")):
        with pytest.raises(InvalidParameter, match="must be a Policy with one LossSet"):
            sl.Rationed(other, X)
    for power in (-0.1, np.inf, "half", True):
        with pytest.raises(InvalidParameter, match=r"power=.*at least 0"):
            sl.Rationed(policy, X, power=power)
    with pytest.raises(InvalidParameter, match="alpha"):
        sl.Rationed(policy, X, alpha=1.0)
    with pytest.raises(InvalidParameter, match=r"got none. Give the X"):
        sl.Rationed(policy, X[:0])
    with pytest.raises(InvalidParameter, match="none among 4"):
        sl.Rationed(stock_policy(noisy, cap=1.0), X)


def test_it_says_what_it_is():
    said = repr(sl.Rationed(stock_policy(noisy), contexts(20, 0)))
    assert said.startswith("Rationed(power=0.609, radius=1.28, typical=")


def test_next_to_nothing_at_stake_does_not_move_what_is_typical():
    """A stake that is solver noise counts as a small one, not by its logarithm."""
    spread = np.append(np.full(20, 1.0), 1e-9)

    def model(X):
        return np.full((len(X), 1), 5.0), spread[: len(X), None]

    typical = sl.Rationed(stock_policy(model), np.zeros((21, 1)), power=0).typical
    assert typical == pytest.approx(1e-4 ** (1 / 21), rel=1e-6)
