"""A model with its judge and the layout of its decisions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...checks import Array
from ...conic.solver import Solver
from ..decisions import Layout, named
from ..judge.build import frame_of, ruler_of
from ..judge.reading import Frame
from ..judge.ruler import Ruler
from ..model.products import present_value
from ..model.robust_model import RobustModel
from .arrays import Compiled
from .chunk import ChunkTask
from .cuts.linear_model import LinearModel, linear_model


@dataclass(frozen=True, eq=False)
class Prepared:
    """A model with its judge, at the present values of what multiplies outcomes."""

    model: RobustModel

    @cached_property
    def frame(self) -> Frame:
        """Where the leaves of the model are."""
        return frame_of(self.model)

    @cached_property
    def ruler(self) -> Ruler:
        """The judge of its decisions."""
        return ruler_of(self.model, self.frame)

    @cached_property
    def layout(self) -> Layout:
        """What the columns of decisions are."""
        return Layout(
            tuple(named(v) for v in self.model.variables),
            tuple(tuple(named(p) for p in key) for key in self.model.keys),
            len(self.ruler.uncertain),
            self.ruler.rows,
        )

    @cached_property
    def linear(self) -> LinearModel | None:
        """The model as arrays for HiGHS, if it is linear but for the outcomes."""
        model = self.model
        return linear_model(model.bounded_goal(), model.all_certain(), model.rows)

    def ordinary(self) -> Array:
        """The present values of the ordinary parameters, all of which have one."""
        values = [np.zeros(0)]
        for parameter in self.model.ordinary:
            values.append(np.ravel(present_value(parameter), order="F"))
        return np.concatenate(values)

    def task(self, compiled: Compiled, solver: Solver) -> ChunkTask:
        """What decides chunks, at the present values of the ordinary parameters."""
        ordinary = self.ordinary() if self.model.ordinary else np.zeros(0)
        slots = compiled.slots_at(ordinary)
        return ChunkTask(compiled, slots, ordinary, self.layout, solver)
