"""Every guarantee keeps its promise, and a budget 10 % short of it is caught.

How the thresholds are derived
------------------------------
One fresh calibration sample and one fresh outcome per replication make the hits of R
replications independent Bernoulli(p) variables, so their number is Bin(R, p). With p
the value the theorem gives, a correct implementation leaves

    [binom.ppf(1e-6, R, p), binom.isf(1e-6, R, p)]

with probability at most 2e-6. Where the theorem gives only an inequality, only the
matching side is used. The seeds are fixed, so a test that passes keeps passing; the
thresholds say that a seed chosen blindly would almost surely have passed as well.

Every test has a negative control: something slightly wrong, in the same replications,
that the same threshold must reject.

The scores are uniform on [0, 1] where nothing else is said: then the violation rate of
a budget is exactly 1 - budget.
"""

import numpy as np
import pytest
from scipy import stats

from sublevel.guarantees import PAC, CVPlus, Marginal, Mondrian, Weighted

ERROR = 1e-6
REPLICATIONS = 20_000


def least(replications, chance):
    """Fewest hits that Bin(replications, chance) has but for probability 1e-6."""
    return stats.binom.ppf(ERROR, replications, chance)


def most(replications, chance):
    """Most hits that Bin(replications, chance) has but for probability 1e-6."""
    return stats.binom.isf(ERROR, replications, chance)


def calibrated(guarantee, samples, alpha):
    """The budget of each row of samples."""
    return np.array([guarantee.calibrate(row, alpha).budget for row in samples])


@pytest.mark.parametrize("size, alpha", [(50, 0.1), (99, 0.1), (120, 0.02)])
def test_marginal_coverage_is_exactly_its_rank(size, alpha):
    rng = np.random.default_rng(101)
    budgets = calibrated(Marginal(), rng.random((REPLICATIONS, size)), alpha)
    outcomes = rng.random(REPLICATIONS)
    coverage = Marginal().rank(size, alpha) / (size + 1)
    hits = np.sum(outcomes <= budgets)
    assert least(REPLICATIONS, coverage) <= hits <= most(REPLICATIONS, coverage)
    assert np.sum(outcomes <= 0.9 * budgets) < least(REPLICATIONS, 1 - alpha)


def test_marginal_coverage_needs_only_exchangeability():
    # Scores that share a random scale are dependent, but exchangeable.
    rng = np.random.default_rng(102)
    scale = rng.exponential(size=(REPLICATIONS, 1))
    scores = scale * rng.random((REPLICATIONS, 51))
    budgets = calibrated(Marginal(), scores[:, :50], 0.1)
    coverage = Marginal().rank(50, 0.1) / 51
    hits = np.sum(scores[:, 50] <= budgets)
    assert least(REPLICATIONS, coverage) <= hits <= most(REPLICATIONS, coverage)
    assert np.sum(scores[:, 50] <= 0.9 * budgets) < least(REPLICATIONS, 0.9)


def test_marginal_coverage_with_ties_is_only_larger():
    rng = np.random.default_rng(103)
    scores = rng.integers(1, 5, size=(REPLICATIONS, 51)).astype(float)
    budgets = calibrated(Marginal(), scores[:, :50], 0.3)
    assert np.sum(scores[:, 50] <= budgets) >= least(REPLICATIONS, 0.7)
    assert np.sum(scores[:, 50] < budgets) < least(REPLICATIONS, 0.7)


@pytest.mark.parametrize("size, alpha", [(50, 0.1), (200, 0.05)])
def test_realised_violation_follows_the_beta_law(size, alpha):
    # Kolmogorov-Smirnov: the p-value is uniform if the law is right.
    rng = np.random.default_rng(104)
    budgets = calibrated(Marginal(), rng.random((REPLICATIONS, size)), alpha)
    rank = Marginal().rank(size, alpha)
    law = stats.beta(size + 1 - rank, rank)
    assert stats.kstest(1 - budgets, law.cdf).pvalue > ERROR
    assert stats.kstest(1 - 0.9 * budgets, law.cdf).pvalue < ERROR


def test_violation_interval_holds_in_its_share_of_the_draws():
    rng = np.random.default_rng(105)
    samples = rng.random((REPLICATIONS, 50))
    budgets = calibrated(Marginal(), samples, 0.1)
    certificate = Marginal().calibrate(samples[0], 0.1).certificate
    low, high = certificate.violation_interval(0.8)
    hits = np.sum((low <= 1 - budgets) & (1 - budgets <= high))
    assert least(REPLICATIONS, 0.8) <= hits <= most(REPLICATIONS, 0.8)
    shrunk = 1 - 0.9 * budgets
    assert np.sum((low <= shrunk) & (shrunk <= high)) < least(REPLICATIONS, 0.8)


@pytest.mark.parametrize("size, alpha, delta", [(100, 0.1, 0.05), (60, 0.05, 0.1)])
def test_pac_fails_in_at_most_delta_of_the_draws(size, alpha, delta):
    rng = np.random.default_rng(106)
    replications = 8000
    budgets = calibrated(PAC(delta), rng.random((replications, size)), alpha)
    # P(Z_(i) < 1 - alpha) = P(Bin(N, alpha) <= N - i), the largest that is <= delta.
    allowed = size - PAC(delta).rank(size, alpha)
    exact = stats.binom.cdf(allowed, size, alpha)
    failures = np.sum(1 - budgets > alpha)
    assert least(replications, exact) <= failures <= most(replications, exact)
    assert failures <= most(replications, delta)
    assert np.sum(1 - 0.9 * budgets > alpha) > most(replications, delta)


def test_pac_level_of_a_given_budget_holds_with_confidence():
    rng = np.random.default_rng(107)
    replications, budget, guarantee = 4000, 0.9, PAC(delta=0.1)
    samples = rng.random((replications, 400))
    levels = np.array([guarantee.promise(row, budget).alpha for row in samples])
    assert np.sum(levels < 1 - budget) <= most(replications, 0.1)
    assert np.sum(0.9 * levels < 1 - budget) > most(replications, 0.1)


def test_marginal_level_of_a_given_budget_is_right_on_average():
    # The level is 1 - B/(N + 1) with B ~ Bin(N, budget): its mean over the draws has
    # a standard deviation below sqrt(N / 4 / R) / (N + 1), here taken five times.
    rng = np.random.default_rng(108)
    size, budget = 80, 0.9
    samples = rng.random((4000, size))
    level = np.mean([Marginal().promise(row, budget).alpha for row in samples])
    room = 5 * np.sqrt(size / 4 / 4000) / (size + 1)
    assert abs(level - (1 - size * budget / (size + 1))) < room
    assert level > 1 - budget
    assert abs(0.9 * level - (1 - size * budget / (size + 1))) > room


def test_pac_with_competing_candidates():
    # Four models with scores of the same law; the one with the smallest set is kept.
    rng = np.random.default_rng(109)
    replications, candidates, delta = 2000, 4, 0.05
    samples = rng.random((replications * candidates, 200))

    def failures(guarantee):
        budgets = calibrated(guarantee, samples, 0.1).reshape(replications, candidates)
        return np.sum(1 - budgets.min(axis=1) > 0.1)

    assert failures(PAC(delta, candidates)) <= most(replications, delta)
    assert failures(PAC(delta)) > most(replications, delta)


def test_mondrian_covers_every_group_where_a_pooled_budget_fails_one():
    # Scores of the rare group are three times as large; both are uniform, so a budget
    # 10 % short covers 10 % less.
    rng = np.random.default_rng(110)
    replications, alpha = 4000, 0.1
    labels = np.repeat([0, 1], [120, 30])
    factor = np.where(labels, 3.0, 1.0)
    new = np.array([[0], [1]])
    own, shrunk, pooled = np.zeros(2), np.zeros(2), np.zeros(2)
    for _ in range(replications):
        scores = factor * rng.random(150)
        outcomes = np.array([1.0, 3.0]) * rng.random(2)
        budgets = Mondrian(0).calibrate(scores, alpha, labels[:, None]).at(new, 2)
        own += outcomes <= budgets
        shrunk += outcomes <= 0.9 * budgets
        pooled += outcomes <= Marginal().calibrate(scores, alpha).budget
    for hits, size in zip(own, (120, 30), strict=True):
        coverage = Marginal().rank(size, alpha) / (size + 1)
        assert least(replications, coverage) <= hits <= most(replications, coverage)
    assert (shrunk < least(replications, 1 - alpha)).all()
    assert pooled[1] < least(replications, 1 - alpha)


def test_weighted_restores_coverage_under_a_shift():
    # Contexts are N(0, 1) in calibration and N(1, 1) in deployment, exp(x) is the
    # density ratio up to a factor, and the score is 8 + x + N(0, 1). So scores are
    # N(9, 2) in deployment, with 90 % quantile 9 + 1.28 sqrt(2) = 10.8. A budget 10 %
    # short of it, 9.7, covers Phi(0.52) = 0.70. Infinite budgets add the contexts with
    # exp(x) > 200 sqrt(e) / 9, which are P(N(1, 1) > 3.6) = 0.5 %, and the spread of
    # the budget, about 0.3, moves the mean by less than the curvature of Phi allows,
    # 0.02; the test rejects coverage below 0.877. Ignoring the shift has the quantile
    # 8 + 1.28 sqrt(2) = 9.8, which covers 0.72.
    rng = np.random.default_rng(111)
    replications, size, alpha = 4000, 200, 0.1
    weighted = Weighted(lambda X: np.exp(X[:, 0]))
    hits = blind = shrunk = 0
    for _ in range(replications):
        contexts, new = rng.normal(size=(size, 1)), rng.normal(1.0, size=(1, 1))
        scores = 8 + contexts[:, 0] + rng.normal(size=size)
        outcome = 8 + new[0, 0] + rng.normal()
        budget = weighted.calibrate(scores, alpha, contexts).at(new, 1)[0]
        hits += outcome <= budget
        shrunk += outcome <= 0.9 * budget
        blind += outcome <= Marginal().calibrate(scores, alpha).budget
    assert hits >= least(replications, 1 - alpha)
    assert shrunk < least(replications, 1 - alpha)
    assert blind < least(replications, 1 - alpha)


def test_weighted_level_of_a_given_budget_is_right_on_average():
    # Contexts are the scores, N(0, 1) in calibration and N(3, 1) in deployment. Levels
    # lie in [0, 1], so by Hoeffding their mean over R draws is 1e-6 safe within
    # sqrt(log(1e6) / 2 R). Calibration contexts in place of deployment contexts have a
    # mean level of 0.20 where the violation rate is 0.31.
    rng = np.random.default_rng(113)
    replications, size, budget = 4000, 100, 3.5
    weighted = Weighted(lambda X: np.exp(3 * X[:, 0]))
    levels, guesses = np.empty(replications), np.empty(replications)
    for draw in range(replications):
        X, deployment = rng.normal(size=(size, 1)), rng.normal(3.0, size=(1, 1))
        levels[draw] = weighted.promise(X[:, 0], budget, X, deployment).alpha
        guesses[draw] = weighted.promise(X[:, 0], budget, X).alpha
    room = np.sqrt(-np.log(ERROR) / 2 / replications)
    assert levels.mean() >= stats.norm.sf(budget - 3) - room
    assert guesses.mean() < stats.norm.sf(budget - 3) - room


def test_weighted_level_of_a_given_budget_is_tight():
    # With exp(x / 2) the new context weighs about 1 in 400, so the level is that close
    # to the violation rate, 0.5 at the median of N(1/2, 1), and 10 % less is caught:
    # 0.45 lies below 0.5 by more than the room of 0.042.
    rng = np.random.default_rng(114)
    replications, size, budget = 4000, 400, 0.5
    weighted = Weighted(lambda X: np.exp(X[:, 0] / 2))
    levels = np.empty(replications)
    for draw in range(replications):
        X, deployment = rng.normal(size=(size, 1)), rng.normal(0.5, size=(1, 1))
        levels[draw] = weighted.promise(X[:, 0], budget, X, deployment).alpha
    room = np.sqrt(-np.log(ERROR) / 2 / replications)
    assert levels.mean() >= 0.5 - room
    assert 0.9 * levels.mean() < 0.5 - room


@pytest.mark.parametrize("splits, size", [(None, 40), (5, 200)])
def test_cv_plus_covers_and_a_shrunk_budget_does_not(splits, size):
    # The model is the mean of the training outcomes, N(0, I) in 100 dimensions, and the
    # score is the distance from it: chi with 100 degrees of freedom but for a factor of
    # at most 1.013, so about 10 with standard deviation 0.71. The rank is 39 of 40 or
    # 195 of 200: 1.7 or 1.9 standard deviations up, 11.3 or 11.4. A tenth less is 10.2,
    # 0.1 or 0.3 standard deviations up, which covers 0.54 or 0.62. The union comes
    # nearer by 0.05, as the folds' means differ by N(0, 1) / 39 or N(0, 1) / 25 in any
    # direction, and covers 0.03 more. The test rejects coverage below 0.868.
    rng = np.random.default_rng(115)
    replications, dim, alpha = 2000, 100, 0.1
    folds = np.arange(size).reshape(splits or size, -1)
    trained = size - folds.shape[1]
    hits = shrunk = 0
    for _ in range(replications):
        Y, outcome = rng.normal(size=(size, dim)), rng.normal(size=dim)
        means = (Y.sum(axis=0) - Y[folds].sum(axis=1)) / trained
        left_out = np.linalg.norm(Y[folds] - means[:, None], axis=2).ravel()
        budget = CVPlus(splits).calibrate(left_out, alpha).budget
        distance = np.linalg.norm(outcome - means, axis=1).min()
        hits += distance <= budget
        shrunk += distance <= 0.9 * budget
    assert hits >= least(replications, 1 - alpha)
    assert shrunk < least(replications, 1 - alpha)


def test_cv_plus_covers_with_the_union_where_training_residuals_fail():
    # Linear regression of 3 outcomes on 20 covariates from 40 rows, one left out at a
    # time. Leaving row p out changes the coefficients by -G x_p e_p' / (1 - h_p) with
    # G = (X'X)^-1, e_p the training residual and h_p = x_p' G x_p.
    rng = np.random.default_rng(112)
    replications, rows, covariates, alpha = 2000, 40, 20, 0.1
    X = rng.normal(size=(replications, rows, covariates))
    Y = rng.normal(size=(replications, rows, 3))
    new = rng.normal(size=(replications, 1, covariates))
    outcome = rng.normal(size=(replications, 1, 3))
    gram = np.linalg.inv(X.swapaxes(1, 2) @ X)
    coefficients = gram @ X.swapaxes(1, 2) @ Y
    training = Y - X @ coefficients
    leverage = np.sum((X @ gram) * X, axis=2, keepdims=True)
    left_out = training / (1 - leverage)
    change = (X @ gram @ new.swapaxes(1, 2)) * left_out
    distance = np.linalg.norm(outcome - new @ coefficients + change, axis=2)
    budgets = calibrated(CVPlus(), np.linalg.norm(left_out, axis=2), alpha)
    assert np.sum(distance.min(axis=1) <= budgets) >= least(replications, 1 - alpha)

    naive = calibrated(Marginal(), np.linalg.norm(training, axis=2), alpha)
    miss = np.linalg.norm(outcome - new @ coefficients, axis=2)[:, 0]
    assert np.sum(miss <= naive) < least(replications, 1 - alpha)
