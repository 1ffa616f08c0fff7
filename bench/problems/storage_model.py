"""Mean and covariance of tomorrow's prices, from training days alone.

Prices are fitted in logarithms: errors grow with the price. The mean is the average of
kernel ridge regression and of a line with trees on what it leaves; the spread of every
hour is a line too. A normal logarithm makes a lognormal price: its mean is above its
median, by half the variance, and its covariance follows to first order.

Length scales, penalties and where answers are expected were chosen by errors out of
fold on the 1400 training days of seed 0 (no shift). No test day was looked at.
"""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV

import sublevel as sl

from .storage import HOURS, pose

#: A price of -OFFSET would be an infinite logarithm.
OFFSET = 3.0
#: Kernel widths: past prices, loads, temperatures before and on the day, the kind of
#: day, the season.
WIDTHS = np.repeat(
    [0.002, 0.006, 0.003, 0.001, 0.006, 0.01], [HOURS, HOURS, HOURS, HOURS, 3, 2]
)
#: By alpha: between which budgets the answer is expected.
EXPECTED = {0.01: (3.2, 10.0), 0.05: (1.6, 4.0), 0.1: (1.0, 2.6), 0.2: (0.45, 1.5)}


def grid_of(alpha, ratio=1.02, most=1e12):
    """Budgets that calibration looks at: fine where the answer is expected.

    A level is rounded up to one of these, so that half a step is lost; where no answer
    is expected steps may grow. The top is above all losses.
    """
    low, high = EXPECTED[alpha]
    fine = low * ratio ** np.arange(np.ceil(np.log(high / low) / np.log(ratio)))
    below, above, step = [], [high], ratio
    while above[-1] < most:
        step = min(step**1.5, 2.0)
        above.append(above[-1] * step)
        below.append((below[-1] if below else low) / step)
    return np.sort([*below[:12], *fine, *above])


class LogPrices(RegressorMixin, BaseEstimator):
    """The average of kernel ridge regression, and of a line and trees on the rest."""

    def __init__(self, penalty=0.01, trees=80):
        self.penalty, self.trees = penalty, trees

    def fit(self, X, Y):
        """All hours at once."""
        self.middle_ = Y.mean(axis=0)
        kernel = KernelRidge(alpha=self.penalty, kernel="rbf", gamma=1.0)
        self.kernel_ = kernel.fit(X * np.sqrt(WIDTHS), Y - self.middle_)
        self.line_ = RidgeCV(np.logspace(0, 3, 7)).fit(X, Y)
        trees = ExtraTreesRegressor(
            self.trees, min_samples_leaf=3, max_features=0.5, random_state=0
        )
        self.trees_ = trees.fit(X, Y - self.line_.predict(X))
        # The largest that was seen: what is extrapolated in logarithms explodes.
        self.most_ = float(Y.max())
        return self

    def predict(self, X):
        """Logarithms of the prices of 24 hours."""
        smooth = self.kernel_.predict(X * np.sqrt(WIDTHS)) + self.middle_
        stepped = self.line_.predict(X) + self.trees_.predict(X)
        return np.minimum((smooth + stepped) / 2, self.most_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def fitted(X, Y):
    """A model of prices: from features to means (n, 24) and factors (n, 24, 24)."""
    model = sl.MeanCovarianceRegressor(
        LogPrices(), RidgeCV(np.logspace(1, 5, 9)), power="outputs"
    )
    model.fit(X, np.log(np.maximum(Y, 1.0) + OFFSET))

    def predict(X):
        logs, std, factor = model.predict(X, return_std=True, return_factor=True)
        level = np.exp(logs + np.minimum(std, 1.0) ** 2 / 2)
        return level - OFFSET, level[:, :, None] * factor

    return predict


def sets_and_policies(days, alphas=tuple(EXPECTED)):
    """By alpha: sets by a model of these days, and the policy that decides by them."""
    model = fitted(days.features, days.prices)
    plain = pose(sl.LossSet(model, "gaussian")).compile()
    both = {}
    for alpha in alphas:
        rationed = sl.Rationed(plain, days.features, alpha)
        sets = sl.LossSet(rationed, "gaussian")
        both[alpha] = sets, pose(sets).compile()
    return both
