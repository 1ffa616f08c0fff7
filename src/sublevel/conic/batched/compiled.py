"""How functions are compiled: once for each machine, and kept on disk where possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

_OPTIONS = {"error_model": "numpy", "nogil": True}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled when it is first called."""
    try:
        return njit(cache=True, **_OPTIONS)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        # There is no directory to keep the code in.
        return njit(**_OPTIONS)(function)  # type: ignore[no-any-return]
