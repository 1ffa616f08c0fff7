"""A polyhedron around a mixed-integer cone program, in HiGHS, to which cuts are added.

A cone t >= ||z|| of m entries is written with m more columns,

    y_j t >= z_j^2,   y_1 + ... + y_m <= t,

and each of these small cones is cut on its own: for any number r,

    y_j >= 2 r z_j - r^2 t.

m tangents in a direction r imply that of the whole cone, and tangents in k directions
imply k^m of them: a few rounds do what took hundreds (Hijazi, Bonami & Ouorou 2014;
Vielma, Dunning, Huchette & Lubin 2017). Nothing of a context is in these rows, as each
cone is measured in a unit of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....checks import Array
from ....conic.program import Indices
from ..cuts.live_highs import LiveHighs
from ..cuts.units import column_units, row_unit, row_units
from .mixed_program import MixedProgram
from .split_cone import cone_unit
from .steps import Steps

#: Directions nearer than this are one.
SAME = 1e-7


@dataclass(frozen=True, eq=False)
class Lifted:
    """Columns of a cone in the master, and the unit it is measured in.

    Attributes
    ----------
    t : position of its first entry
    z, y : positions of those of the norm, the root of binaries last, and of what
        bounds their squares; no y where the norm has one entry
    unit : float
    steps : of the root, or None
    """

    t: int
    z: Indices
    y: Indices
    unit: float
    steps: Steps | None

    @property
    def linked(self) -> Indices:
        """Columns that are linear functions of those of the program."""
        return np.append(self.t, self.z if self.steps is None else self.z[:-1])

    def entries(self, point: Array) -> tuple[float, Array]:
        """The first entry, and those of the norm, at a point of the master.

        The root is what binaries make of it, whatever its column is.
        """
        z = point[self.z]
        if self.steps is not None:
            z[-1] = max(self.steps.least(point[self.steps.columns]) / self.unit, 0.0)
        return float(point[self.t]), z


class ConeMaster:
    """The polyhedron.

    Parameters
    ----------
    program : MixedProgram
    x : array of shape (columns,)
        A point near the solution, for the units of the cones; nan where none is at
        hand.
    gap : float
        Relative gap at which branch and bound may stop.
    """

    def __init__(self, program: MixedProgram, x: Array, gap: float) -> None:
        self._program = program
        linear, cones = program.linear, program.cones
        tables = [linear.matrix, *(cone.matrix for cone in cones)]
        rights = [linear.bottom, *(cone.right for cone in cones)]
        self._units = column_units(
            sp.csr_array(sp.vstack(tables)),
            np.concatenate(rights),
            (linear.lower, linear.upper),
            program.integer,
        )
        cost = program.cost * self._units
        self._cost_unit = row_unit(cost)
        self._lifted, width = [], program.width
        for cone in cones:
            m, lifts = cone.size, cone.size if cone.size > 1 else 0
            z = np.arange(width + 1, width + 1 + m)
            y = np.arange(width + 1 + m, width + 1 + m + lifts)
            unit = cone_unit(cone, x)
            self._lifted.append(Lifted(width, z, y, unit, cone.steps))
            width += 1 + m + lifts
        lower, upper = np.zeros(width), np.full(width, np.inf)
        lower[: program.width] = linear.lower / self._units
        upper[: program.width] = linear.upper / self._units
        for at in self._lifted:
            lower[at.linked[1:]] = -np.inf
        costs = np.zeros(width)
        costs[: program.width] = cost * self._cost_unit
        self._highs = LiveHighs(lower, upper, costs, program.integer, gap)
        self._point = np.zeros(width)
        self._seen: set[tuple[int, int]] = set()
        #: Cuts since the last run.
        self.fresh = 0
        self._add_linear(width)

    @property
    def x(self) -> Array:
        """The solution, shape (columns of the program,)."""
        return self._point[: self._program.width] * self._units

    @property
    def whole(self) -> Array:
        """Integer columns of the solution, rounded."""
        # No zeros below zero: the same integers are the same bytes.
        return np.round(self._point[self._program.integer]) + 0.0

    @property
    def has_point(self) -> bool:
        """Whether there is a solution that keeps the rows."""
        return self._highs.has_point

    @property
    def value(self) -> float:
        """What is minimised, at the solution."""
        return self._highs.value / self._cost_unit + self._program.offset

    @property
    def bound(self) -> float:
        """What no integer solution beats, by branch and bound."""
        return self._highs.bound / self._cost_unit + self._program.offset

    def relax(self) -> None:
        """Leave integrality aside."""
        self._highs.relax()

    def restore(self) -> None:
        """Take integrality up again."""
        self._highs.restore()

    def start_from(self, whole: Array) -> None:
        """Let branch and bound begin with these integers."""
        self._highs.start_from(whole)

    def run(self, seconds: float) -> str:
        """Solve: "optimal", "infeasible", "unbounded" or "stopped_early"."""
        self.fresh = 0
        status = self._highs.run(seconds)
        if self._highs.has_point:
            self._point = self._highs.point
        return status

    def leaves(self, cone: int, tolerance: float) -> Array | None:
        """The direction in which the solution leaves a cone, or None if it does not."""
        t, z = self._lifted[cone].entries(self._point)
        norm = float(np.linalg.norm(z))
        return z / norm if norm > t + tolerance * max(norm, 1.0) else None

    def touch(self, cone: int, direction: Array) -> None:
        """Tangents in a direction, where they are not there yet."""
        at = self._lifted[cone]
        if not len(at.y) or len(direction) != len(at.y):
            return
        slopes = np.round(np.asarray(direction) / SAME).astype(int).tolist()
        fresh = [
            j for j, r in enumerate(slopes) if r and (int(at.y[j]), r) not in self._seen
        ]
        self._seen |= {(int(at.y[j]), slopes[j]) for j in fresh}
        if fresh:
            r = np.array([slopes[j] for j in fresh]) * SAME
            columns = np.column_stack([at.y[fresh], at.z[fresh], np.full(len(r), at.t)])
            values = np.column_stack([np.ones(len(r)), -2 * r, r**2])
            zeros, ends = np.zeros(len(r)), np.full(len(r), np.inf)
            counts = np.full(len(r), 3)
            self._highs.add_rows(counts, columns.ravel(), values.ravel(), zeros, ends)
        self.fresh += len(fresh)

    def best_order(self, cone: int, tolerance: float) -> Indices | None:
        """Columns of binaries in the order whose steps the solution falls short of."""
        at = self._lifted[cone]
        if at.steps is None:
            return None
        taken = self._point[at.steps.columns]
        least, root = at.steps.least(taken) / at.unit, self._point[at.z[-1]]
        short = least > root + tolerance * max(least, 1.0)
        return at.steps.columns[at.steps.order(taken)] if short else None

    def step(self, cone: int, order: Indices) -> None:
        """The cut of an order, given as columns, where it is one of these binaries."""
        at = self._lifted[cone]
        if at.steps is None or len(order) != len(at.steps.columns):
            return
        place = np.searchsorted(at.steps.columns, order)
        place = np.minimum(place, len(at.steps.columns) - 1)
        if (at.steps.columns[place] != order).any():
            return
        start, steps = at.steps.along(place)
        row = np.zeros(len(self._point))
        row[at.steps.columns], row[at.z[-1]] = -steps / at.unit, 1.0
        self._highs.add_row(row, start / at.unit)
        self.fresh += 1

    def _add_linear(self, width: int) -> None:
        """The linear rows, and those that say what the columns of cones are."""
        program, linear = self._program, self._program.linear
        units = sp.diags_array(self._units)
        blocks = [_widened(linear.matrix @ units, width)]
        bottom, top = [linear.bottom], [linear.top]
        for cone, at in zip(program.cones, self._lifted, strict=True):
            own = at.linked
            shape = (len(own), width)
            where = np.arange(len(own)), own
            place = sp.csr_array((np.full(len(own), at.unit), where), shape=shape)
            blocks.append(_widened(cone.matrix @ units, width) + place)
            bottom.append(cone.right)
            top.append(cone.right)
            for row in _hull(at, width):
                blocks.append(row)
                bottom.append(np.zeros(1))
                top.append(np.full(1, np.inf))
        matrix = sp.csr_array(sp.vstack(blocks))
        matrix.eliminate_zeros()
        low, high = np.concatenate(bottom), np.concatenate(top)
        unit = row_units(matrix, low)
        self._highs.add_rows(
            np.diff(matrix.indptr),
            matrix.indices,
            matrix.data * np.repeat(unit, np.diff(matrix.indptr)),
            low * unit,
            high * unit,
        )


def _hull(at: Lifted, width: int) -> list[sp.csr_array]:
    """T >= y_1 + ... + y_m; of a cone of one entry, t >= z and t >= -z."""
    if len(at.y):
        ends = [(np.append(at.t, at.y), np.append(1.0, np.full(len(at.y), -1.0)))]
    else:
        both = [np.array([1.0, sign]) for sign in (1.0, -1.0)]
        ends = [(np.append(at.t, at.z), slope) for slope in both if len(at.z)]
    return [
        sp.csr_array((values, (np.zeros(len(values), dtype=int), columns)), (1, width))
        for columns, values in ends
    ]


def _widened(matrix: sp.csr_array, width: int) -> sp.csr_array:
    table = sp.csr_array(matrix)
    shape = (table.shape[0], width)
    return sp.csr_array((table.data, table.indices, table.indptr), shape=shape)
