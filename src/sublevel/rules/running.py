"""One calibration of a rule, from its points to its level."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import isinf
from os import PathLike
from typing import Any

import numpy.typing as npt

from ..calibration.levels import given_levels
from ..calibration.request import Request
from ..caller import warn_caller
from ..checks import require_bool
from ..errors import InfiniteBudget
from ..guarantees import Calibrated, Calibration, Certificate
from ..guarantees.in_time import with_times
from ..parallel import count_workers
from ..progress import Bar
from .behaviour import Behaviour
from .memory import mark_of, open_memory
from .points import RulePoints, as_allowance


@dataclass(frozen=True)
class Running:
    """How decisions are computed: by whom, shown, kept and limited.

    Attributes
    ----------
    n_jobs, progress, resume, max_calls, max_seconds : as for `calibrate_rule`
    """

    n_jobs: int | None = None
    progress: bool = False
    resume: str | PathLike[str] | None = None
    max_calls: int | None = None
    max_seconds: float | None = None

    def calibrate(
        self,
        behaviour: Behaviour,
        X: Any,
        Y: Any,
        levels: npt.ArrayLike,
        request: Request,
        contexts: Any,
    ) -> tuple[Calibrated, RulePoints]:
        """The level asked for, at every context, and the points it was read off.

        Parameters
        ----------
        X, Y : N contexts and outcomes
        levels : grid
        request : what is asked for
        contexts : what the guarantee is told of contexts
        """
        owner = request.owner
        size = behaviour.require_pairs(owner, X, Y)
        workers = count_workers(self.n_jobs)
        require_bool(owner, progress=self.progress)
        grid = given_levels(owner, "levels", levels)
        functions = (behaviour.decide, behaviour.violates, behaviour.fallback)
        memory = open_memory(
            owner, self.resume, lambda: mark_of(owner, (X, Y, grid.levels), functions)
        )
        allowance = as_allowance(owner, self.max_calls, self.max_seconds)
        total = size * len(grid.levels)
        with Bar(total, "decisions") if self.progress else nullcontext() as bar:
            points = RulePoints(
                behaviour, X, Y, size, grid, memory, allowance, workers, bar
            )
            points.recognise()
            calibration = points.search().calibrate(request, contexts)
        points.warn_of_failures()
        certificate = with_times(calibration.certificate, contexts)
        certificate = _noting(certificate, allowance.spent)
        calibration = _under(calibration, certificate)
        if isinf(calibration.certificate.budget):
            warn_caller(calibration.certificate.note, InfiniteBudget)
        return calibration, replace(points, bar=None)


def _noting(certificate: Certificate, spent: str) -> Certificate:
    """The same, with a word on a search that was stopped early."""
    if not spent:
        return certificate
    why = (
        f"The search was stopped by {spent}: lower levels were not looked at, and one "
        "of them may do. Allow more; with resume=... it goes on where it was."
    )
    return replace(certificate, note=why)


def _under(calibration: Calibrated, certificate: Certificate) -> Calibrated:
    """The same levels, under another certificate."""
    if isinstance(calibration, Calibration):
        return Calibration(calibration.budget, certificate)
    return replace(calibration, certificate=certificate)  # type: ignore[type-var]
