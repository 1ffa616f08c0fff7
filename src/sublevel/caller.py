"""Warnings that point at the user's line, however deep in the library they arise."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent) + os.sep


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside the library on the way to this one.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("Mind the gap.", UserWarning)
    >>> "doctest" in caught[0].filename
    True
    """
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
