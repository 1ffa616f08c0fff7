"""From a model and its loss to calibrated sets at any context."""

from typing import TYPE_CHECKING

from ..deferred import deferred_names
from .batch import Batch, SetBatch, UnionBatch
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

if TYPE_CHECKING:
    from .estimator import LossSet
else:
    __getattr__, __dir__ = deferred_names(__name__, {"LossSet": "estimator"})
