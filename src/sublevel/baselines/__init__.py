"""Other methods to compare with, each a policy like our own.

Sources of sets, to be given to RobustProblem in place of a LossSet:

| source                          | the set at X                                       |
|---------------------------------|----------------------------------------------------|
| `PointPrediction`               | the prediction alone: predict, then optimise       |
| `SmartPrediction`               | the same, by a network trained with SPO+           |
| `ClassicalEllipsoid`            | around the mean of past outcomes, X ignored        |
| `PhiDivergence`                 | laws near the frequencies of scenarios, X ignored  |
| `NearestEllipsoid`              | least ellipsoid around the neighbours' outcomes    |
| `PredictThenCalibrateBox`       | box that follows the residuals' quantiles          |
| `PredictThenCalibrateEllipsoid` | ellipsoid that follows the residuals' norm         |
| `ConformalEllipsoid`            | residual covariance, split conformal budget        |
| `TwoStage`                      | every good linear model, and its residuals         |
| `TrueMoments`                   | from the true mean and deviation                   |

Policies of another kind: `WeightedSample`, which minimises an average over past
outcomes weighted by `NearestWeights`, `KernelWeights` or `ForestWeights` (or by the
`TrueLaw`), and the `Clairvoyant`. Certificates say what each method promises.
"""

from .clairvoyant import Clairvoyant
from .classical import ClassicalEllipsoid
from .conformal import ConformalEllipsoid
from .khachiyan import enclosing_ellipsoids
from .nearest_ellipsoid import NearestEllipsoid
from .phi_divergence import PhiDivergence
from .point import PointPrediction, SmartPrediction
from .predict_then_calibrate import (
    PredictThenCalibrateBox,
    PredictThenCalibrateEllipsoid,
)
from .true_moments import TrueMoments
from .two_stage import Bounds, TwoStage
from .weighted_sample import WeightedSample
from .weights import ForestWeights, KernelWeights, NearestWeights, Sample, TrueLaw

__all__ = [
    "Bounds",
    "Clairvoyant",
    "ClassicalEllipsoid",
    "ConformalEllipsoid",
    "ForestWeights",
    "KernelWeights",
    "NearestEllipsoid",
    "NearestWeights",
    "PhiDivergence",
    "PointPrediction",
    "PredictThenCalibrateBox",
    "PredictThenCalibrateEllipsoid",
    "Sample",
    "SmartPrediction",
    "TrueLaw",
    "TrueMoments",
    "TwoStage",
    "WeightedSample",
    "enclosing_ellipsoids",
]


def __getattr__(name: str) -> object:
    """Say where a name has gone."""
    if name == "Oracle":
        raise AttributeError(
            "sublevel.baselines.Oracle is named TrueMoments: Oracle is what "
            "sublevel.robust has for sets of your own."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
