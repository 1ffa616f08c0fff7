"""Outer approximation: branch and bound on a polyhedron, cut where it leaves a cone.

Where there are cones, a tree of our own is searched first, which is cut on its way
(`tree`). If it is given up, HiGHS goes on from its best solution and bound:

1. The relaxation is solved as a cone program, and the polyhedron cut where it lands.
2. Without integrality, the polyhedron is cut until it hardly leaves the cones: a round
   is a few pivots.
3. With integrality, branch and bound runs. Its integers are pinned and the rest is
   solved for as a cone program: that is a solution, and its value one end of the gap.
   The bound of branch and bound is the other. Cuts are made at both solutions, and the
   last step is repeated until the gap is closed (Duran & Grossmann 1986).

The polyhedron contains every solution at all times, so its bounds are valid whenever
one stops.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf

import cvxpy as cp
import numpy as np

from ....checks import Array
from ....errors import SolverFailed
from .cone_master import ConeMaster
from .incumbent import Candidate, Incumbent, Pin
from .integers import Integers
from .memory import Memory
from .mixed_program import MixedProgram
from .tree import Tree

#: How far, relatively, a solution may leave a cone: without integrality, and with it.
ROUGH, FINE = 1e-5, 1e-8
#: Rounds without integrality, and how many may pass with hardly any progress.
MOST_ROUNDS, PATIENCE, PROGRESS = 150, 6, 1e-6
#: The tree is given up after so many nodes times columns and rows.
EFFORT = 2_000_000


@dataclass(frozen=True, eq=False)
class Outcome:
    """How it went.

    Attributes
    ----------
    status : "optimal", "infeasible", "stopped_early", "out_of_time" or "out_of_rounds"
    best : the best solution, or None
    bound : what no solution beats
    rounds : how often branch and bound ran
    """

    status: str
    best: Candidate | None
    bound: float
    rounds: int


class OuterApproximation:
    """One context.

    Parameters
    ----------
    program : MixedProgram
    relaxed : array of shape (columns,)
        Solution of the relaxation, or nan where there is none.
    pin : the best solution with given integers
    memory : what earlier contexts left behind; what this one does is added
    context : the numbers of this context
    options : Integers
    deadline : float
        Time, by `time.monotonic`, at which to stop.
    """

    def __init__(
        self,
        program: MixedProgram,
        relaxed: Array,
        pin: Pin,
        memory: Memory,
        context: Array,
        options: Integers,
        deadline: float,
    ) -> None:
        self._program, self._memory = program, memory
        self._context, self._options, self._deadline = context, options, deadline
        self._relaxed = relaxed
        self._incumbent = Incumbent(program, pin, options.gap)
        # Half of the gap is left for what the polyhedron has too much.
        self._master = ConeMaster(program, relaxed, options.gap / 2)
        self._bound = -inf

    @property
    def _best(self) -> Candidate | None:
        return self._incumbent.best

    def solve(self) -> Outcome:
        """Cut, branch and bound until the gap is closed, or time or rounds are up."""
        whole = self._memory.nearest(self._context) if self._options.reuses else None
        if whole is not None and self._program.cones:
            self._try(whole)
        elif whole is not None:
            self._master.start_from(whole)
        status, rounds, limit = None, 0, int(self._options.max_rounds)
        # Cones that no integer can move are met by a few cuts, and branch and bound of
        # HiGHS knows more about integers than a tree of ours.
        if self._program.seen:
            status, rounds = self._in_one_tree(), 1
        if status is None and rounds < limit:
            self._remember()
            self._cut_at(self._relaxed)
            status = self._without_integrality()
        while status is None and rounds < limit:
            rounds += 1
            status = self._round()
        if status is None:
            status = "out_of_rounds"
        if status.startswith("out_of") and self._best is not None:
            status = "stopped_early"
        if status == cp.OPTIMAL and self._best is not None and self._options.reuses:
            self._memory.keep_integers(self._context, self._best.whole)
        return Outcome(status, self._best, self._bound, rounds)

    def _in_one_tree(self) -> str | None:
        """Search by a tree of our own; None where it does not settle it."""
        tree = Tree(self._program, self._relaxed, self._incumbent, self._deadline)
        linear = self._program.linear
        nodes = EFFORT // (self._program.width + len(linear.bottom))
        try:
            status = tree.solve(nodes)
        except SolverFailed:
            return None
        self._bound = max(self._bound, tree.bound)
        return status

    def _remember(self) -> None:
        """Start from the cuts that earlier contexts left behind."""
        if not self._options.reuses:
            return
        for cone, directions in self._memory.tangents.items():
            for direction in directions:
                self._master.touch(cone, direction)
        for cone, orders in self._memory.orders.items():
            for order in orders:
                self._master.step(cone, order)

    def _without_integrality(self) -> str | None:
        """Cut the relaxation; a status if that settles it."""
        if not self._program.cones:
            return None
        self._master.relax()
        idle, before = 0, -inf
        for _ in range(MOST_ROUNDS):
            status = self._master.run(self._left)
            if status == "stopped_early":
                return "out_of_time"
            if status == cp.INFEASIBLE:
                return status
            if status != cp.OPTIMAL:
                raise SolverFailed("The polyhedron around the cones is unbounded.")
            self._bound = max(self._bound, self._master.value)
            small = PROGRESS * self._program.size(self._master.x)
            idle = 0 if self._bound > before + small else idle + 1
            before = self._bound
            if not (self._separate(ROUGH) and self._master.fresh) or idle >= PATIENCE:
                break
        self._master.restore()
        return None

    def _round(self) -> str | None:
        """Branch and bound once; a status if it was the last time."""
        if self._best is not None:
            self._master.start_from(self._best.whole)
        status = self._master.run(self._left)
        if status == cp.INFEASIBLE:
            if self._best is None:
                return status
            # There is a solution, so cuts have lost digits: it is not called the best.
            return (
                "optimal" if self._incumbent.is_closed(self._bound) else "out_of_rounds"
            )
        if status == cp.UNBOUNDED:
            raise SolverFailed("The polyhedron around the cones is unbounded.")
        self._bound = max(self._bound, self._master.bound)
        if self._master.has_point:
            self._look(self._master)
        if self._incumbent.is_closed(self._bound):
            return "optimal"
        if status == "stopped_early":
            return "out_of_time"
        if self._separate(FINE):
            if not self._master.fresh:
                raise SolverFailed("HIGHS does not keep the cuts it was given.")
            return None
        # The polyhedron's solution keeps every cone: there is none better.
        master = self._master
        self._incumbent.offer(Candidate(master.whole, master.x, master.value))
        return "optimal"

    def _separate(self, tolerance: float) -> bool:
        """Cut where the master's solution leaves a cone; whether it leaves one."""
        left = False
        for cone in range(len(self._program.cones)):
            order = self._master.best_order(cone, tolerance)
            if order is not None:
                self._master.step(cone, order)
                if self._options.reuses:
                    self._memory.keep_order(cone, order)
            direction = self._master.leaves(cone, tolerance)
            if direction is not None:
                self._master.touch(cone, direction)
            left |= order is not None or direction is not None
        return left

    def _look(self, master: ConeMaster) -> None:
        """Take the master's solution down; where there are cones, its integers."""
        if self._program.cones:
            self._try(master.whole)
        else:
            self._incumbent.offer(Candidate(master.whole, master.x, master.value))

    def _try(self, whole: Array) -> None:
        """Solve for the rest with these integers, and cut the polyhedron there."""
        candidate = self._incumbent.attempt(whole)
        if candidate is not None:
            self._cut_at(candidate.x, keep=True)

    def _cut_at(self, x: Array, keep: bool = False) -> None:
        """Tangents where a solution touches the cones."""
        if not np.isfinite(x).all():
            return
        for number, cone in enumerate(self._program.cones):
            inside = cone.at(x)[1]
            norm = float(np.linalg.norm(inside))
            if cone.size > 1 and norm > 0:
                direction = inside / norm
                self._master.touch(number, direction)
                if keep and self._options.reuses:
                    self._memory.keep_tangent(number, direction)

    @property
    def _left(self) -> float:
        """Seconds that are left."""
        return max(self._deadline - time.monotonic(), 0.0)
