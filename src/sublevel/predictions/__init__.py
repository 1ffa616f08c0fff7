"""From a trained model to a checked prediction, and from outcomes to vectors."""

from .adapters import Needs, predict
from .blocks import ModelBlocks, SharedModel
from .classes import outcomes_of
from .fitted import is_fitted
from .outcomes import Labels, Numbers, Outcomes, column_names
from .point import predict_point
from .prediction import AnyPrediction, JointPrediction, LabelPrediction, Prediction
from .rows import count_rows, take_rows

__all__ = [
    "AnyPrediction",
    "JointPrediction",
    "LabelPrediction",
    "Labels",
    "ModelBlocks",
    "Needs",
    "Numbers",
    "Outcomes",
    "Prediction",
    "SharedModel",
    "column_names",
    "count_rows",
    "is_fitted",
    "outcomes_of",
    "predict",
    "predict_point",
    "take_rows",
]
