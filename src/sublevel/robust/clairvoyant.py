"""What someone who knows the outcome in advance would have decided."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..conic.maximise import solve_checked
from ..errors import SolverFailed
from ..progress import Bar
from .sources import Points

if TYPE_CHECKING:
    from .problem import RobustProblem


def clairvoyant(
    problem: RobustProblem,
    outcomes: Sequence[Array],
    n_jobs: int | None,
    progress: bool = False,
) -> Array:
    """The best objective at each outcome for someone who knows it, shape (n,).

    nan where nobody could have decided anything. A bar counts the outcomes, where
    there is to be one.
    """
    size = len(outcomes[0])
    with Bar(size, "outcomes in hindsight") if progress else nullcontext() as bar:
        return _best(problem, outcomes, n_jobs, bar)


def _best(
    problem: RobustProblem,
    outcomes: Sequence[Array],
    n_jobs: int | None,
    bar: Bar | None,
) -> Array:
    model = problem.prepared().model
    if not model.is_mixed_integer and not model.equalities:
        knowing = problem.over([Points(vectors) for vectors in outcomes]).compile()
        if knowing.one_by_one is None:
            rows = np.arange(len(outcomes[0]))
            best = np.asarray(knowing.decide(rows, n_jobs).objective)
            if bar is not None:
                bar.advance(len(best))
            return best
    return _one_by_one(problem, outcomes, bar)


def _one_by_one(
    problem: RobustProblem, outcomes: Sequence[Array], bar: Bar | None
) -> Array:
    """The model as it was written, solved at one outcome after another.

    A rule need only answer to the one outcome that is known.
    """
    written = cp.Problem(problem.objective, problem.constraints)
    solver = "HIGHS" if problem.prepared().model.is_mixed_integer else "CLARABEL"
    leaves = [*written.variables(), *written.parameters()]
    before = [(leaf, leaf.value) for leaf in leaves]
    best = np.full(len(outcomes[0]), np.nan)
    try:
        for i in range(len(best)):
            for key, vectors in zip(problem.uncertainty, outcomes, strict=True):
                start = 0
                for parameter in key:
                    part = vectors[i, start : start + parameter.size]
                    parameter.save_value(part.reshape(parameter.shape, order="F"))
                    start += parameter.size
            with suppress(SolverFailed):
                if solve_checked(written, solver) == cp.OPTIMAL:
                    best[i] = written.value
            if bar is not None:
                bar.advance(1)
    finally:
        for leaf, value in before:
            leaf.save_value(value)
    return best
