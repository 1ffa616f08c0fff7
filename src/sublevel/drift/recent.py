"""The latest rows with outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidParameter
from ..predictions import Table, count_rows, is_frame, is_sparse, take_rows
from ..robust.labelled import Outcome
from .plain_rows import rows_from, rows_to
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
        """As plain JSON values."""
        if self.X is None:
            return {}
        return {"X": rows_to(self.X), "Y": _each(self.Y, rows_to)}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Recent:
        """The rows that `to_dict` wrote."""
        if not state:
            return cls()
        with reading("Recent.from_dict"):
            Y = state["Y"]
            return cls(
                rows_from(state["X"]),
                _each(Y, rows_from) if _is_named(Y) else rows_from(Y),
            )


def require_rows(owner: str, X: Table, Y: Outcome, before: Recent) -> None:
    """A row that lost its table is no rows: its entries would be taken for contexts."""
    wanted = 1 if before.X is None else _dimensions(before.X)
    given = [Y[name] for name in Y] if isinstance(Y, Mapping) else [Y]
    if _dimensions(X) < wanted or not all(map(_dimensions, given)):
        raise InvalidParameter(
            f"{owner}(X, Y) must be rows with their outcomes, a table and as many "
            f"entries, got X of type {type(X).__name__} and shape {np.shape(X)}. "
            "Of one row say X.iloc[[k]], Y.iloc[[k]]; of arrays X[k : k + 1], "
            "Y[k : k + 1]."
        )


def _dimensions(values: Any) -> int:
    return np.ndim(values)


def _is_named(Y: Mapping[str, Any]) -> bool:
    """Whether it is rows by the name of a parameter, not rows."""
    return all(isinstance(each, Mapping) for each in Y.values())


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
