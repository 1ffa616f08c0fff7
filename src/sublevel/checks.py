"""Checks at the public door: arrays become float arrays, or one clear sentence.

The user sees an error only about something they passed, so every check names its owner.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import InvalidParameter

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: A value longer than this is named by its type and size in a message.
_LONGEST = 60


def as_vector(
    owner: str, name: str, value: Any, size: int | None = None, finite: bool = True
) -> Array:
    """A float array of shape (size,), read-only, from anything array-like."""
    array = _as_array(owner, name, value, finite)
    if array.ndim == 0 and size in (None, 1):
        array = array.reshape(1)
    if array.ndim != 1 or array.size == 0 or (size is not None and array.size != size):
        wanted = "a non-empty vector" if size is None else f"of shape ({size},)"
        raise InvalidParameter(
            f"{owner}({name}=...) must be {wanted}, got shape {array.shape}."
        )
    return freeze(array)


def as_matrix(
    owner: str,
    name: str,
    value: Any,
    shape: tuple[int | None, int | None] = (None, None),
    finite: bool = True,
) -> Array:
    """A read-only float array of two dimensions; None in `shape` leaves a size open."""
    array = _as_array(owner, name, value, finite)
    fits = array.ndim == 2 and all(
        want is None or got == want
        for got, want in zip(array.shape, shape, strict=True)
    )
    if not fits or array.size == 0:
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise InvalidParameter(
            f"{owner}({name}=...) must be a non-empty matrix of shape ({wanted}), "
            f"got shape {array.shape}."
        )
    return freeze(array)


def as_outcomes(owner: str, value: Any, dim: int) -> tuple[Array, bool]:
    """Outcomes as rows of shape (n, dim), and whether a single one was given."""
    array = _as_array(owner, "outcomes", value, finite=False)
    if array.ndim == 1 and array.size == dim:
        return array.reshape(1, dim), True
    if array.ndim == 2 and array.shape[1] == dim:
        return array, False
    raise InvalidParameter(
        f"{owner}.contains(outcomes) must be of shape ({dim},) or (n, {dim}), "
        f"got shape {array.shape}."
    )


def require_positive(owner: str, **values: Any) -> None:
    """Each value must be a finite number above zero."""
    for name, value in values.items():
        if not (_is_number(value) and 0 < value < np.inf):
            raise InvalidParameter(
                f"{owner}({name}=...) must be a positive number, got {value!r}."
            )


def require_nonnegative(owner: str, **values: Any) -> None:
    """Each value must be zero or more; infinity is allowed, NaN is not."""
    for name, value in values.items():
        if not (_is_number(value) and value >= 0):
            raise InvalidParameter(
                f"{owner}({name}=...) must be a number of at least 0, got {value!r}."
            )


def require_level(owner: str, **values: Any) -> None:
    """Each value must lie strictly between 0 and 1."""
    for name, value in values.items():
        if not (_is_number(value) and 0 < value < 1):
            raise InvalidParameter(
                f"{owner}({name}=...) must lie strictly between 0 and 1, got {value!r}."
            )


def freeze(array: Array) -> Array:
    """A read-only float array that shares nothing with the caller's.

    Set values are frozen: changing the caller's array must not change the set.
    """
    frozen = np.array(array, dtype=float)
    frozen.setflags(write=False)
    return frozen


def briefly(value: Any) -> str:
    """The value itself if that is short, else its type and size.

    Examples
    --------
    >>> import numpy as np
    >>> briefly(1.5), briefly(np.zeros((300, 2)))
    ('1.5', 'ndarray of shape (300, 2)')
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"{type(value).__name__} of shape {shape}"
    written = repr(value)
    if len(written) <= _LONGEST:
        return written
    size = f" of length {len(value)}" if hasattr(value, "__len__") else ""
    return f"{type(value).__name__}{size}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating)


def _as_array(owner: str, name: str, value: Any, finite: bool) -> Array:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"{owner}({name}=...) must be numeric, got {type(value).__name__}: {error}."
        ) from error
    bad = ~np.isfinite(array) if finite else np.isnan(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        rule = "finite" if finite else "free of NaN"
        raise InvalidParameter(
            f"{owner}({name}=...) must be {rule}, got {array[where]} at index "
            f"{where[0] if len(where) == 1 else where}."
        )
    return array
