"""The network estimators are scikit-learn citizens: every check, none excepted."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

pytest.importorskip("torch")

from sublevel.models.nets import (
    GaussianNetworkRegressor,
    NetworkClassifier,
    NetworkRegressor,
    SimplexOracle,
    SPOPlusRegressor,
)


@parametrize_with_checks(
    [
        NetworkRegressor(),
        GaussianNetworkRegressor(),
        GaussianNetworkRegressor(training="separate", beta=0.5),
        NetworkClassifier(),
        SPOPlusRegressor(SimplexOracle()),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)
