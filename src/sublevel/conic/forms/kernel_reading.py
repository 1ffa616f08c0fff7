"""A form, as compiled code takes it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...checks import Array
from ..program import Indices
from .form import Form

#: What is above x, if anything.
NOTHING, NORM, LARGEST = range(3)
_NONE: Indices = np.zeros(0, dtype=np.int64)


class Reading(NamedTuple):
    """A `Form` as numbers and arrays; row -1, or column -1, where there is none."""

    columns: Any
    bound_members: Any
    bound_rows: Any
    bound_units: Array
    row: int
    row_members: Any
    row_entries: Any
    equal: bool
    size_members: Any
    size_columns: Any
    size_plus: Any
    size_minus: Any
    size_units: Array
    above: int
    top: int
    heads: Any
    head_row: int
    members: Any
    rows: Any
    entries: Any
    mirrored: Any


def reading_of(form: Form) -> Reading:
    """The form as arrays."""
    bounds, row, sizes, top = form.bounds, form.coupling, form.sizes, form.top
    above = NOTHING
    if top is not None:
        above = NORM if top.norm == "second-order" else LARGEST
    mirrored = None if top is None else top.mirrored
    return Reading(
        unsigned(form.columns),
        unsigned(*(group.members for group in bounds)),
        unsigned(*(group.rows for group in bounds)),
        np.concatenate([np.zeros(0), *(group.units for group in bounds)]),
        -1 if row is None else row.row,
        unsigned(_NONE if row is None else row.members),
        unsigned(_NONE if row is None else row.entries),
        row is not None and row.equal,
        unsigned(_NONE if sizes is None else sizes.members),
        unsigned(_NONE if sizes is None else sizes.columns),
        unsigned(_NONE if sizes is None else sizes.plus),
        unsigned(_NONE if sizes is None else sizes.minus),
        np.zeros((2, 0)) if sizes is None else np.ascontiguousarray(sizes.units),
        above,
        -1 if top is None else top.column,
        unsigned(_NONE if top is None else top.heads),
        -1 if top is None else int(top.head_rows[0]),
        unsigned(_NONE if top is None else top.members),
        unsigned(_NONE if top is None else top.rows),
        unsigned(_NONE if top is None else top.entries),
        unsigned(_NONE if mirrored is None else mirrored),
    )


def unsigned(*parts: Indices) -> Any:
    """Whole numbers one after another, without a sign.

    Compiled code need not ask whether such numbers count from the end.
    """
    return np.concatenate([_NONE, *parts]).astype(np.uintp)
