"""One tree for integers beside cones: nodes are linear programs that are cut as needed.

Branch and bound of HiGHS takes no cuts on its way, so that it starts anew whenever its
solution leaves a cone. Here cuts are made at every node and stay for all others
(Quesada & Grossmann 1992). A node costs about a millisecond, so this pays where cones
see many binaries at once.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from math import inf

import numpy as np

from ....checks import Array
from .incumbent import Candidate, Incumbent
from .mixed_program import MixedProgram
from .node_program import NodeProgram
from .pseudo_costs import PseudoCosts

#: How far, relatively, a solution may leave a cone: a fractional one, and a whole one.
ROUGH, FINE = 1e-5, 1e-8
#: Rounds of cuts at the root, at a node whose solution is fractional, and whole, and
#: at each step of a dive.
AT_ROOT, AT_NODE, AT_WHOLE, DIVING = 400, 6, 100, 5
#: Rounds at the root that may pass with hardly any progress.
PATIENCE, PROGRESS = 8, 1e-6
#: What is whole up to rounding, and what is nearly whole.
WHOLE, NEARLY = 1e-7, 0.05
#: Nodes between two dives.
BETWEEN_DIVES = 200


@dataclass(frozen=True, eq=False)
class Node:
    """Bounds of integer columns, and what no solution between them beats.

    Attributes
    ----------
    lower, upper : arrays of shape (integers,)
    bound : float
    column, side, share : the column it was branched on, down (0) or up (1), and by how
        much that moved it
    """

    lower: Array
    upper: Array
    bound: float
    column: int = 0
    side: int = 0
    share: float = 0.0


class Tree:
    """Branch and bound.

    Parameters
    ----------
    program : MixedProgram
    relaxed : array of shape (columns,)
        Solution of the relaxation, or nan where there is none.
    incumbent : the best solution so far
    deadline : float
        Time, by `time.monotonic`, at which to stop.

    Attributes
    ----------
    bound : what no solution beats
    """

    def __init__(
        self,
        program: MixedProgram,
        relaxed: Array,
        incumbent: Incumbent,
        deadline: float,
    ) -> None:
        self._integer, self._incumbent = program.integer, incumbent
        self._deadline, self._size = deadline, program.size(np.nan_to_num(relaxed))
        self._program = NodeProgram(program, relaxed)
        self._whole = self._program.bounds
        self._costs = PseudoCosts(len(program.integer))
        self._open: list[tuple[float, int, Node]] = []
        # Nothing that was closed without being looked at is worth less than this.
        self._floor = inf
        self._pushed = 0
        self.bound = -inf
        if np.isfinite(relaxed).all():
            self._program.touch(relaxed)

    def solve(self, most_nodes: int) -> str | None:
        """Search.

        Returns
        -------
        "optimal", "infeasible" or "out_of_time"; None when it is given up, for want of
        nodes or of digits
        """
        if not self._root():
            # There is a solution, so cuts have lost digits: HiGHS may find out.
            return "infeasible" if self._incumbent.best is None else None
        node: Node | None = Node(*self._whole, self.bound)
        for count in range(1, most_nodes + 1):
            if node is None:
                node = self._pop()
            if node is None:
                return self._end()
            if self._is_late:
                self._bound_with(node.bound)
                return "out_of_time"
            children = self._branch(node)
            node = children[0] if children else None
            if children:
                self._push(children[1])
            if count % BETWEEN_DIVES == 0 and children:
                self._dive((children[0].lower, children[0].upper))
        self._bound_with(inf if node is None else node.bound)
        return None

    def _root(self) -> bool:
        """Dive for a first solution, and cut the relaxation; whether there is any."""
        self._dive(self._whole)
        self._program.move_to(*self._whole)
        self._program.stop_at(inf)
        idle, before = 0, -inf
        for _ in range(AT_ROOT):
            if self._is_late:
                return True
            if not self._program.run():
                return False
            self.bound = max(self.bound, self._program.value)
            idle = idle + 1 if self.bound <= before + PROGRESS * self._size else 0
            before = self.bound
            if idle >= PATIENCE or not self._program.cut(ROUGH):
                break
        self._program.trim()
        self._dive(self._whole)
        return True

    def _end(self) -> str | None:
        """Nothing is open: whether that settles it."""
        best = self._incumbent.best
        if best is None:
            return "infeasible" if self._floor == inf else None
        self._bound_with(best.value)
        return "optimal" if self._incumbent.is_closed(self.bound) else None

    def _bound_with(self, bound: float) -> None:
        """What no solution beats, given that of the node at hand."""
        best = self._incumbent.best
        ends = [bound, self._floor, inf if best is None else best.value]
        ends += [self._open[0][0]] if self._open else []
        if min(ends) < inf:
            self.bound = max(self.bound, min(ends))

    def _push(self, node: Node) -> None:
        self._pushed += 1
        heapq.heappush(self._open, (node.bound, self._pushed, node))

    def _pop(self) -> Node | None:
        """The open node of least bound, if there may be something better in it."""
        if not self._open or self._incumbent.is_closed(self._open[0][0]):
            self._floor = min(self._floor, self._open[0][0] if self._open else inf)
            self._open = []
            return None
        return heapq.heappop(self._open)[2]

    def _branch(self, node: Node) -> tuple[Node, Node] | None:
        """Solve a node; the two it falls into, the likelier one first."""
        program = self._program
        program.move_to(node.lower, node.upper)
        if not self._solve_node():
            return None
        program.trim()
        if node.share:
            gain = np.array([max(program.value - node.bound, 0.0) / node.share])
            self._costs.learn(node.side, np.array([node.column]), gain)
        x = program.x[self._integer]
        lower, upper = self._narrowed(node, x)
        fractional = np.flatnonzero(np.abs(x - np.round(x)) > WHOLE)
        if not len(fractional):
            return None
        best = self._incumbent.best
        most = inf if best is None else best.value - program.value
        column = self._costs.choose(program, x, fractional, most)
        at, bound = x[column], max(program.value, node.bound)
        below, above = upper.copy(), lower.copy()
        below[column], above[column] = np.floor(at), np.ceil(at)
        share = at - np.floor(at)
        down = Node(lower, below, bound, column, 0, share)
        up = Node(above, upper, bound, column, 1, 1 - share)
        return (up, down) if share >= 0.5 else (down, up)

    def _solve_node(self) -> bool:
        """Solve, cutting; whether it is to be branched on."""
        program = self._program
        for count in range(AT_WHOLE):
            if not self._run():
                return False
            x = program.x[self._integer]
            if np.abs(x - np.round(x)).max(initial=0.0) > WHOLE:
                if count >= AT_NODE or not program.cut(ROUGH):
                    return True
            elif not program.cut(FINE):
                self._take_whole(x)
                return False
        # Digits have run out: it is closed, but not forgotten.
        self._floor = min(self._floor, program.value)
        return False

    def _run(self) -> bool:
        """Solve; False where nothing is left that beats the best solution."""
        best = self._incumbent.best
        if best is not None:
            cutoff = best.value - self._incumbent.slack(best.value) / 2
            self._program.stop_at(cutoff)
        if self._program.run():
            return True
        if best is not None:
            self._floor = min(self._floor, cutoff)
        return False

    def _take_whole(self, x: Array) -> None:
        """A solution of the node that is whole and keeps every cone."""
        whole, value = np.round(x) + 0.0, self._program.value
        self._floor = min(self._floor, value)
        if not self._incumbent.attempt(whole) and not self._incumbent.is_closed(value):
            self._incumbent.offer(Candidate(whole, self._program.x, value))

    def _narrowed(self, node: Node, x: Array) -> tuple[Array, Array]:
        """Bounds of columns that cost too much to move (reduced cost fixing)."""
        best = self._incumbent.best
        if best is None:
            return node.lower, node.upper
        room, slopes = best.value - self._program.value, self._program.reduced
        lower, upper = node.lower.copy(), node.upper.copy()
        stays = (slopes > room) & (x <= lower + WHOLE)
        upper[stays] = lower[stays]
        stays = (-slopes > room) & (x >= upper - WHOLE)
        lower[stays] = upper[stays]
        return lower, upper

    def _dive(self, bounds: tuple[Array, Array]) -> None:
        """Round what is nearly whole, and one more, until all is whole."""
        lower, upper = bounds
        for _ in range(2 * len(self._integer)):
            if self._is_late or not self._settle(lower, upper):
                break
            x = self._program.x[self._integer]
            whole = np.round(x) + 0.0
            away = np.abs(x - whole)
            if away.max(initial=0.0) <= WHOLE:
                if self._program.cut(FINE):
                    continue
                self._incumbent.attempt(whole)
                break
            fractional = away > WHOLE
            nearly = away < min(NEARLY, 2 * away[fractional].min())
            nearest = int(np.argmin(np.where(fractional, away, inf)))
            nearly[nearest] = True
            down, up = np.where(nearly, whole, lower), np.where(nearly, whole, upper)
            if not self._settle(down, up):
                # The one that was rounded goes the other way.
                down, up = lower.copy(), upper.copy()
                if whole[nearest] > x[nearest]:
                    up[nearest] = np.floor(x[nearest])
                else:
                    down[nearest] = np.ceil(x[nearest])
            lower, upper = down, up

    def _settle(self, lower: Array, upper: Array) -> bool:
        """Solve between bounds, cutting; whether there is something of interest."""
        self._program.move_to(lower, upper)
        best = self._incumbent.best
        if best is not None:
            self._program.stop_at(best.value - self._incumbent.slack(best.value))
        for _ in range(DIVING):
            if not self._program.run():
                return False
            if not self._program.cut(ROUGH):
                break
        return True

    @property
    def _is_late(self) -> bool:
        return time.monotonic() >= self._deadline
