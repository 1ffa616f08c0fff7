"""Scores and budgets at the door, and how they are read."""

import numpy as np
import pytest

from sublevel.errors import InvalidParameter
from sublevel.guarantees import PAC, CVPlus, Marginal, Mondrian, Weighted

X = np.zeros((40, 1))
ALL = [
    Marginal(),
    PAC(delta=0.2),
    CVPlus(),
    Mondrian(groups=0),
    Weighted(density_ratio=lambda X: np.ones(len(X))),
]
every_guarantee = pytest.mark.parametrize("guarantee", ALL, ids=lambda g: type(g))


@every_guarantee
@pytest.mark.parametrize("scores", [[], [[1.0, 2.0]], 3.0])
def test_scores_must_be_a_vector(guarantee, scores):
    with pytest.raises(InvalidParameter, match="must be a non-empty vector"):
        guarantee.calibrate(scores, 0.2, X)


@every_guarantee
def test_scores_must_be_numeric(guarantee):
    with pytest.raises(InvalidParameter, match="must be numeric, got list"):
        guarantee.calibrate(["a", "b"], 0.2, X)


@every_guarantee
@pytest.mark.parametrize("row", [0, 17, 39])
@pytest.mark.parametrize("alpha", [0.001, 0.2, 0.9])
def test_nan_is_refused_with_its_row(guarantee, row, alpha):
    scores = np.arange(40.0)
    scores[row] = np.nan
    with pytest.raises(InvalidParameter, match=f"free of NaN, got nan at row {row}"):
        guarantee.calibrate(scores, alpha, X)
    with pytest.raises(InvalidParameter, match=f"got nan at row {row}"):
        guarantee.promise(scores, 10.0, X)


@every_guarantee
@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, np.nan])
def test_alpha_must_be_a_level(guarantee, alpha):
    with pytest.raises(InvalidParameter, match=r"alpha=.*strictly between 0 and 1"):
        guarantee.calibrate(np.arange(40), alpha, X)
    with pytest.raises(InvalidParameter, match=r"alpha=.*strictly between 0 and 1"):
        guarantee.minimum_sample_size(alpha)


@every_guarantee
@pytest.mark.parametrize("budget", [np.nan, "large", [1.0]])
def test_a_budget_to_judge_must_be_a_number(guarantee, budget):
    with pytest.raises(InvalidParameter, match=r"promise\(budget=.*must be a number"):
        guarantee.promise(np.arange(40), budget, X)


@every_guarantee
def test_the_order_of_the_scores_does_not_matter(guarantee):
    rng = np.random.default_rng(0)
    scores = rng.exponential(size=40)
    budget = guarantee.calibrate(scores, 0.2, X).budget
    for _ in range(5):
        assert guarantee.calibrate(rng.permutation(scores), 0.2, X).budget == budget


@every_guarantee
def test_scores_are_left_alone(guarantee):
    scores = np.arange(40.0)[::-1].copy()
    guarantee.calibrate(scores, 0.2, X)
    np.testing.assert_array_equal(scores, np.arange(40.0)[::-1])


@every_guarantee
def test_integers_lists_and_single_precision_are_scores_too(guarantee):
    expected = guarantee.calibrate(np.arange(40.0), 0.2, X).budget
    for scores in (list(range(40)), np.arange(40), np.arange(40, dtype=np.float32)):
        assert guarantee.calibrate(scores, 0.2, X).budget == expected


@every_guarantee
def test_an_infinite_budget_promises_that_nothing_exceeds_it(guarantee):
    assert guarantee.promise(np.arange(40), np.inf, X).alpha == 0.0


@every_guarantee
def test_a_budget_below_every_score_promises_nothing(guarantee):
    assert guarantee.promise(np.arange(40), -1.0, X).alpha == 1.0
