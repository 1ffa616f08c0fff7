"""MeanVarianceRegressor is a scikit-learn citizen: it passes every check."""

from sklearn.linear_model import GammaRegressor, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import sublevel as sl


@parametrize_with_checks(
    [
        sl.MeanVarianceRegressor(),
        sl.MeanVarianceRegressor(Ridge(), GammaRegressor()),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)
