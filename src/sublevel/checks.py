"""Checks at the public door: arrays become float arrays, or one clear sentence.

The user sees an error only about something they passed, so every check names its owner.
"""

import sys
from collections.abc import Iterable, Sized
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from .errors import InvalidParameter

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: Relative error that a few sums and products leave, some fifty times the machine's.
ROUNDED = 1e-14
#: Rounding beyond this share of a radius is worked out entry by entry.
COARSE = 1e-8
#: How far probabilities may be below 0, and their sum off 1: models often predict in
#: single precision.
_BELOW_ZERO, _OFF_ONE = 1e-9, 1e-4

#: A value longer than this is named by its type and size in a message.
_LONGEST = 60

#: Lists in lists that are looked into: arrays have fewer dimensions.
_MOST_LEVELS = 8

#: The largest numbers that sets and directions are made of: squares, and sums of
#: products, must not overflow.
LARGEST = 1e140


def as_vector(
    owner: str, name: str, value: object, size: int | None = None, finite: bool = True
) -> Array:
    """A float array of shape (size,), read-only, from anything array-like."""
    array = _as_array(owner, name, value, finite)
    require_sized(owner, name, array)
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
    value: object,
    shape: tuple[int | None, int | None] = (None, None),
    finite: bool = True,
    sized: bool = True,
) -> Array:
    """A read-only float array of two dimensions; None in `shape` leaves a size open.

    Outcomes that were observed may be of any size; what sets are made of may not
    (`sized`).
    """
    array = _as_array(owner, name, value, finite)
    if sized:
        require_sized(owner, name, array)
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


def as_entries(owner: str, name: str, value: object, size: int) -> Array:
    """A read-only vector of shape (size,) from one number for all, or one each."""
    array = _as_array(owner, name, value, finite=True)
    if array.ndim == 0:
        array = np.full(size, array)
    return as_vector(owner, name, array, size)


def as_outcomes(owner: str, value: object, dim: int) -> tuple[Array, bool]:
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


def require_positive(owner: str, **values: object) -> None:
    """Each value must be a finite number above zero."""
    for name, value in values.items():
        if not (is_number(value) and 0 < value < np.inf):
            raise InvalidParameter(
                f"{owner}({name}=...) must be a positive number, got {briefly(value)}."
            )


def require_nonnegative(owner: str, **values: object) -> None:
    """Each value must be zero or more; infinity is allowed, NaN is not."""
    for name, value in values.items():
        if not (is_number(value) and value >= 0):
            raise InvalidParameter(
                f"{owner}({name}=...) must be a number of at least 0, got "
                f"{briefly(value)}."
            )
        require_sized(owner, name, np.asarray(value, dtype=float))


def require_tolerance(owner: str, tol: object) -> None:
    """A relative slack: zero or more, and finite."""
    if not (is_number(tol) and 0 <= tol < np.inf):
        raise InvalidParameter(
            f"{owner}(tol=...) must be a finite number of at least 0, got "
            f"{briefly(tol)}."
        )


def require_level(owner: str, **values: object) -> None:
    """Each value must lie strictly between 0 and 1."""
    for name, value in values.items():
        if not (is_number(value) and 0 < value < 1):
            raise InvalidParameter(
                f"{owner}({name}=...) must lie strictly between 0 and 1, got "
                f"{briefly(value)}."
            )


def require_bool(owner: str, **values: object) -> None:
    """Each value must be True or False."""
    for name, value in values.items():
        if not isinstance(value, bool | np.bool_):
            raise InvalidParameter(
                f"{owner}({name}=...) must be True or False, got {briefly(value)}."
            )


def require_choice(owner: str, choices: Iterable[str], **values: object) -> None:
    """Each value must be one of the words."""
    words = tuple(choices)
    for name, value in values.items():
        if not (isinstance(value, str) and value in words):
            raise InvalidParameter(
                f"{owner}({name}=...) must be one of {words}, got {briefly(value)}."
            )


def require_having(owner: str, attribute: str, what: str, **values: object) -> None:
    """Each value must have an attribute that only the right kind of thing has."""
    for name, value in values.items():
        if isinstance(value, type) or not hasattr(value, attribute):
            raise InvalidParameter(
                f"{owner}({name}=...) must be {what}, got {briefly(value)}."
            )


def as_generator(
    owner: str, random_state: int | np.random.Generator | None
) -> np.random.Generator:
    """A generator from a seed, a generator, or None for a fresh one."""
    given = isinstance(random_state, np.random.Generator) or random_state is None
    if not (given or is_whole(random_state)):
        raise InvalidParameter(
            f"{owner}(random_state=...) must be an integer of at least 0, a "
            f"np.random.Generator or None, got {briefly(random_state)}."
        )
    return np.random.default_rng(random_state)


def freeze(array: Array) -> Array:
    """A read-only float array that shares nothing with the caller's.

    Set values are frozen: changing the caller's array must not change the set.
    """
    frozen = np.array(array, dtype=float)
    frozen.setflags(write=False)
    return frozen


def briefly(value: object) -> str:
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
    size = f" of length {len(value)}" if isinstance(value, Sized) else ""
    return f"{type(value).__name__}{size}"


def is_number(value: object) -> TypeGuard[float]:
    """Whether the value is one real number; True and False are answers, not numbers.

    Examples
    --------
    >>> is_number(2), is_number(True), is_number("2")
    (True, False, False)
    """
    real = isinstance(value, int | float | np.integer | np.floating)
    # NumPy counts durations among the integers; Python's may be too long for a float.
    strange = isinstance(value, bool | np.timedelta64)
    return real and not strange and (type(value) is not int or abs(value) < 10**308)


def is_answer(value: object) -> bool:
    """Whether the value is true or false, or the numbers 1 and 0 for these.

    Examples
    --------
    >>> is_answer(True), is_answer(0.0), is_answer("yes")
    (True, True, False)
    """
    truth = isinstance(value, bool | np.bool_)
    return bool(truth or (is_number(value) and value in (0, 1)))


def are_laws(probabilities: Array) -> BoolArray:
    """Whether each row is a law: at least 0, and 1 in sum, but for rounding.

    Parameters
    ----------
    probabilities : shape (..., classes)

    Returns
    -------
    booleans of shape (...)

    Examples
    --------
    >>> are_laws(np.array([[0.25, 0.75], [0.5, 0.6]]))
    array([ True, False])
    """
    kept = (probabilities >= -_BELOW_ZERO).all(axis=-1)
    return np.asarray(kept & (np.abs(probabilities.sum(axis=-1) - 1) <= _OFF_ONE))


def has_csr(value: object) -> bool:
    """Whether the value is a sparse matrix, of scipy's or of another library.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> has_csr(csr_matrix([[1.0]])), has_csr([[1.0]])
    (True, False)
    """
    return hasattr(value, "tocsr")


def is_whole(value: object, least: int = 0) -> TypeGuard[int]:
    """Whether the value is an integer, of at least `least`.

    Examples
    --------
    >>> is_whole(2), is_whole(2.0), is_whole(True), is_whole(0, least=1)
    (True, False, False, False)
    """
    return isinstance(value, int | np.integer) and is_number(value) and value >= least


def as_numbers(owner: str, name: str, value: object) -> Array:
    """A float array from anything that holds real numbers, NaN and infinities included.

    What NumPy would turn into numbers without a word is refused: truth values, words
    that look like numbers, dates, the real part of complex numbers, and what lies
    behind a mask.

    Examples
    --------
    >>> as_numbers("Box", "lower", [1, 2.5])
    array([1. , 2.5])
    """
    # What is most often given is not looked into.
    if type(value) is float or (type(value) is np.ndarray and value.dtype.kind == "f"):
        return np.asarray(value, dtype=float)
    stranger = _stranger(value)
    if stranger is None:
        try:
            return np.asarray(_plain(value), dtype=float)
        except (TypeError, ValueError, OverflowError) as error:
            stranger = f": {error}", ""
    raise InvalidParameter(
        f"{owner}({name}=...) must be numeric, got {_kind_of(value)}{stranger[0]}."
        f"{stranger[1]}"
    )


def _plain(value: object) -> npt.NDArray[Any]:
    """A table whose missing entries are NaN, where NumPy would stumble over them."""
    array = np.asarray(value)
    if array.dtype.kind != "O" or "pandas" not in sys.modules:
        return array
    import pandas as pd

    return np.where(pd.isna(array), np.nan, array)


#: Kinds of values that are no real numbers, in words, and what to do about them.
_STRANGE = {
    "b": ("truth values", "Say .astype(float) if 0 and 1 are meant."),
    "c": ("complex numbers", "Complex data not supported: say .real if that is meant."),
    "M": ("dates", "Say how many days, or other units, have passed since one."),
    "m": ("durations", "Divide by a unit, np.timedelta64(1, 'D'), say."),
    "U": ("words", "Say .astype(float) if these are numbers."),
    "S": ("bytes", "Say .astype(float) if these are numbers."),
    "V": ("records", "Take the fields that are numbers."),
    "O": ("objects", ""),
}


def _kind_of(value: object) -> str:
    return type(value).__name__ if np.iterable(value) else briefly(value)


def _strange(kind: str, example: object) -> tuple[str, str]:
    """What was seen, with an example, and the way out."""
    what, way_out = _STRANGE[kind]
    return f" with {what} such as {briefly(example)}", f" {way_out}" if way_out else ""


def _stranger(value: object, level: int = 0) -> tuple[str, str] | None:
    """What is in a value that is no real number, and the way out; None if nothing."""
    if level > _MOST_LEVELS:
        return f" nested more than {_MOST_LEVELS} levels deep", ""
    if has_csr(value):
        return ", a sparse matrix", " Say .toarray()."
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.getmaskarray(value).any():
            return " with entries masked", " Fill them, or leave them out."
        value = value.data
    if isinstance(value, set | dict):
        return "", " Say list(...)."
    if isinstance(value, list | tuple):
        return _stranger_in(value, level)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        return f": {error}", ""
    if array.dtype.kind == "O" and array.ndim:
        return _stranger_in(array.ravel().tolist(), level)
    if array.dtype.kind == "O":
        fine = hasattr(value, "__float__") or _is_missing(value)
        return None if fine else _strange("O", value)
    if array.dtype.kind not in _STRANGE:
        return None
    return _strange(array.dtype.kind, array.ravel().tolist()[0] if array.size else None)


def _stranger_in(values: Iterable[object], level: int) -> tuple[str, str] | None:
    """The same for lists of anything, lists in lists included."""
    for value in values:
        if type(value) is float or type(value) is int:
            continue
        if isinstance(value, str | bytes | bool | np.bool_ | complex):
            return _strange(np.asarray(value).dtype.kind, value)
        wrong = _stranger(value, level + 1)
        if wrong is not None:
            return wrong
    return None


def _is_missing(value: object) -> bool:
    """Whether it is what pandas writes for a number that is missing."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and value is pandas.NA


def _as_array(owner: str, name: str, value: object, finite: bool) -> Array:
    array = as_numbers(owner, name, value)
    bad = ~np.isfinite(array) if finite else np.isnan(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        rule = "finite" if finite else "free of NaN"
        at = where[0] if len(where) == 1 else where
        raise InvalidParameter(
            f"{owner}({name}=...) must be {rule}, got {array[where]}"
            f"{f' at index {at}' if where else ''}."
        )
    return array


def require_sized(owner: str, name: str, array: Array) -> None:
    """Beyond LARGEST sums and squares are infinite, and answers would be wrong."""
    # The usual case takes no copy. With nan both are false, and the slow way decides.
    if array.size and array.min() >= -LARGEST and array.max() <= LARGEST:
        return
    size = np.where(np.isfinite(array), np.abs(array), 0.0)
    if (size > LARGEST).any():
        raise InvalidParameter(
            f"{owner}({name}=...) must be at most {LARGEST:g} in size, got "
            f"{size.max():g}. Measure it in larger units."
        )
