"""Solvers that can be asked for by name."""

from __future__ import annotations

from collections.abc import Callable

from .batched.solver import Batched
from .by_cvxpy import CvxpySolver
from .highs import Highs
from .solver import Clarabel, Solver

#: Solvers of our own; any other name is CVXPY's.
SOLVERS: dict[str, Callable[[], Solver]] = {
    "BATCHED": Batched,
    "CLARABEL": Clarabel,
    "HIGHS": Highs,
}


def solver_named(name: str) -> Solver:
    """The solver meant by a name: one of SOLVERS, or CVXPY's.

    Examples
    --------
    >>> type(solver_named("CLARABEL")).__name__, type(solver_named("SCS")).__name__
    ('Clarabel', 'CvxpySolver')
    """
    return SOLVERS[name]() if name in SOLVERS else CvxpySolver(name)
