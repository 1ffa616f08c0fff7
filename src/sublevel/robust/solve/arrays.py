"""A compiled problem: arrays only, so that it goes to workers and into files."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ...conic.program import ConeProgram, Indices
from ...conic.sparse_table import RowMap
from ...sets import UncertaintySet
from ..judge.ruler import Ruler
from ..model.set_shape import SIDES
from .slot_values import end_slot

if TYPE_CHECKING:
    import scipy.sparse as sp

#: No column at all.
NO_COLUMNS: Indices = np.zeros(0, dtype=int)


@dataclass(frozen=True)
class Compiled:
    """A robust problem as arrays: everything a worker needs.

    Attributes
    ----------
    program : the counterpart, its data affine in the slots
    ruler : the judge of its decisions
    outputs : sparse (entries of the user's variables, nx): these from the program's
    offset : shape (entries,), what is added: entries that are settled in advance
    regions : for each key, its set if that is a value, or None
    nonneg : for each key, which entries are declared not to be negative, where its
        sets are predicted and do not say it themselves, or are a value
    ordinary : slots of ordinary parameters, each with where its values start among all
        of theirs
    integer : columns of the program that are integer, sorted
    has_ends : whether the ends of sets are among the slots
    """

    program: ConeProgram
    ruler: Ruler
    outputs: sp.csr_array
    offset: Array
    regions: tuple[UncertaintySet | None, ...]
    nonneg: tuple[npt.NDArray[np.bool_], ...]
    ordinary: tuple[tuple[slice, int], ...] = ()
    integer: Indices = field(default_factory=lambda: NO_COLUMNS)
    has_ends: bool = field(init=False)

    def __post_init__(self) -> None:
        names = [end_slot(k, s) for k in range(len(self.nonneg)) for s in SIDES]
        vars(self)["has_ends"] = any(name in self.program.slots for name in names)

    def slots_at(self, ordinary: Array) -> Array:
        """All slots, with the values of the ordinary parameters in theirs."""
        slots = np.zeros(self.program.q.shape[1])
        slots[-1] = 1.0
        for at, start in self.ordinary:
            slots[at] = ordinary[start : start + at.stop - at.start]
        return slots

    def values(self, x: Array) -> Array:
        """The user's variables from solutions (n, nx), tidied: shape (n, entries)."""
        values = self._outputs(x)
        return self.ruler.tidied(values + self.offset if self.offset.any() else values)

    @cached_property
    def _outputs(self) -> RowMap:
        return RowMap(self.outputs)
