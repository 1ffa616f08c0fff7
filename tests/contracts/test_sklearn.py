"""LossSet is a scikit-learn citizen: it passes every check, none excepted."""

from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import sublevel as sl


@parametrize_with_checks(
    [
        sl.LossSet(LinearRegression()),
        sl.LossSet(LinearRegression(), loss="mahalanobis"),
        sl.LossSet(BayesianRidge(), loss="gaussian"),
        sl.LossSet(LogisticRegression(), loss="cross_entropy"),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)
