"""From a model and its loss to calibrated sets at any context."""

from .batch import Batch, SetBatch, UnionBatch
from .estimator import LossSet
from .marks import mark_rows, refuse_seen
from .source import SetSource, certificate_of

__all__ = [
    "Batch",
    "LossSet",
    "SetBatch",
    "SetSource",
    "UnionBatch",
    "certificate_of",
    "mark_rows",
    "refuse_seen",
]
