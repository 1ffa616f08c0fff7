"""Small neural networks as scikit-learn estimators, trained many at a time.

| estimator                  | trained for              | predicts                  |
|----------------------------|--------------------------|---------------------------|
| `NetworkRegressor`         | squared error            | the mean                  |
| `GaussianNetworkRegressor` | Gaussian likelihood      | mean, standard deviation  |
| `NetworkClassifier`        | cross-entropy            | class probabilities       |
| `SPOPlusRegressor`         | SPO+, a bound of regret  | costs of a linear problem |

`fit_many` trains hundreds of them in one call. Training needs the extra
`sublevel[torch]`; a trained network predicts with NumPy alone.
"""

from .estimators import GaussianNetworkRegressor, NetworkClassifier, NetworkRegressor
from .many import NetworkEnsemble, fit_many
from .oracles import GridPathOracle, ProgramOracle, SimplexOracle
from .spo_regressor import SPOPlusRegressor

__all__ = [
    "GaussianNetworkRegressor",
    "GridPathOracle",
    "NetworkClassifier",
    "NetworkEnsemble",
    "NetworkRegressor",
    "ProgramOracle",
    "SPOPlusRegressor",
    "SimplexOracle",
    "fit_many",
]
