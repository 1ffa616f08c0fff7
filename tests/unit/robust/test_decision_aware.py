"""Calibration of decisions, on problems small enough to know the answer."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import sublevel as sl
from sublevel.errors import InfiniteBudget, InvalidParameter
from sublevel.guarantees import (
    PAC,
    Calibration,
    Certificate,
    CVPlus,
    Marginal,
    Mondrian,
    Weighted,
)
from sublevel.robust.evaluating import realised
from sublevel.robust.judge.statuses import FAILED
from sublevel.robust.sources import AtLevel

GRID = np.geomspace(0.02, 20.0, 25)


def mean_model(width):
    """A model fitted elsewhere: it predicts the first columns of X."""
    return lambda X: np.asarray(X)[:, :width]


def contexts(rng, n, width=2, noise=1.0):
    X = rng.normal(size=(n, width)) + 3
    return X, X + noise * rng.normal(size=(n, width))


def portfolio(width=2, loss="squared", model=None):
    """Maximise the worst return on the simplex."""
    sets = sl.LossSet(model or mean_model(width), loss)
    r, w = sl.Uncertain(width, name="r"), cp.Variable(width, nonneg=True, name="w")
    return sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})


def cover(width=1, loss="squared", limit=None):
    """Least x above every outcome: violated exactly if the outcome is above."""
    sets = sl.LossSet(mean_model(width), loss)
    y, x = sl.Uncertain(width, name="y"), cp.Variable(width, name="x")
    limits = [x >= y] + ([] if limit is None else [x <= limit])
    return sl.RobustProblem(cp.Minimize(cp.sum(x)), limits, {y: sets}), x


def violations(policy, level, X, Y):
    """Whether decisions at a level violate, context by context."""
    (sets,) = policy.problem.uncertainty.values()
    outcomes = sets.predict_set(X, budget=1.0).outcomes.encode(Y, "test")
    decisions = policy.at(float(level)).decide(X)
    return realised(policy, decisions.arrays, [outcomes]).violated


def brute_force(problem, X, Y, grid, allowed):
    """The definition: decide at every level, look at every outcome."""
    policy = problem.compile()
    table = np.array([violations(policy, level, X, Y) for level in grid])
    (sets,) = problem.uncertainty.values()
    scores = sets.scores(X, Y)
    envelope = []
    for p in range(len(Y)):
        bad = np.flatnonzero(table[:, p])
        level = grid[0] if not bad.size else grid[min(bad[-1] + 1, len(grid) - 1)]
        if scores[p] > grid[-1]:
            level = scores[p]
        envelope.append(level)
    return np.sort(envelope)[len(Y) - allowed - 1]


@pytest.mark.parametrize("seed", range(4))
def test_equals_the_definition(seed):
    rng = np.random.default_rng(seed)
    X, Y = contexts(rng, 40)
    problem = portfolio()
    policy = problem.compile().calibrate(X, Y, alpha=0.1, grid=GRID)
    assert policy.budget_ == brute_force(problem, X, Y, GRID, allowed=3)


def test_a_one_sided_promise_by_hand():
    """x = prediction + sqrt(budget), so only outcomes above the prediction count."""
    rng = np.random.default_rng(0)
    X, Y = contexts(rng, 99, width=1)
    policy = cover()[0].compile().calibrate(X, Y, alpha=0.1)
    above = np.sort(np.maximum((Y - X)[:, 0], 0.0))[99 - 9 - 1]
    assert above**2 <= policy.budget_ <= 1.05 * above**2 * (1 + 1e-5)
    assert policy.radius_ == pytest.approx(np.sqrt(policy.budget_))
    assert policy.certificate_.budget == policy.budget_


def test_never_above_the_marginal_budget_by_more_than_a_step():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        width = int(rng.integers(1, 4))
        X, Y = contexts(rng, 30, width=width, noise=rng.uniform(0.1, 3))
        alpha = float(rng.choice([0.05, 0.1, 0.3]))
        make = portfolio if rng.random() < 0.5 else lambda k: cover(k)[0]
        policy = make(width).compile().calibrate(X, Y, alpha)
        (sets,) = policy.problem.uncertainty.values()
        plain = Marginal().certify(sets.scores(X, Y), alpha).budget
        assert policy.budget_ <= 1.05 * plain


def test_order_of_the_points_does_not_matter():
    rng = np.random.default_rng(1)
    X, Y = contexts(rng, 60)
    policy = portfolio().compile()
    one = policy.calibrate(X, Y, 0.1).budget_
    order = rng.permutation(60)
    assert policy.calibrate(X[order], Y[order], 0.1).budget_ == one


def test_calibrating_again_forgets_what_was():
    rng = np.random.default_rng(2)
    X, Y = contexts(rng, 60)
    problem = portfolio()
    policy = problem.compile()
    first = policy.calibrate(X, Y, 0.2).budget_
    policy.calibrate(X, Y, 0.05)
    assert policy.budget_ > first
    assert policy.calibrate(X, Y, 0.2).budget_ == first
    with pytest.raises(InvalidParameter):
        policy.calibrate(X, Y[:10], 0.2)
    assert policy.budget_ == first
    assert policy.decide(X[:2]).certificate is policy.certificate_


def test_confidence_costs_a_larger_budget():
    rng = np.random.default_rng(3)
    X, Y = contexts(rng, 99, width=1)
    policy = cover()[0].compile().calibrate(X, Y, alpha=0.1, delta=0.1)
    rank = PAC(0.1).rank(99, 0.1)
    above = np.sort(np.maximum((Y - X)[:, 0], 0.0))[rank - 1]
    assert above**2 <= policy.budget_ <= 1.05 * above**2 * (1 + 1e-5)
    assert policy.certificate_.confidence == pytest.approx(0.9)
    assert "independent" in policy.certificate_.assumptions[0]


def test_learn_then_test_counts_level_by_level():
    rng = np.random.default_rng(4)
    X, Y = contexts(rng, 99)
    problem = portfolio()
    policy = problem.compile()
    tested = policy.calibrate(X, Y, 0.1, method="learn-then-test", grid=GRID)
    assert tested.certificate_.confidence == pytest.approx(0.95)
    allowed = 99 - PAC(0.05).rank(99, 0.1)
    counts = [int(violations(policy, v, X, Y).sum()) for v in GRID]
    passed = [k for k in range(len(GRID)) if max(counts[k:]) <= allowed]
    found = problem.compile().calibrate(
        X, Y, 0.1, 0.05, method="learn-then-test", grid=GRID
    )
    assert found.budget_ == GRID[passed[0]]
    pac = problem.compile().calibrate(X, Y, 0.1, 0.05, grid=GRID)
    assert found.budget_ <= pac.budget_


def test_risk_by_hand():
    """The mean miss, relative and at most 1, of x = prediction + sqrt(budget)."""
    rng = np.random.default_rng(5)
    X, Y = contexts(rng, 80, width=1)
    policy = cover()[0].compile().calibrate(X, Y, 0.1, method="risk", grid=GRID)

    def risk(level):
        x = X[:, 0] + np.sqrt(level)
        miss = np.clip((Y[:, 0] - x) / (1 + np.abs(x)), 0, 1)
        return (miss.sum() + 1) / 81

    expected = next(level for level in GRID if risk(level) <= 0.1)
    assert policy.budget_ == expected
    assert "in expectation at most 0.1" in " ".join(str(policy.certificate_).split())


def test_too_little_data_says_how_much_would_do():
    rng = np.random.default_rng(6)
    X, Y = contexts(rng, 18)
    policy = portfolio().compile()
    with pytest.warns(InfiniteBudget, match="at least 19 calibration points"):
        policy.calibrate(X, Y, alpha=0.05)
    assert policy.budget_ == np.inf
    assert policy.certificate_.minimum_sample_size == 19
    assert (policy.decide(X).status == "unbounded_set").all()
    with pytest.warns(InfiniteBudget, match="at least 29 calibration points"):
        policy.calibrate(X, Y, alpha=0.1, delta=0.05)
    X, Y = contexts(rng, 19)
    assert policy.calibrate(X, Y, alpha=0.05).budget_ < np.inf


def test_no_decision_is_no_violation():
    rng = np.random.default_rng(7)
    X, Y = contexts(rng, 60, width=1)
    problem, _ = cover(limit=4.0)
    policy = problem.compile().calibrate(X, Y, 0.1)
    seen = policy.evaluate(X, Y)
    lost = seen.status == "infeasible"
    assert lost.any()
    assert not seen.violated[lost].any()
    assert seen.violated.sum() <= 5


def capped(X, Y, budget, fallback):
    """Violations of x = prediction + sqrt(budget), or the fallback above 4."""
    x = X[:, 0] + np.sqrt(budget)
    x = np.where(x <= 4.0, x, fallback)
    return Y[:, 0] > x + 1e-6 * (1 + np.abs(x))


@pytest.mark.parametrize("fallback", [4.0, 5.0])
def test_the_fallback_counts_as_it_turns_out(fallback):
    rng = np.random.default_rng(8)
    X, Y = contexts(rng, 80, width=1)
    problem, x = cover(limit=4.0)
    policy = problem.compile()
    policy.calibrate(X, Y, 0.3, grid=GRID, fallback={x: [fallback]})
    table = np.array([capped(X, Y, level, fallback) for level in GRID])
    envelope = []
    for p in range(80):
        bad = np.flatnonzero(table[:, p])
        top = bad.size and bad[-1] == len(GRID) - 1
        envelope.append(np.inf if top else GRID[bad[-1] + 1] if bad.size else GRID[0])
    allowed = 80 - Marginal().rank(80, 0.3)
    assert policy.budget_ == np.sort(envelope)[80 - allowed - 1]
    assert np.isfinite(policy.budget_)
    decisions = policy.decide(X)
    lost = decisions.status == "fallback"
    assert lost.any()
    np.testing.assert_array_equal(decisions.value(x)[lost], fallback)
    np.testing.assert_array_equal(
        policy.evaluate(X, Y).violated, capped(X, Y, policy.budget_, fallback)
    )


def test_a_fallback_that_violates_cannot_be_certified():
    rng = np.random.default_rng(9)
    X, Y = contexts(rng, 80, width=1)
    problem, x = cover(limit=4.0)
    policy = problem.compile()
    for method in ("envelope", "learn-then-test", "risk"):
        with pytest.warns(InfiniteBudget, match="Not certifiable: the fallback"):
            policy.calibrate(X, Y, 0.1, fallback={x: [-5.0]}, method=method)
        assert policy.budget_ == np.inf
        # All that is left is the fallback, of which nothing is promised.
        assert policy.certificate_.alpha == 1.0
        assert (policy.decide(X).status == "fallback").all()


def test_a_safe_fallback_needs_no_grid_and_costs_nothing():
    rng = np.random.default_rng(10)
    X, Y = contexts(rng, 80, width=1)
    problem, x = cover(limit=4.0)
    plain = problem.compile().calibrate(X, Y, 0.1).budget_
    for method in ("envelope", "learn-then-test"):
        policy = problem.compile()
        policy.calibrate(X, Y, 0.1, fallback={x: [99.0]}, method=method)
        assert policy.certificate_.alpha == 0.1
        assert np.isfinite(policy.budget_)
    policy.calibrate(X, Y, 0.1, fallback={"x": 99.0})
    assert policy.budget_ == plain


def at_level(sets, level):
    """The sets at a level of which nothing is promised."""
    return AtLevel(sets, 1.0, Calibration(level, None))


def test_sets_precomputed_are_the_sets_at_the_budget():
    rng = np.random.default_rng(11)
    X, Y = contexts(rng, 120)
    for sets in (
        sl.LossSet(mean_model(2)),
        sl.LossSet(LinearRegression(), "absolute").calibrate(
            X[:60], Y[:60], 0.5, guarantee=sl.guarantees.CVPlus(4)
        ),
    ):
        budgets = rng.uniform(0.1, 3.0, size=20)
        batch = sets.predict_set(X[60:80], budget=1.0)
        rows = rng.permutation(20)
        moved = batch.at_budgets(rows, budgets[rows])
        directions = rng.normal(size=(20, 2))
        for i, row in enumerate(rows):
            at = at_level(sets, float(budgets[row]))
            one = at.predict_set(X[60 + row : 61 + row])
            np.testing.assert_allclose(
                moved[i : i + 1].support(directions[i]), one.support(directions[i])
            )
        losses = tuple(part.loss for part in moved.parts)
        assert losses == at_level(sets, 1.0).losses_


def two_keys():
    """A return to maximise and a load to bear, each with its own LossSet."""
    returns = sl.LossSet(mean_model(2))
    loads = sl.LossSet(lambda X: np.abs(np.asarray(X)[:, :2]), "absolute")
    r, a = sl.Uncertain(2, name="r"), sl.Uncertain(2, name="a")
    w = cp.Variable(2, nonneg=True, name="w")
    problem = sl.RobustProblem(cp.Maximize(r @ w), [a @ w <= 8], {r: returns, a: loads})
    return problem, returns, loads, r


def test_several_loss_sets_are_scaled_together():
    rng = np.random.default_rng(12)
    X, Y = contexts(rng, 160)
    loads = np.abs(X) + 0.3 * rng.normal(size=X.shape)
    problem, one, other, r = two_keys()
    policy = problem.compile()
    with pytest.raises(InvalidParameter, match="scales several LossSets together"):
        policy.calibrate(X[:80], {"r": Y[:80], "a": loads[:80]})
    one.calibrate(X[80:], Y[80:], 0.1)
    other.calibrate(X[80:], loads[80:], 0.1)
    policy.calibrate(X[:80], {r: Y[:80], "a": loads[:80]}, 0.1)
    shares = [policy.budget_[0] / one.budget_, policy.budget_[1] / other.budget_]
    assert shares[0] == pytest.approx(shares[1])
    assert shares[0] < 1
    assert policy.radius_ is None
    assert policy.certificate_.budget == pytest.approx(shares[0])
    seen = policy.evaluate(X[:80], {"r": Y[:80], "a": loads[:80]})
    assert 0 < seen.violated.sum() <= 7


def test_a_set_value_alongside_stays_as_it_is():
    rng = np.random.default_rng(13)
    X, Y = contexts(rng, 80)
    A = rng.uniform(0.5, 1.0, size=(80, 2))
    sets = sl.LossSet(mean_model(2))
    r, a = sl.Uncertain(2, name="r"), sl.Uncertain(2, name="a")
    w = cp.Variable(2, nonneg=True, name="w")
    box = sl.sets.Box([0.5, 0.5], [1.0, 1.0])
    problem = sl.RobustProblem(cp.Maximize(r @ w), [a @ w <= 2], {r: sets, a: box})
    policy = problem.compile().calibrate(X, {"r": Y, "a": A}, 0.1)
    alone = portfolio().compile().calibrate(X, Y, 0.1)
    assert isinstance(policy.budget_, float)
    assert policy.budget_ <= 1.05 * Marginal().certify(sets.scores(X, Y), 0.1).budget
    assert policy.budget_ > 0
    assert alone.budget_ > 0
    # No budget enlarges a set value: outcomes outside it are never covered.
    with pytest.warns(InfiniteBudget, match="outside sets that no budget enlarges"):
        policy.calibrate(X, {"r": Y, "a": A + 1}, 0.1)


def test_outcomes_of_the_wrong_sign_are_in_no_set():
    """A set of nonnegative outcomes protects from no negative one."""
    rng = np.random.default_rng(14)
    X = rng.normal(size=(60, 1)) + 0.2
    Y = X + 0.5 * rng.normal(size=(60, 1))
    y = sl.Uncertain(nonneg=True, name="y")
    x = cp.Variable(nonneg=True, name="x")
    problem = sl.RobustProblem(
        cp.Maximize(x), [3 * x <= y + 5], {y: sl.LossSet(mean_model(1))}
    )
    policy = problem.compile()
    with pytest.warns(InfiniteBudget, match="declared signs"):
        policy.calibrate(X, Y, 0.1)
    found = policy.envelope_scores(X, Y)
    np.testing.assert_array_equal(np.isinf(found), Y[:, 0] < 0)


def test_losses_of_either_sign():
    rng = np.random.default_rng(15)
    X, Y = contexts(rng, 80, noise=0.1)

    def sure(X):
        return X[:, :2], np.full((len(X), 2), 0.1)

    policy = portfolio(loss="nll", model=sure).compile().calibrate(X, Y, 0.1)
    (sets,) = policy.problem.uncertainty.values()
    assert policy.budget_ < 0
    plain = Marginal().certify(sets.scores(X, Y), 0.1).budget
    assert policy.budget_ <= plain + 0.051 * np.hypot(1, plain)


def test_labels_are_decided_one_by_one():
    rng = np.random.default_rng(16)
    X = rng.normal(size=(70, 2))
    label = (X[:, 0] + 0.7 * rng.normal(size=70) > 0).astype(int)
    sets = sl.LossSet(LogisticRegression(), "cross_entropy").fit(X[:40], label[:40])
    cost = np.array([[0.0, 2.0], [3.0, 0.5]])
    y, x = sl.Uncertain(2, name="y"), cp.Variable(2, nonneg=True, name="x")
    problem = sl.RobustProblem(
        cp.Minimize(y @ (cost.T @ x)), [cp.sum(x) == 1], {y: sets}
    )
    policy = problem.compile()
    assert policy.one_by_one is not None
    grid = [0.05, 0.5, 1.0, 2.0]
    policy.calibrate(X[40:], label[40:], 0.2, grid=grid)
    allowed = 30 - Marginal().rank(30, 0.2)
    expected = brute_force(problem, X[40:], label[40:], grid, allowed)
    assert policy.budget_ == pytest.approx(expected)
    seen = policy.evaluate(X[40:], label[40:])
    happened = np.eye(2)[label[40:]] @ cost.T
    best = happened.min(axis=1)
    np.testing.assert_allclose(seen.realised - seen.regret, best, atol=1e-6)


def test_integer_decisions_are_calibrated_too():
    rng = np.random.default_rng(17)
    X, Y = contexts(rng, 30, width=1)
    y, x = sl.Uncertain(name="y"), cp.Variable(integer=True, name="x")
    sets = sl.LossSet(mean_model(1))
    problem = sl.RobustProblem(cp.Minimize(x), [x >= y, x <= 50], {y: sets})
    policy = problem.compile().calibrate(X, Y, 0.2, grid=GRID[::4])
    above = [
        np.sum(Y[:, 0] > np.ceil(X[:, 0] + np.sqrt(level) - 1e-6))
        for level in GRID[::4]
    ]
    allowed = 30 - Marginal().rank(30, 0.2)
    passed = [k for k in range(len(above)) if max(above[k:]) <= allowed]
    assert policy.budget_ == GRID[::4][passed[0]]


def test_training_data_are_refused():
    rng = np.random.default_rng(18)
    X, Y = contexts(rng, 80)
    problem = portfolio(model=LinearRegression())
    sets = next(iter(problem.uncertainty.values())).fit(X[:40], Y[:40])
    policy = problem.compile()
    with pytest.raises(InvalidParameter, match=r"Policy.calibrate\(X, Y\) must use"):
        policy.calibrate(X[:40], Y[:40])
    with pytest.raises(InvalidParameter, match=r"Policy.certify\(X, Y\) must use"):
        policy.at(1.0).certify(X[:40], Y[:40])
    policy.calibrate(X[40:], Y[40:])
    assert sets.scores(X, Y).shape == (80,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Y": np.array([[np.nan, 1.0]] * 30)}, "free of missing"),
        ({"Y": np.ones((29, 2))}, "as many rows, got"),
        ({"Y": np.ones((30, 3))}, "Policy.calibrate"),
        ({"Y": {"s": np.ones((30, 2))}}, "outcomes of each of"),
        ({"Y": {"r": np.ones((30, 2)), "s": 1}}, "outcomes of each of"),
        ({"alpha": 1.5}, "strictly between 0 and 1"),
        ({"delta": 0.0}, "strictly between 0 and 1"),
        ({"method": "guess"}, "must be one of"),
        ({"method": "risk", "delta": 0.1}, "takes no delta"),
        ({"grid": []}, "non-empty list of finite numbers"),
        ({"fallback": {"w": [0.5]}}, "of shape"),
        ({"fallback": {"v": 1.0}}, "a value for each variable"),
        ({"fallback": [0.5, 0.5]}, "must be a dict"),
        ({"guarantee": Weighted(len), "delta": 0.1}, "must not come with another"),
        ({"guarantee": PAC(), "delta": 0.1}, "must not come with another"),
        ({"guarantee": Weighted(len), "fallback": {"w": 1.0}}, "'marginal' and 'pac'"),
        ({"guarantee": Weighted(len), "method": "risk"}, "no other guarantee"),
        ({"guarantee": Mondrian(0), "method": "learn-then-test"}, r"PAC\(delta\) only"),
        ({"guarantee": Mondrian(0), "given_decided": True}, r"PAC\(delta\) only"),
        ({"method": "learn-then-test", "given_decided": True}, "method of its own"),
        ({"given_decided": 1}, "must be True or False"),
        ({"guarantee": CVPlus()}, "one score for each outcome set aside"),
        ({"guarantee": sl.guarantees.PaperLLN()}, "one score for each outcome set"),
        ({"guarantee": "exact"}, 'must be "marginal" or "pac"'),
    ],
)
def test_what_is_refused(change, message):
    rng = np.random.default_rng(19)
    X, Y = contexts(rng, 30)
    given = {"X": X, "Y": Y} | change
    with pytest.raises(InvalidParameter, match=message):
        portfolio().compile().calibrate(**given)


def test_set_values_alone_have_nothing_to_calibrate():
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    box = sl.sets.Box([0.0], [1.0])
    problem = sl.RobustProblem(cp.Minimize(x), [x >= y], {y: box})
    with pytest.raises(InvalidParameter, match="needs a LossSet to calibrate"):
        problem.compile().calibrate(np.ones((9, 1)), np.ones((9, 1)))


def test_an_oracle_must_be_able_to_tell():
    sets, oracle = sl.LossSet(mean_model(1)), sl.robust.Oracle(1, lambda d: np.ones(1))
    y, z = sl.Uncertain(name="y"), sl.Uncertain(name="z")
    x = cp.Variable(name="x")
    problem = sl.RobustProblem(cp.Minimize(x), [x >= y, x >= z], {y: sets, z: oracle})
    X = np.ones((30, 1))
    with pytest.raises(InvalidParameter, match="its oracle cannot tell"):
        problem.compile().calibrate(X, {"y": X, "z": X})


def test_workers_change_nothing():
    rng = np.random.default_rng(20)
    X, Y = contexts(rng, 60)
    policy = portfolio().compile()
    one = policy.calibrate(X, Y, 0.1).budget_
    assert policy.calibrate(X, Y, 0.1, n_jobs=2).budget_ == one


def test_a_calibrated_policy_goes_to_a_file_and_back(tmp_path):
    rng = np.random.default_rng(21)
    X, Y = contexts(rng, 60, width=1)
    problem, x = cover(limit=4.0)
    sets = next(iter(problem.uncertainty.values()))
    sets.calibrate(X, Y, 0.5)
    policy = problem.compile().calibrate(X, Y, 0.1, fallback={x: [99.0]})
    policy.save(tmp_path / "policy.npz")
    for model in (sets, mean_model(1)):
        loaded = sl.load_policy(tmp_path / "policy.npz", models={"y": model})
        decisions = loaded.decide(X)
        np.testing.assert_array_equal(decisions.status, policy.decide(X).status)
        np.testing.assert_allclose(
            decisions.value("x"), policy.decide(X).value("x"), atol=1e-6
        )
        assert decisions.certificate.assumptions[:-1] == policy.certificate_.assumptions
    with pytest.raises(InvalidParameter, match="policy from a file"):
        loaded.calibrate(X, Y)
    with pytest.raises(InvalidParameter, match="policy from a file"):
        loaded.evaluate(X, Y)


def test_certificates_by_name():
    rng = np.random.default_rng(22)
    X, Y = contexts(rng, 240)
    problem, one, other, _ = two_keys()
    one.calibrate(X[:120], Y[:120], 0.1)
    other.calibrate(X[:120], np.abs(Y[:120]), 0.1)
    policy = problem.compile()
    by_name = {"r": one.certificate_, "a": other.certificate_}
    assert policy.decide(X[:3]).certificate == by_name
    assert policy.decide(X[:3])[0].certificate == by_name
    assert problem.solve(X[:1]).certificate == by_name
    loads = np.abs(X) + rng.normal(size=X.shape)
    with pytest.raises(InvalidParameter, match="must use other rows than the LossSet"):
        policy.calibrate(X[:120], {"r": Y[:120], "a": loads[:120]}, 0.1)
    policy.calibrate(X[120:], {"r": Y[120:], "a": loads[120:]}, 0.1)
    assert policy.decide(X[:3])[0].certificate is policy.certificate_


# ---- every guarantee reaches decisions -----------------------------------------------


class Midway:
    """A third party's guarantee: halfway between two order statistics, marginally.

    It has nothing but the three methods that are asked of every guarantee.
    """

    def minimum_sample_size(self, alpha):
        return Marginal().minimum_sample_size(alpha)

    def calibrate(self, scores, alpha, X=None):
        ordered = np.append(np.sort(scores), np.inf)
        rank = Marginal().rank(len(scores), alpha) or len(ordered)
        above = ordered[min(rank, len(ordered) - 1)]
        budget = float(ordered[rank - 1])
        budget = budget if np.isinf(above) else float((budget + above) / 2)
        return Calibration(budget, self.certificate(alpha, budget, len(scores)))

    def promise(self, scores, budget, X=None):
        certificate = Marginal().promise(scores, budget)
        return self.certificate(certificate.alpha, budget, len(scores))

    def certificate(self, alpha, budget, size):
        needed = self.minimum_sample_size(alpha) if 0 < alpha < 1 else 0
        note = "Too few." if np.isinf(budget) else ""
        facts = (alpha, None, budget, size, needed, None)
        return Certificate(
            "Midway", *facts, "The sample.", ("None.",), "Ours", note=note
        )


def test_a_third_partys_guarantee_reaches_decisions():
    sl.testing.check_guarantee(Midway())
    rng = np.random.default_rng(23)
    X, Y = contexts(rng, 99, width=1)
    problem, x = cover()
    policy = problem.compile().calibrate(X, Y, 0.1, guarantee=Midway(), grid=GRID)
    # Its level lies between two of the grid: the upper one is deployed.
    scores = policy.envelope_scores(X, Y, grid=GRID)
    asked = Midway().calibrate(scores, 0.1).budget
    assert policy.budget_ == min(level for level in GRID if level >= asked)
    certificate = policy.certificate_
    assert certificate.guarantee == "DecisionAware, Midway"
    assert certificate.budget == policy.budget_
    assert "or takes no decision" in " ".join(str(certificate).split())
    assert "None." in certificate.assumptions
    np.testing.assert_allclose(
        policy.decide(X).value(x)[:, 0], X[:, 0] + policy.radius_, atol=1e-6
    )
    with pytest.warns(InfiniteBudget, match="Too few") as record:
        policy.calibrate(X[:5], Y[:5], 0.1, guarantee=Midway())
    assert len(record) == 1
    assert record[0].filename == __file__


def test_a_level_between_two_of_the_grid_is_rounded_up():
    rng = np.random.default_rng(24)
    X, Y = contexts(rng, 99, width=1)
    policy = cover()[0].compile().calibrate(X, Y, 0.1, guarantee=Midway())
    power = np.log(policy.budget_) / np.log(1.05)
    assert power == pytest.approx(round(power), abs=1e-9)


def minority(X):
    return np.asarray(X)[:, 1] > 4


GROUPS = {"all": lambda X: np.ones(len(X), dtype=bool), "minority": minority}


def test_overlapping_groups_of_decisions_by_hand():
    """Each group's level is that of its points alone; a context has its largest."""
    rng = np.random.default_rng(25)
    X, Y = contexts(rng, 200, width=2)
    Y[minority(X), 0] += 3.0
    problem, x = cover()
    policy = problem.compile()
    alone = {
        name: policy.calibrate(X[flag(X)], Y[flag(X), :1], 0.2, grid=GRID).budget_
        for name, flag in GROUPS.items()
    }
    assert alone["minority"] > alone["all"]
    policy.calibrate(X, Y[:, :1], 0.2, guarantee=Mondrian(GROUPS), grid=GRID)
    assert {n: c.budget for n, c in policy.certificate_.groups} == alone
    assert [c.sample_size for _, c in policy.certificate_.groups] == [
        200,
        minority(X).sum(),
    ]
    levels = np.where(minority(X), alone["minority"], alone["all"])
    np.testing.assert_allclose(
        policy.decide(X).value(x)[:, 0], X[:, 0] + np.sqrt(levels), atol=1e-6
    )
    violated = policy.evaluate(X, Y[:, :1]).violated
    assert violated[minority(X)].mean() <= 0.2


def test_a_small_group_of_decisions_is_named_and_has_no_decision():
    rng = np.random.default_rng(26)
    X, Y = contexts(rng, 60, width=2)
    X[:8, 1] = 9.0
    X[8:, 1] = 0.0
    policy = cover()[0].compile()
    with pytest.warns(InfiniteBudget, match=r"'minority' \(8 scores\)") as record:
        policy.calibrate(X, Y[:, :1], 0.1, guarantee=Mondrian(GROUPS))
    assert len(record) == 1
    assert record[0].filename == __file__
    assert "at least 9 calibration scores" in policy.certificate_.note
    status = policy.decide(X).status
    assert (status[:8] == "unbounded_set").all()
    assert (status[8:] == "optimal").all()


@pytest.mark.parametrize(
    "guarantee",
    [
        "marginal",
        "pac",
        PAC(0.1, candidates=3),
        Mondrian(minority),
        Mondrian(GROUPS, "pac"),
        Weighted(lambda X: np.exp(0.3 * np.asarray(X)[:, 0])),
    ],
    ids=lambda g: type(g).__name__,
)
def test_each_guarantee_makes_of_decisions_what_it_makes_of_their_scores(guarantee):
    rng = np.random.default_rng(27)
    X, Y = contexts(rng, 300, width=2)
    problem, x = cover()
    policy = problem.compile()
    scores = policy.envelope_scores(X, Y[:, :1], grid=GRID)
    full = sl.guarantees.get(guarantee).calibrate(scores, 0.3, X)
    policy.calibrate(X, Y[:, :1], 0.3, guarantee=guarantee, grid=GRID)
    new, _ = contexts(rng, 40)
    np.testing.assert_allclose(
        policy.decide(new).value(x)[:, 0],
        new[:, 0] + np.sqrt(full.at(new, 40)),
        atol=1e-6,
    )


# ---- given that a decision is taken --------------------------------------------------


def test_among_decisions_taken_the_promise_is_another():
    """Where hardly any context is decided, few violations among all say little."""
    rng = np.random.default_rng(28)
    X, Y = contexts(rng, 300, width=1)
    problem, x = cover(limit=3.2)
    policy = problem.compile()
    policy.calibrate(X, Y, 0.2, grid=GRID)
    assert "takes no decision" in " ".join(str(policy.certificate_).split())
    decided = ~np.isnan(policy.decide(X).value(x)[:, 0])
    violated = Y[:, 0] > policy.decide(X).value(x)[:, 0]
    assert violated.mean() <= 0.2 < 0.35 < violated[decided].mean()
    grid = np.linspace(0.5, 1.5, 9) ** 2
    policy.calibrate(X, Y, 0.3, given_decided=True, grid=grid)
    decided = ~np.isnan(policy.decide(X).value(x)[:, 0])
    violated = Y[:, 0] > policy.decide(X).value(x)[:, 0]
    assert 0.1 < decided.mean() < 0.5
    assert violated[decided].mean() <= 0.3
    certificate = policy.certificate_
    assert "among the decisions that are taken" in " ".join(str(certificate).split())
    assert certificate.confidence == pytest.approx(0.95)
    assert certificate.minimum_sample_size == PAC(0.05 / 16).minimum_sample_size(0.3)


def test_decisions_that_fail_count_alike_when_calibrating_and_evaluating():
    rng = np.random.default_rng(29)
    X, Y = contexts(rng, 30, width=1)
    policy = cover()[0].compile()
    decisions = policy.at(4.0).decide(X)
    for status in FAILED:
        arrays = decisions.arrays
        arrays.status[:3] = status
        happened = realised(policy, arrays, [Y])
        assert happened.violated[:3].all()
        assert np.isposinf(happened.miss[:3]).all()
        assert not happened.decided[:3].any()


def test_likelihoods_are_searched_below_every_loss():
    """In twelve directions no outcome has a small loss; decisions need a small set."""
    rng = np.random.default_rng(0)
    X, Y = np.zeros((200, 1)), 1.0 + 0.3 * rng.normal(size=(200, 12))

    def predict(X):
        return np.ones((len(X), 12)), np.full((len(X), 12), 0.3)

    r, w = sl.Uncertain(12, name="r"), cp.Variable(12, nonneg=True)
    sets = sl.LossSet(predict, sl.losses.NLL(share=1 / 12))
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    policy = problem.compile().calibrate(X, Y, alpha=0.1)
    assert policy.budget_ < sets.scores(X, Y).min()
    # The level is tight: a step lower more than the twenty allowed are violated.
    assert policy.evaluate(X, Y).violation <= 0.1
    assert policy.at(policy.budget_ - 0.2).evaluate(X, Y).violation > 0.1
