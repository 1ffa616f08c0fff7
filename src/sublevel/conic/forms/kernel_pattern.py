"""The pattern of a program, as compiled code takes it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kkt import priced_rows
from ..program import ProgramData, rows_of
from .kernel_check import KINDS
from .kernel_reading import unsigned


class Pattern(NamedTuple):
    """Where the entries of A are, by column, and the cones of its rows.

    `priced` are the rows whose right-hand side is not 0 throughout.
    """

    indices: Any
    indptr: Any
    kinds: Any
    sizes: Any
    priced: Any


def pattern_of(data: ProgramData) -> Pattern:
    """The pattern of the program."""
    program = data.program
    kinds = np.array([KINDS.index(kind) for kind, _ in program.cones], dtype=np.int64)
    sizes = np.array([rows_of(*cone) for cone in program.cones], dtype=np.int64)
    indptr = unsigned(program.indptr)
    indices, priced = program.indices.astype(np.uintp), unsigned(priced_rows(data))
    return Pattern(indices, indptr, kinds, sizes, priced)
