"""How functions are compiled: once for each machine, and kept on disk if possible."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

from numba import njit
from numba.core import event
from numba.core.options import DefaultOptions

_LOG = logging.getLogger(__name__)


def _sources() -> int:
    """A number that changes with any file that has compiled code in it."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return crc32(b"".join(file.read_bytes() for file in files))


#: The last argument of what is kept on disk, by default. What is kept is looked up by
#: the date of one file and by the kinds of arguments, of which this is one: code of
#: another version is never taken.
SOURCES = _sources()
_OPTIONS = {"error_model": "numpy", "nogil": True}
#: Of functions that compiled code alone calls. What they work on belongs to who calls
#: them: they make no arrays, and count no references. Counting, at every array of every
#: call, was half the time of a closed form. The option has no public name, and may go.
_INNER = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
if hasattr(DefaultOptions, "_nrt"):
    _INNER["_nrt"] = False


#: What is called from Python, by dispatcher, and where its code is kept.
_KEPT: dict[Any, str] = {}


class _Announced(event.Listener):  # type: ignore[misc]
    """Compiling takes many seconds, in which nothing else is to be seen."""

    def on_start(self, event: Any) -> None:
        where = _KEPT.get(event.data["dispatcher"])
        if where is not None:
            name = event.data["dispatcher"].py_func.__qualname__
            _LOG.info("compiling %s, which takes some seconds once; %s", name, where)

    def on_end(self, event: Any) -> None:
        """Nothing is said of that."""


event.register("numba:compile", _Announced())


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled when it is first called from Python."""
    try:
        code, where = njit(cache=True, **_OPTIONS)(function), "kept on disk"
    except RuntimeError:
        # There is no directory to keep the code in.
        code, where = njit(**_OPTIONS)(function), "kept for this process only"
    _KEPT[code] = where
    return code  # type: ignore[no-any-return]


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that compiled code calls: it is kept with what calls it."""
    return njit(**_INNER)(function)  # type: ignore[no-any-return]


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a small one: handing over its arguments would cost too much."""
    return njit(forceinline=True, **_INNER)(function)  # type: ignore[no-any-return]
