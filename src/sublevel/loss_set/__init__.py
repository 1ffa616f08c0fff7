"""From a model and its loss to calibrated sets at any context."""

from .batch import Batch, SetBatch, UnionBatch
from .estimator import LossSet

__all__ = ["Batch", "LossSet", "SetBatch", "UnionBatch"]
