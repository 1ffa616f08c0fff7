"""A certificate from a file, whose fields are of the types they are to be."""

from __future__ import annotations

import numpy as np

from ...guarantees import Certificate
from .packing import Plain, require

#: What the fields of a certificate are.
_FIELDS: dict[str, tuple[type, ...]] = {
    "guarantee": (str,),
    "alpha": (int, float),
    "confidence": (float, type(None)),
    "budget": (float,),
    "sample_size": (int,),
    "minimum_sample_size": (int,),
    "rank": (int, type(None)),
    "random": (str,),
    "reference": (str,),
    "heuristic": (bool,),
    "note": (str,),
    "beta_law": (bool,),
    "event": (str,),
    "holds": (str,),
    "measure": (str,),
}


def certificate_from(about: Plain) -> Certificate:
    """A certificate whose fields are of the types they are to be."""
    promise = Certificate.from_dict(about)
    for name, kinds in _FIELDS.items():
        value = vars(promise)[name]
        require(isinstance(value, kinds) and not _is_nan(value), f"{name!r}")
    for words in promise.assumptions:
        require(isinstance(words, str), "an assumption")
    require(0 < promise.alpha <= 1, "a level")
    return promise


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and np.isnan(value)
