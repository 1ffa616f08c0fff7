"""How functions are compiled: once for each machine, and kept on disk if possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

_OPTIONS = {"error_model": "numpy", "nogil": True}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled when it is first called."""
    return _compiled(function, _OPTIONS)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a small function: handing over its arguments would cost too much."""
    return _compiled(function, {**_OPTIONS, "forceinline": True})


def _compiled(
    function: Callable[..., Any], options: dict[str, Any]
) -> Callable[..., Any]:
    try:
        return njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        # There is no directory to keep the code in.
        return njit(**options)(function)  # type: ignore[no-any-return]
