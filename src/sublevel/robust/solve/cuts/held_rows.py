"""Constraints that are held against one outcome after another, as they were written.

Sums of more maxima than could be written out: the judge's own search names the worst
outcome of a decision, and the master learns what the constraint is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from ....checks import Array
from ....errors import NotRobustifiable
from ...judge.ruler import Ruler
from ...judge.set_oracles import FixedOracle, Region, SetOracle
from ...judge.written_rows import Held, WrittenRows
from ...model.robust_model import RobustModel
from ...model.rows import at_outcome
from ...model.uncertain import Key, key_signs
from .scenarios import Joint


@dataclass(frozen=True, eq=False)
class HeldRows:
    """One such constraint, or the objective.

    Attributes
    ----------
    constraint : what must hold at every outcome
    rows : how the judge reads it
    is_goal : whether it bounds the objective
    keys : the uncertain keys
    oracles : their sets at this context
    ordinary : values of the ordinary parameters
    """

    constraint: cp.Constraint
    rows: WrittenRows
    is_goal: bool
    keys: tuple[Key, ...]
    oracles: Sequence[SetOracle]
    ordinary: Array

    def at(self, outcomes: Joint) -> cp.Constraint:
        """The constraint at one outcome of every key."""
        constraint = self.constraint
        for key in self.keys:
            constraint = at_outcome(constraint, key, outcomes[key])
        return constraint

    def worst(self, values: Array, promised: float) -> list[tuple[Joint, float, float]]:
        """For every row the worst outcome of a decision, by how much it misses there,
        and relative to its size.

        Parameters
        ----------
        values : entries of the variables
        promised : what a master says the cost is, if this is the objective
        """
        held = Held(values[None], self.ordinary, self.oracles)
        extremes = self.rows.worst(held)
        misses = []
        for r in range(self.rows.size):
            outcomes = self.rows.worst_outcomes(held, extremes, np.array([r]))
            joint = {key: outcomes[k][0] for k, key in enumerate(self.keys)}
            value, size = float(extremes.value[0, r]), float(extremes.size[0, r])
            if self.is_goal:
                value, size = value - promised, max(size, abs(promised))
            misses.append((joint, value, value / size if size > 0 else 0.0))
        return misses


def held_rows(
    model: RobustModel, ruler: Ruler, sets: Mapping[Key, Region], ordinary: Array
) -> list[HeldRows]:
    """The constraints of a model that are held against outcomes one by one."""
    oracles = [FixedOracle(sets[key], key_signs(key)) for key in model.keys]
    read = [*ruler.uncertain, *([ruler.cost] if ruler.cost is not None else [])]
    some = []
    for part, rows in zip(model.robust, read, strict=True):
        if part.held is None:
            continue
        if not rows.sums:
            raise NotRobustifiable(
                f"The constraint {part.written} cannot be made robust: its worst "
                "outcome could not be told."
            )
        some.append(
            HeldRows(part.held, rows, rows is ruler.cost, model.keys, oracles, ordinary)
        )
    return some
