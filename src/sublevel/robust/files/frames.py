"""A few rows of covariates as plain arrays, with their column names, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .packing import Packer, Unpacker, require


def contexts_to(X: Any, packer: Packer) -> Any:
    """A description of the rows; None if they hold what a file cannot."""
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2:
        if not all(isinstance(name, str) for name in X.columns):
            return None
        columns = [_column(X.iloc[:, k]) for k in range(X.shape[1])]
        if any(column is None for column in columns):
            return None
        names = [str(name) for name in X.columns]
        return {"names": names, "columns": [packer.array(c) for c in columns]}
    array = _column(X)
    return None if array is None else {"array": packer.array(array)}


def contexts_from(about: Any, reader: Unpacker) -> Any:
    """The rows again: an array, or a DataFrame."""
    if "array" in about:
        array = reader.arrays[about["array"]]
        require(array.dtype.kind in "biufU", "contexts")
        return array
    import pandas as pd

    names, columns = about["names"], [reader.arrays[c] for c in about["columns"]]
    require(len(names) == len(columns), "contexts")
    require(len({len(c) for c in columns}) <= 1, "contexts")
    parts = {
        k: column.astype(object) if column.dtype.kind == "U" else column
        for k, column in enumerate(columns)
    }
    return pd.DataFrame(parts).set_axis([str(name) for name in names], axis=1)


def _column(values: Any) -> Any:
    """Numbers, flags or words as an array; None for anything else."""
    array = np.asarray(values)
    if array.dtype.kind in "biufU":
        return array
    if array.dtype.kind in "OT" and all(isinstance(v, str) for v in array.ravel()):
        return array.astype(str)
    return None
