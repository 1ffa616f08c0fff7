"""Rows taken apart: to train, to tune, to calibrate and to test."""

from .fold import Fold
from .folds import Folds
from .labels import column_of, number_labels
from .split import split
from .times import UNITS, label_units, stretch_of, times_of

__all__ = [
    "UNITS",
    "Fold",
    "Folds",
    "column_of",
    "label_units",
    "number_labels",
    "split",
    "stretch_of",
    "times_of",
]
