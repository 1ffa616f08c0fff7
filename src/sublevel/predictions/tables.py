"""Rows and columns of what users have: arrays, sparse matrices, DataFrames, lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, cast

import numpy as np

from ..checks import briefly, has_csr, is_number
from ..errors import InvalidParameter

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd


class SparseRows(Protocol):
    """A sparse matrix of scipy's, of any format."""

    shape: tuple[int, ...]

    def tocsr(self) -> Any: ...


#: What users have: contexts X, handed to the model as they come, or outcomes Y.
Table: TypeAlias = (
    "npt.ArrayLike | pd.DataFrame | pd.Series[Any] | SparseRows | Sequence[Any]"
)


#: A column of Y: values of any one type, shape (n,).
Column: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def is_frame(values: object) -> TypeGuard[pd.DataFrame]:
    """Whether rows are taken by `iloc`, as those of a DataFrame or a Series.

    Examples
    --------
    >>> import pandas as pd
    >>> is_frame(pd.DataFrame({"a": [1.0]})), is_frame([1.0])
    (True, False)
    """
    return hasattr(values, "iloc")


class NamedColumns(Protocol):
    """A table of another library, polars say: columns that go by names."""

    columns: Sequence[str]

    def __getitem__(self, name: str) -> Any: ...


def has_columns(values: object) -> TypeGuard[NamedColumns]:
    """Whether the values are a table with named columns, of pandas or not.

    Examples
    --------
    >>> import pandas as pd
    >>> has_columns(pd.DataFrame({"a": [1.0]})), has_columns([1.0])
    (True, False)
    """
    return hasattr(values, "columns")


def is_sparse(values: object) -> TypeGuard[SparseRows]:
    """Whether the values are a sparse matrix.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> is_sparse(csr_matrix([[1.0]])), is_sparse([[1.0]])
    (True, False)
    """
    return has_csr(values)


def index_of(values: object) -> Any:
    """Row labels of a DataFrame; None for all else: the `index` of a list is a method.

    Examples
    --------
    >>> index_of([1.0, 2.0]) is None
    True
    """
    if type(values) is np.ndarray:
        return None
    return values.index if is_frame(values) else None


def split_columns(Y: Table) -> list[Column]:
    """The columns of Y, each an array of shape (n,) that keeps its own type.

    Examples
    --------
    >>> [column.dtype.kind for column in split_columns([[1.5, "high"], [2.5, "low"]])]
    ['f', 'U']
    """
    # What is most often given is not looked into.
    if type(Y) is not np.ndarray:
        _refuse_hidden(Y)
        if is_frame(Y) and np.ndim(Y) == 2:
            return [Y.iloc[:, k].to_numpy() for k in range(Y.shape[1])]
        if isinstance(Y, list | tuple) and len(Y) > 0:
            return _split_list(Y)
    array = np.asarray(Y)
    if array.ndim == 1:
        return [array]
    if array.ndim == 2:
        return list(array.T)
    raise _wrong_shape(f"shape {array.shape}" if array.ndim else briefly(Y))


def column_names(Y: Table) -> list[str]:
    """Names of Y's columns: its own where it has any, y0, y1, ... otherwise."""
    named = frame_columns(Y)
    if named is not None:
        return list(named)
    name = getattr(Y, "name", None)
    if name is not None:
        return [str(name)]
    return [f"y{k}" for k in range(len(split_columns(Y)))]


def frame_columns(Y: Table) -> tuple[str, ...] | None:
    """Names of a DataFrame's columns; None for what has no order to get wrong.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_columns(pd.DataFrame({"demand": [1.0], "price": [2.0]}))
    ('demand', 'price')
    >>> frame_columns([[1.0, 2.0]]) is None
    True
    """
    return tuple(map(str, Y.columns)) if is_frame(Y) and Y.ndim == 2 else None


def _split_list(rows: Sequence[Any]) -> list[Column]:
    """Columns of a list of outcomes, or of a list of rows."""
    if np.ndim(rows[0]) == 0:
        return [_column(rows)]
    if np.ndim(rows[0]) > 1:
        raise _wrong_shape(f"rows of shape {np.shape(rows[0])}")
    widths = {np.size(row) for row in rows}
    if len(widths) > 1:
        raise _wrong_shape(f"rows of {min(widths)} to {max(widths)} values")
    return [_column(values) for values in zip(*rows, strict=True)]


def _column(values: Sequence[Any]) -> Column:
    """Values of one type as an array of it.

    Mixed ones stay objects: NumPy would turn the NaN beside a word into a word.
    """
    numbers = all(map(is_number, values))
    if numbers or len({type(v) for v in values}) == 1:
        return np.array(values)
    return np.array(values, dtype=object)


def _wrong_shape(got: str) -> InvalidParameter:
    return InvalidParameter(f"Y must be of shape (n,) or (n, m), got {got}.")


def _refuse_hidden(Y: Table) -> None:
    """What lies behind a mask, or is not stored, must not be taken for outcomes."""
    if isinstance(Y, np.ma.MaskedArray) and np.ma.getmaskarray(Y).any():
        raise InvalidParameter(
            "Y must be free of missing outcomes, got a masked array with entries "
            "masked. Find these outcomes."
        )
    if is_sparse(Y):
        raise InvalidParameter(
            "Y must be an array, a DataFrame or a list, got a sparse matrix. Say "
            "Y.toarray()."
        )


def require_aligned(values: object, X: object, owner: str, what: str) -> None:
    """Rows of two tables that have the same labels must have them in the same order.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"a": [1.0, 2.0]})
    >>> require_aligned(X, X, "LossSet.fit", "Y")
    """
    if type(values) is np.ndarray or not (is_frame(values) and is_frame(X)):
        return
    rows, wanted = values.index, X.index
    if len(rows) != len(wanted) or rows.equals(wanted):
        return
    if rows.is_unique and wanted.is_unique and rows.isin(wanted).all():
        raise InvalidParameter(
            f"{owner}: {what} must have its rows in the order of X, got the labels of "
            "its rows in another order. Say .loc[X.index], or .to_numpy() if the order "
            "is right as it is."
        )


def take_rows(values: Table, rows: slice | list[int] | npt.NDArray[Any]) -> Any:
    """The chosen rows; a DataFrame stays one, a sparse matrix stays one.

    Rows of a table of another library, polars say, are a DataFrame of pandas under the
    same names: models know their columns again.

    Examples
    --------
    >>> take_rows([[1, 2], [3, 4]], [1])
    array([[3, 4]])
    """
    if type(values) is np.ndarray:
        return values[rows]
    if is_frame(values):
        return values.iloc[rows]
    if is_sparse(values):
        return values.tocsr()[rows]
    if has_columns(values):
        import pandas as pd

        chosen = {name: np.asarray(values[name])[rows] for name in values.columns}
        return pd.DataFrame(chosen)
    return np.asarray(values)[rows]


def count_rows(values: object) -> int:
    """How many rows there are.

    Examples
    --------
    >>> count_rows([[1, 2], [3, 4]])
    2
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise InvalidParameter(
            "X and Y must be free of masked entries, got a masked array, whose entries "
            "would be taken for what lies behind the mask. Fill them, with nan, say."
        )
    try:
        shape = values.shape if hasattr(values, "shape") else np.asarray(values).shape
    except ValueError:
        # Rows of different lengths are counted all the same.
        shape = (len(cast(Sequence[Any], values)),)
    if not isinstance(shape, tuple) or not shape:
        raise InvalidParameter(f"X must have rows, got {briefly(values)}.")
    return int(shape[0])
