"""Regressors of spreads are scikit-learn citizens: they pass every check."""

from sklearn.linear_model import GammaRegressor, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import sublevel as sl


def beside_the_tags(estimator):
    """What scikit-learn 1.6 checks although the tags say that it cannot be."""
    if estimator.mean is not None:
        return {}
    return {"check_sample_weight_equivalence_on_sparse_data": "takes dense rows only"}


@parametrize_with_checks(
    [
        sl.MeanVarianceRegressor(),
        sl.MeanVarianceRegressor(Ridge(), GammaRegressor()),
        sl.MeanCovarianceRegressor(Ridge(), Ridge()),
    ],
    expected_failed_checks=beside_the_tags,
)
def test_estimator_checks(estimator, check):
    check(estimator)
