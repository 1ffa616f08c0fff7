"""From a trained model to a checked prediction, and from outcomes to vectors."""

from typing import TYPE_CHECKING

from ..deferred import deferred_names
from .abilities import Model, can, is_fitted, is_torch_module, name_of
from .adapters import predict, predict_point
from .classes import align, outcomes_of, stack, unseen_components
from .outcomes import Labels, Numbers, Outcomes, numbers_of
from .prediction import AnyPrediction, JointPrediction, LabelPrediction, Prediction
from .several import Needs, as_model
from .tables import (
    Column,
    Table,
    column_names,
    count_rows,
    frame_columns,
    index_of,
    is_frame,
    is_sparse,
    require_aligned,
    split_columns,
    take_rows,
)

__all__ = [
    "AnyPrediction",
    "Column",
    "JointPrediction",
    "LabelPrediction",
    "Labels",
    "Model",
    "ModelBlocks",
    "Needs",
    "Numbers",
    "Outcomes",
    "Prediction",
    "QuantilePair",
    "SharedModel",
    "Table",
    "align",
    "as_model",
    "can",
    "column_names",
    "count_rows",
    "fit_copy",
    "frame_columns",
    "index_of",
    "is_fitted",
    "is_frame",
    "is_sparse",
    "is_torch_module",
    "name_of",
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

#: Scikit-learn's estimators, which predictions alone do without: loaded when asked for.
_LATER = dict.fromkeys(
    ("ModelBlocks", "QuantilePair", "SharedModel", "fit_copy"), "models"
)

if TYPE_CHECKING:
    from .models import ModelBlocks, QuantilePair, SharedModel, fit_copy
else:
    __getattr__, __dir__ = deferred_names(__name__, _LATER)
