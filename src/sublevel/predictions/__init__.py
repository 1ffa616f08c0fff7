"""From a trained model to a checked prediction, and from outcomes to vectors."""

from .adapters import Needs, predict
from .alignment import align, stack, unseen_components
from .blocks import ModelBlocks, SharedModel
from .classes import outcomes_of
from .columns import column_names, frame_columns, split_columns
from .fitted import is_fitted, is_torch_module
from .models import as_model
from .outcomes import Labels, Numbers, Outcomes
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
    "align",
    "as_model",
    "column_names",
    "count_rows",
    "frame_columns",
    "is_fitted",
    "is_torch_module",
    "outcomes_of",
    "predict",
    "predict_point",
    "split_columns",
    "stack",
    "take_rows",
    "unseen_components",
]
