"""Rows taken apart: to train, to tune, to calibrate and to test."""

from .fold import Fold
from .folds import Folds
from .split import split
from .times import UNITS, label_units, stretch_of, times_of

__all__ = ["UNITS", "Fold", "Folds", "label_units", "split", "stretch_of", "times_of"]
