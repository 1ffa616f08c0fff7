"""What the decisions of a calibration prove about levels that were not looked at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..conic.forms import ClosedForm
from ..conic.optimality import GOOD
from ..loss_set.batch import SetBatch
from ..losses.whitening import whitened
from .decisions import DecisionArrays
from .judge.tape import Leaves
from .labelled import LabelledContexts
from .model.robust_model import RobustModel
from .saddle_cuts import Cuts, Flags, Rows, are_kept
from .still_best import StillBest

if TYPE_CHECKING:
    from .compiled_policy import CompiledPolicy
    from .solve.prepared import Prepared

#: Solvers whose dual value is taken at its word.
TRUSTED = (None, "CLARABEL", "BATCHED")


@dataclass(eq=False)
class LevelProofs:
    """Decisions at points of a calibration, and the levels at which others are kept.

    Attributes
    ----------
    prepared : the model and its judge
    sets : batch of the points' sets
    outcomes : what came, shape (N, m)
    unit : the budget that level 1 stands for
    """

    prepared: Prepared
    sets: SetBatch
    outcomes: Array
    unit: float
    _point: Rows = field(init=False)
    _level: Array = field(init=False)
    _cuts: Cuts = field(init=False)
    _floor: Array = field(init=False)
    _whitened: Array = field(init=False)
    _still: StillBest = field(init=False)

    def __post_init__(self) -> None:
        n, m = self.outcomes.shape
        none = np.zeros(0)
        self._point, self._level = np.zeros(0, dtype=np.intp), none
        self._cuts = Cuts(none, none, none, none, np.zeros((0, m)), none)
        loss, prediction = self.sets.loss, self.sets.prediction
        self._floor = np.broadcast_to(loss.floor(prediction), (n,))
        self._whitened = self._residual(np.arange(n), self.outcomes)
        self._still = StillBest(
            self.prepared,
            self.sets.points,
            self.outcomes,
            np.linalg.norm(self._whitened, axis=1),
        )

    def learn(self, levels: Array, rows: Rows, arrays: DecisionArrays) -> None:
        """Decisions at levels (k,) of points (k,), as they were computed."""
        some = np.flatnonzero(arrays.status == "optimal")
        if not some.size:
            return
        rows, levels, arrays = rows[some], levels[some], arrays.at(some)
        sense = self.prepared.model.sense
        leaves = Leaves(
            arrays.values, [self.sets.points[rows]], self.prepared.ordinary()
        )
        middle = sense * self.prepared.ruler.objective.rows(leaves)[:, 0]
        worst = sense * arrays.objective
        outcome = self._residual(rows, arrays.outcomes[0])
        with np.errstate(all="ignore"):
            cuts = Cuts(
                self._radius(levels, rows),
                worst,
                middle,
                np.maximum(worst - sense * arrays.bound, 0.0),
                outcome,
                np.sum(outcome * self._whitened[rows], axis=1),
            )
            # Of that much, certificates of optimality are silent.
            cuts = replace(cuts, gap=cuts.gap + GOOD * cuts.size)
            useful = cuts.useful & np.isfinite(cuts.along)
        self._still.learn(rows, cuts, arrays)
        self._point = np.concatenate([self._point, rows[useful]])
        self._level = np.concatenate([self._level, levels[useful]])
        self._cuts = self._cuts.joined(cuts.at(useful))

    def kept(self, levels: Array, rows: Rows) -> Flags:
        """Whether decisions at levels (k,) of points (k,) are proved to be kept.

        Points and levels that were looked at are not asked about again.
        """
        proved = self._still.kept(self._radius(levels, rows), rows)
        if not len(self._cuts):
            return proved
        above, below = neighbours(self._point, self._level, rows, levels)
        some = np.flatnonzero(above >= 0)
        if some.size:
            above, below = above[some], below[some]
            has_below = below >= 0
            proved[some] |= are_kept(
                self._radius(levels[some], rows[some]),
                np.sum(self._whitened[rows[some]] ** 2, axis=1),
                self._cuts.at(above),
                self._cuts.at(np.where(has_below, below, above)),
                has_below,
            )
        return proved

    def _radius(self, levels: Array, rows: Rows) -> Array:
        left = levels * self.unit - self._floor[rows]
        return np.sqrt(np.maximum(left, 0.0))

    def _residual(self, rows: Rows, outcomes: Array) -> Array:
        """Whitened residuals of outcomes at points, shape (k, m)."""
        residual = outcomes - self.sets.points[rows]
        result = whitened(self.sets.loss, self.sets.prediction[rows], residual)
        assert result is not None
        return result


def neighbours(
    points: Rows, levels: Array, rows: Rows, wanted: Array
) -> tuple[Rows, Rows]:
    """Of levels looked at, the nearest above and below others at the same points.

    Parameters
    ----------
    points, levels : what was looked at, shape (m,) each
    rows, wanted : points and levels that were not, shape (k,) each

    Returns
    -------
    tuple of two arrays of shape (k,) of places among the first two, -1 where there is
    none

    Examples
    --------
    >>> points, levels = np.array([0, 0, 1]), np.array([1.0, 3.0, 2.0])
    >>> neighbours(points, levels, np.array([0, 1]), np.array([2.0, 2.5]))
    (array([ 1, -1]), array([0, 2]))
    """
    places, ranks = np.unique(levels, return_inverse=True)
    width = len(places) + 1
    keys = points * width + ranks
    order = np.argsort(keys, kind="stable")
    after = np.searchsorted(keys[order], rows * width + np.searchsorted(places, wanted))
    nearest = []
    for at in (after, after - 1):
        place = order[np.clip(at, 0, len(order) - 1)]
        there = (at >= 0) & (at < len(order)) & (points[place] == rows)
        nearest.append(np.where(there, place, -1))
    return nearest[0], nearest[1]


def proofs_of(
    policy: CompiledPolicy, labelled: LabelledContexts, unit: float
) -> LevelProofs | None:
    """What can be proved of a policy's decisions; None where nothing can, or need be.

    Parameters
    ----------
    policy : to calibrate
    labelled : its calibration contexts with their outcomes
    unit : the budget that level 1 stands for, where there is one LossSet only
    """
    if len(labelled.keys) != 1 or policy.one_by_one is not None:
        return None
    batch, key = labelled.batches[0], labelled.keys[0]
    if not isinstance(batch, SetBatch) or key.nonneg.any():
        return None
    if policy.solver not in TRUSTED:
        return None
    choice = policy.choice
    if choice is not None and isinstance(choice.solver, ClosedForm):
        # A formula takes less time than a proof.
        return None
    prepared = policy.problem.prepared()
    if not is_affine_cost(prepared.model) or prepared.ruler.cost is None:
        return None
    if whitened(batch.loss, batch.prediction[:1], batch.points[:1]) is None:
        return None
    return LevelProofs(prepared, batch, labelled.outcomes[0], unit)


def is_affine_cost(model: RobustModel) -> bool:
    """Whether only the objective is uncertain, and affine in the outcome alone.

    What is allowed is then the same at every level, and convex.
    """
    if not model.has_uncertain_objective or len(model.robust) != 1:
        return False
    part = model.robust[0]
    if model.is_mixed_integer or model.ends or part.held or part.equalities:
        return False
    if len(part.rows) != 1 or any(_has(c, model.goal) for c in part.certain):
        # A maximum of pieces, some of them certain, has a row of its own for the goal.
        return False
    row = part.rows[0]
    # What is lifted, a function of the outcome, is a key of its own.
    return _has(row.constant, model.goal) and set(row.slopes) == set(model.keys)


def _has(part: cp.Constraint | cp.Expression, variable: cp.Variable) -> bool:
    return any(each.id == variable.id for each in part.variables())
