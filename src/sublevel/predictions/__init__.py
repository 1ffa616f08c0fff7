"""From a trained model to a checked prediction, and from outcomes to vectors."""

from .adapters import Needs, predict, predict_point
from .classes import align, outcomes_of, stack, unseen_components
from .models import ModelBlocks, SharedModel, as_model, is_fitted, is_torch_module
from .outcomes import Labels, Numbers, Outcomes, numbers_of
from .prediction import AnyPrediction, JointPrediction, LabelPrediction, Prediction
from .tables import (
    Table,
    column_names,
    count_rows,
    frame_columns,
    require_aligned,
    split_columns,
    take_rows,
)

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
    "Table",
    "align",
    "as_model",
    "column_names",
    "count_rows",
    "frame_columns",
    "is_fitted",
    "is_torch_module",
    "numbers_of",
    "outcomes_of",
    "predict",
    "predict_point",
    "require_aligned",
    "split_columns",
    "stack",
    "take_rows",
    "unseen_components",
]
