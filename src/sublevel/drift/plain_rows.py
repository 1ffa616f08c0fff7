"""Rows of contexts and outcomes as plain JSON values, with the types of columns.

A model that decides on words must meet words again: a column keeps its type, and what
is missing in it. Missing is None, or ["nan"] in a column of any objects, where both may
stand and an encoder tells them apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import briefly
from ..errors import InvalidParameter
from ..folds import times_of
from ..predictions import is_frame, is_sparse

_ENDLESS = {"inf": np.inf, "-inf": -np.inf}


def rows_to(values: Any) -> dict[str, Any]:
    """An array, a Series or a DataFrame of numbers, words and truth values."""
    if is_sparse(values):
        raise _refused("a sparse matrix", "Save with rows of arrays or tables.")
    if not is_frame(values):
        array = np.asarray(values)
        return {"shape": list(array.shape), **_column_to(array.ravel(), "the array")}
    times = times_of(values)
    about = {
        "times": None if times is None else [each.isoformat() for each in times],
        "zone": None if times is None or times.tz is None else str(times.tz),
    }
    if values.ndim == 1:
        own = _column_to(values, f"column {values.name!r}")
        return {"name": _name(values.name), **own, **about}
    names = list(values.columns)
    columns = [
        _column_to(values.iloc[:, k], f"column {name!r}")
        for k, name in enumerate(names)
    ]
    return {"names": [_name(name) for name in names], "columns": columns, **about}


def rows_from(about: dict[str, Any]) -> Any:
    """The rows that `rows_to` wrote."""
    if "shape" in about:
        return np.asarray(_values_from(about)).reshape(about["shape"])
    import pandas as pd

    index = None
    if about["times"] is not None:
        utc = about["zone"] is not None
        index = pd.DatetimeIndex(pd.to_datetime(about["times"], utc=utc))
        index = index.tz_convert(about["zone"]) if utc else index
    if "columns" not in about:
        return pd.Series(_values_from(about), index=index, name=about["name"])
    parts = {k: pd.Series(_values_from(c)) for k, c in enumerate(about["columns"])}
    table = pd.DataFrame(parts).set_axis(about["names"], axis=1)
    return table if index is None else table.set_axis(index, axis=0)


def _column_to(column: Any, where: str) -> dict[str, Any]:
    """Values of one column, and their type."""
    kind = column.dtype
    if str(kind) == "category":
        categories = _objects(column.cat.categories, where)
        codes = column.cat.codes.tolist()
        about = {"type": "category", "categories": categories}
        return about | {"ordered": bool(column.cat.ordered), "values": codes}
    if not isinstance(kind, np.dtype):
        missing = column.isna().tolist()
        given = zip(column.tolist(), missing, strict=True)
        own = [None if gone else value for value, gone in given]
        return {"array": str(kind), "values": _objects(own, where)}
    if kind.kind == "f":
        values = np.asarray(column).tolist()
        return {"type": str(kind), "values": [_number(value) for value in values]}
    if kind.kind in "biu":
        return {"type": str(kind), "values": np.asarray(column).tolist()}
    return {"type": str(kind), "values": _objects(column.tolist(), where)}


def _values_from(about: dict[str, Any]) -> Any:
    values = about["values"]
    if "array" in about:
        import pandas as pd

        # A type of pandas' own, whose name may be one of NumPy's.
        return pd.array(values, dtype=about["array"])
    kind = about["type"]
    if kind == "category":
        import pandas as pd

        words = pd.Index(list(map(_object_from, about["categories"])))
        return pd.Categorical.from_codes(values, words, ordered=about["ordered"])
    own = np.dtype(kind)
    if own.kind == "f":
        return np.array(list(map(_number_from, values)), dtype=own)
    objects = list(map(_object_from, values)) if own.kind == "O" else values
    return np.array(objects, dtype=own)


def _number(value: float) -> float | str | None:
    """A number as JSON has it."""
    if value != value:
        return None
    return value if np.isfinite(value) else str(value)


def _number_from(value: Any) -> float:
    if value is None:
        return float("nan")
    return _ENDLESS[value] if isinstance(value, str) else float(value)


def _objects(values: Any, where: str) -> list[Any]:
    """Words, numbers and truth values, and what is missing."""
    plain = []
    for value in values:
        own = value.item() if isinstance(value, np.generic) else value
        if isinstance(own, float) and not np.isfinite(own):
            own = [str(own)]
        elif not (own is None or type(own) in (str, int, bool, float)):
            raise _refused(
                f"{briefly(value)} in {where}",
                "Give the model columns of these, made before it.",
            )
        plain.append(own)
    return plain


def _object_from(value: Any) -> Any:
    return float(value[0]) if isinstance(value, list) else value


def _name(name: Any) -> Any:
    own = name.item() if isinstance(name, np.generic) else name
    return own if own is None or type(own) in (str, int) else str(own)


def _refused(what: str, way_out: str) -> InvalidParameter:
    return InvalidParameter(
        "What follows a policy is saved with its latest rows, which must be of "
        f"numbers, words and truth values, got {what}. {way_out}"
    )
