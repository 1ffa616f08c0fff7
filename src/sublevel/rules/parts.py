"""What a function is made of, so that another one is told apart from it.

Its code, and the values that the code reads: defaults, what it closes over, globals,
the attributes of the object it belongs to. Numbers, words, arrays and other functions
of the same module count by what they are; anything else, a fitted model or a list that
something is written to, only by its type.
"""

from __future__ import annotations

import dis
import types
from functools import partial
from typing import Any

import joblib
import numpy as np

from ..predictions import is_frame

#: Nested tuples of words, the same in every process.
Parts = tuple[Any, ...]
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_WRITES = ("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR")


def parts_of(value: object, of: str = "", met: frozenset[int] = frozenset()) -> Parts:
    """What tells a function, or a value that one reads, from others.

    Parameters
    ----------
    of : module whose functions are looked into; "" for any
    met : functions being looked into, which may call themselves

    Examples
    --------
    >>> def with_margin(margin):
    ...     return lambda x, level: x + margin * level
    >>> parts_of(with_margin(1.0)) == parts_of(with_margin(1.0))
    True
    >>> parts_of(with_margin(1.0)) == parts_of(with_margin(0.9))
    False
    """
    if isinstance(value, types.FunctionType):
        name = f"{value.__module__}.{value.__qualname__}"
        if id(value) in met or of not in ("", value.__module__):
            return (name,)
        return name, _body(value.__code__), _read(value, met | {id(value)})
    if isinstance(value, types.MethodType):
        inner = value.__func__
        state = _state(value.__self__, inner)
        return parts_of(inner, of, met), state
    if isinstance(value, partial):
        given = (value.args, tuple(sorted(value.keywords.items())))
        return parts_of(value.func, of, met), parts_of(given, of, met)
    if isinstance(value, _PLAIN) or is_frame(value):
        return (type(value).__qualname__, joblib.hash(value))
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return ("array", joblib.hash(value))
    if isinstance(value, tuple):
        return tuple(parts_of(each, of, met) for each in value)
    call = type(value).__call__ if callable(value) else None
    if isinstance(call, types.FunctionType):
        return type(value).__qualname__, parts_of(call, of, met), _state(value, call)
    if isinstance(value, types.BuiltinFunctionType | type):
        return (f"{value.__module__}.{value.__qualname__}",)
    return (type(value).__qualname__,)


def _read(function: types.FunctionType, met: frozenset[int]) -> Parts:
    """Values the code reads and does not write, by name."""
    code = function.__code__
    values: dict[str, Any] = dict(function.__kwdefaults__ or {})
    values["defaults"] = function.__defaults__ or ()
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        # The cell of a name that is given its value later is empty.
        values[name] = cell.cell_contents if _is_full(cell) else None
    within = function.__globals__
    for name in _names(code, ("LOAD_GLOBAL", "LOAD_NAME")) & set(within):
        values[name] = within[name]
    read = sorted(set(values) - _names(code, _WRITES))
    module = function.__module__
    return tuple((name, parts_of(values[name], module, met)) for name in read)


def _state(owner: Any, method: Any) -> Parts:
    """Attributes of the object a method belongs to, less those that it writes."""
    values = vars(owner) if "__dict__" in dir(owner) else {}
    is_python = isinstance(method, types.FunctionType)
    writes = _names(method.__code__, _WRITES) if is_python else set()
    read = sorted(set(values) - writes)
    own = [(name, values[name]) for name in read if not callable(values[name])]
    return tuple((name, parts_of(value)) for name, value in own)


def _is_full(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _names(code: types.CodeType, does: tuple[str, ...]) -> set[str]:
    """Names that some instruction of the code, or of code within it, is about."""
    own = {str(i.argval) for i in dis.get_instructions(code) if i.opname in does}
    return own.union(*(_names(each, does) for each in _within(code)))


def _within(code: types.CodeType) -> list[types.CodeType]:
    return [each for each in code.co_consts if isinstance(each, types.CodeType)]


def _body(code: types.CodeType) -> Parts:
    constants = [_constant(each) for each in code.co_consts]
    return joblib.hash(code.co_code), code.co_names, tuple(constants)


def _constant(value: object) -> Any:
    if isinstance(value, types.CodeType):
        return _body(value)
    if isinstance(value, frozenset):
        # The order of a set of words is another in every process.
        return tuple(sorted(map(repr, value)))
    return repr(value)
