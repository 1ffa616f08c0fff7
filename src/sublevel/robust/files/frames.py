"""A few rows of covariates as plain arrays, with the types of columns, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...predictions import Table, is_frame, is_sparse
from .packing import Packer, Unpacker, require

#: Arrays that are written as they are: flags, numbers, words, times.
_PLAIN = "biufUmM"


def contexts_to(X: Table, packer: Packer) -> Any:
    """A description of the rows; None if they hold what a file cannot."""
    if is_sparse(X):
        return {"sparse": packer.sparse(X)}
    if is_frame(X) and X.ndim == 2:
        if not all(isinstance(name, str) for name in X.columns):
            return None
        columns = [_column_to(X.iloc[:, k], packer) for k in range(X.shape[1])]
        if any(column is None for column in columns):
            return None
        return {"names": list(X.columns), "columns": columns}
    array = np.asarray(X)
    return {"array": packer.array(array)} if array.dtype.kind in _PLAIN else None


def contexts_from(about: Any, reader: Unpacker) -> Any:
    """The rows again: an array, a sparse matrix, or a DataFrame."""
    if "array" in about:
        return _plain(about["array"], reader)
    if "sparse" in about:
        return reader.sparse(about["sparse"], None, about["sparse"][0][1]).csr
    import pandas as pd

    names, columns = about["names"], about["columns"]
    parts = [_column_from(column, reader) for column in columns]
    require(len(names) == len(parts) > 0, "contexts")
    require(len({len(part) for part in parts}) == 1, "contexts")
    table = pd.DataFrame(dict(enumerate(parts)))
    return table.set_axis([str(name) for name in names], axis=1)


def _column_to(column: Any, packer: Packer) -> Any:
    """One column: its type, numbers or words, and which of them are missing."""
    kind = str(column.dtype)
    if kind == "category":
        words = _words(column.cat.categories)
        if words is None:
            return None
        codes = np.asarray(column.cat.codes, dtype=np.int64)
        ordered = bool(column.cat.ordered)
        return [kind, packer.array(codes), packer.array(words), ordered]
    values = np.asarray(column)
    if values.dtype.kind in _PLAIN:
        return [kind, packer.array(values), None, None]
    missing = np.asarray(column.isna(), dtype=bool)
    words = _words(np.where(missing, "", values))
    if words is None:
        return None
    return [kind, packer.array(words), packer.array(missing), None]


def _column_from(about: Any, reader: Unpacker) -> Any:
    import pandas as pd

    kind, first, second, ordered = about
    values = _plain(first, reader)
    require(values.ndim == 1, "contexts")
    if kind == "category":
        words = _plain(second, reader)
        require(ordered in (True, False), "contexts")
        return pd.Series(
            pd.Categorical.from_codes(values, _unpacked(words), ordered=ordered)
        )
    if second is None:
        return pd.Series(values)
    missing = reader.flags(second, len(values))
    column = pd.Series(_unpacked(values)).where(~missing, None)
    return column.astype(kind) if kind in ("object", "str", "string") else column


def _words(values: object) -> Any:
    """Words, numbers or flags as an array; None for anything else."""
    array = np.asarray(values)
    if array.dtype.kind in _PLAIN:
        return array
    words = all(isinstance(value, str) for value in array.ravel())
    return array.astype(str) if words else None


def _unpacked(words: np.ndarray[Any, Any]) -> Any:
    return words.astype(object) if words.dtype.kind == "U" else words


def _plain(name: str, reader: Unpacker) -> np.ndarray[Any, Any]:
    array = reader.arrays[name]
    require(array.dtype.kind in _PLAIN and array.ndim >= 1, "contexts")
    return array
