"""Out-of-fold residuals keep the spread honest; in-sample residuals do not."""

import numpy as np
from scipy.stats import binom, norm
from sklearn.linear_model import GammaRegressor
from sklearn.neighbors import KNeighborsRegressor

from sublevel.models.alternating import Alternation
from sublevel.models.learners import GivenModel
from sublevel.models.rows import Rows

FRESH = 4000


def hits(predicted, y):
    """How many outcomes fall in the central 90 % of the predicted normal."""
    mean, std = predicted
    return int(np.sum(np.abs(y - mean) <= norm.ppf(0.95) * std))


def accept(count):
    """Whether a coverage of 0.88 to 0.92 would give this count, at level 1e-6.

    The spread comes from 600 residuals: its relative error, about 1 / sqrt(1200), moves
    the coverage of the 90 % interval by 2 * 1.645 * density(1.645) / 35 = 0.010, one
    standard deviation; 0.02 allows for two.
    """
    low = binom.ppf(1e-6, FRESH, 0.88)
    high = binom.isf(1e-6, FRESH, 0.92)
    return low <= count <= high


def overfitting_pair(folds):
    """Nearest neighbours, which remember their rows, and the spread around them."""
    rng = np.random.default_rng(3)
    X, X_new = rng.uniform(size=(600, 2)), rng.uniform(size=(FRESH, 2))
    y, y_new = rng.normal(size=600), rng.normal(size=FRESH)
    turns = Alternation(
        GivenModel(KNeighborsRegressor(3)), GivenModel(GammaRegressor()), 1e-4, 0, 0.0
    )
    pair = turns.fit(Rows(X, None, folds(600)), y[:, None])
    mean, std = pair.predict(X_new)
    return hits((mean[:, 0], std[:, 0]), y_new)


def five_folds(n):
    row = np.arange(n)
    return [(row[row % 5 != k], row[row % 5 == k]) for k in range(5)]


def in_sample(n):
    row = np.arange(n)
    return [(row, row[row % 5 == k]) for k in range(5)]


def test_out_of_fold_residuals_give_an_honest_spread():
    assert accept(overfitting_pair(five_folds))


def test_in_sample_residuals_do_not():
    # Three neighbours, one of them the row itself: residuals of variance 2/3, where
    # fresh ones have 4/3. The interval covers 2 Phi(1.645 / sqrt 2) - 1 = 0.755.
    count = overfitting_pair(in_sample)
    assert not accept(count)
    assert abs(count / FRESH - 0.755) < 0.03
