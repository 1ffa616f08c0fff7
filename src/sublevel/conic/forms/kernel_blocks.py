"""The data of all contexts, as compiled code takes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...checks import Array
from ..program import ProgramData
from .form import Form


class Blocks(NamedTuple):
    """The data of all contexts: for q, A, b what all share, and what varies.

    `steady` says that right-hand sides and the row's coefficients are the same
    throughout.
    """

    steady: bool
    q: Array
    q_where: Any
    q_values: Array
    A: Array
    A_where: Any
    A_values: Array
    b: Array
    b_where: Any
    b_values: Array


def blocks_of(data: ProgramData, form: Form) -> Blocks:
    """The data as compiled code takes them."""
    parts: list[Any] = []
    for block in (data.q, data.A, data.b):
        parts += [block.base.copy(), block.where.astype(np.uintp), block.values]
    steady = not len(data.b.where)
    if form.coupling is not None:
        steady &= not np.isin(form.coupling.entries, data.A.where).any()
    arrays = [np.ascontiguousarray(each) for each in parts]
    return Blocks(steady, *arrays)
