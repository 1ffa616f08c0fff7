"""The latest rows with outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array
from ..errors import InvalidParameter
from ..folds import times_of
from ..predictions import Table, count_rows, is_frame, is_sparse, take_rows
from ..robust.labelled import Outcome
from .state import reading


@dataclass(frozen=True, eq=False)
class Recent:
    """The latest rows with outcomes, of the type they came in.

    Attributes
    ----------
    X, Y : contexts and outcomes; None before any came
    """

    X: Any = None
    Y: Any = None

    @property
    def size(self) -> int:
        """How many rows there are."""
        return 0 if self.X is None else count_rows(self.X)

    def add(self, X: Table, Y: Outcome, window: int) -> Recent:
        """With later rows, and without the earliest beyond the window."""
        if self.X is None:
            return Recent(_last(X, window), _last(Y, window))
        return Recent(
            _last(_stacked(self.X, X), window), _last(_stacked(self.Y, Y), window)
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; tables must be of numbers."""
        if self.X is None:
            return {}
        return {"X": _table_to(self.X), "Y": _each(self.Y, _table_to)}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Recent:
        """The rows that `to_dict` wrote."""
        if not state:
            return cls()
        with reading("Recent.from_dict"):
            Y = state["Y"]
            named = "values" not in Y
            return cls(
                _table_from(state["X"]),
                {k: _table_from(v) for k, v in Y.items()} if named else _table_from(Y),
            )


def _each(Y: Any, change: Any) -> Any:
    if isinstance(Y, Mapping):
        return {name: change(values) for name, values in Y.items()}
    return change(Y)


def _last(values: object, window: int) -> Any:
    return _each(values, lambda v: take_rows(v, slice(-window, None)))


def _stacked(before: Any, after: Any) -> Any:
    """One table above the other."""
    if isinstance(before, Mapping):
        return {name: _stacked(before[name], after[name]) for name in before}
    if is_frame(before) and is_frame(after):
        import pandas as pd

        return pd.concat([before, after])
    if is_sparse(before):
        from scipy.sparse import vstack

        return vstack([before, after]).tocsr()
    return np.concatenate([np.asarray(before), np.asarray(after)])


def _table_to(values: object) -> dict[str, Any]:
    """A table of numbers as JSON has it: NaN is None."""
    try:
        array: Array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            "A policy that is watched is saved with its latest rows, which must be "
            f"numbers, got {type(values).__name__} ({error}). Encode words as numbers "
            "before the model."
        ) from error
    times, columns = times_of(values), None
    if is_frame(values):
        columns = list(map(str, values.columns)) if values.ndim == 2 else values.name
    return {
        "values": np.where(np.isnan(array), None, array).tolist(),  # type: ignore[call-overload]
        "shape": list(array.shape),
        "columns": columns,
        "frame": is_frame(values),
        "times": None if times is None else [each.isoformat() for each in times],
        "zone": None if times is None or times.tz is None else str(times.tz),
    }


def _table_from(state: Mapping[str, Any]) -> Any:
    array = np.array(state["values"], dtype=float).reshape(state["shape"])
    if not state["frame"]:
        return array
    import pandas as pd

    index = None
    if state["times"] is not None:
        utc = state["zone"] is not None
        index = pd.DatetimeIndex(pd.to_datetime(state["times"], utc=utc))
        index = index.tz_convert(state["zone"]) if utc else index
    if array.ndim == 1:
        return pd.Series(array, index=index, name=state["columns"])
    return pd.DataFrame(array, index=index, columns=state["columns"])
