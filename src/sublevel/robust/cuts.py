"""Cutting planes: solve for the outcomes seen so far, ask for worse ones, repeat.

The master problem protects against finitely many outcomes, so its value is a bound on
the robust one. The sets' oracles name the worst outcome of every row; where a row
fails, that outcome joins the master (Mutapcic & Boyd 2009). Nothing is asked of a set
but its oracle, so labels and unions are exact too.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ..errors import SolverFailed
from .counterpart import Key, UncertainRow
from .solving import solve_checked

#: Relative violation at which a row counts as protected.
TOLERANCE = 1e-7

#: Rounds after which cutting planes give up.
MOST_ROUNDS = 500


def solve_by_cuts(
    objective: Any,
    certain: list[Any],
    rows: list[UncertainRow],
    sets: dict[Key, Any],
    solver: str,
) -> str:
    """Solve to the tolerance; the variables hold the decision. Returns the status."""
    cuts = [cut for row in rows for cut in _first_cuts(row, sets)]
    worst = np.inf
    for _ in range(MOST_ROUNDS):
        master = cp.Problem(objective, [*certain, *cuts])
        status = solve_checked(master, solver)
        if status == cp.UNBOUNDED:
            raise SolverFailed(
                "Cutting planes need a master problem with a finite value, and this "
                "one is unbounded. Give the variables bounds."
            )
        if status != cp.OPTIMAL:
            return status
        found = [_separate(row, sets) for row in rows]
        worst = max((violation for violation, _ in found), default=0.0)
        if worst <= TOLERANCE:
            return status
        cuts += [cut for violation, cut in found if violation > TOLERANCE]
    raise SolverFailed(
        f"Cutting planes stopped after {MOST_ROUNDS} rounds with a relative violation "
        f"of {worst:.1e}. Tighten the bounds of the variables, or use engine='dual'."
    )


def _first_cuts(row: UncertainRow, sets: dict[Key, Any]) -> list[Any]:
    """The row at two outcomes a key: the extremes along the diagonal."""
    cuts = []
    for sign in (1.0, -1.0):
        outcomes = {key: sets[key].worst_case(sign * _ones(sets[key])) for key in sets}
        cuts.append(row.at(outcomes) >= 0)
    return cuts


def _ones(region: Any) -> Any:
    return np.ones(region.dim)


def _separate(row: UncertainRow, sets: dict[Key, Any]) -> tuple[float, Any]:
    """Relative violation of a row at its worst outcome, and the cut there."""
    outcomes = {key: sets[key].worst_case(row.direction(key)) for key in row.slopes}
    value = row.at(outcomes)
    size = 1 + abs(float(row.constant.value))
    return -float(value.value) / size, value >= 0
