"""How functions are compiled: once for each machine, and kept on disk if possible."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

from numba import njit


def _sources() -> int:
    """A number that changes with any file of this folder."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return crc32(b"".join(file.read_bytes() for file in files))


#: The last argument of what is kept on disk, by default. What is kept is looked up by
#: the date of one file and by the kinds of arguments, of which this is one: code of
#: another version is never taken.
SOURCES = _sources()
_OPTIONS = {"error_model": "numpy", "nogil": True}
#: Of functions that compiled code alone calls.
_INNER = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled when it is first called from Python."""
    try:
        return njit(cache=True, **_OPTIONS)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        # There is no directory to keep the code in.
        return njit(**_OPTIONS)(function)  # type: ignore[no-any-return]


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that compiled code calls: it is kept with what calls it."""
    return njit(**_INNER)(function)  # type: ignore[no-any-return]


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a small one: handing over its arguments would cost too much."""
    return njit(forceinline=True, **_INNER)(function)  # type: ignore[no-any-return]
