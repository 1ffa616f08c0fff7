"""What each violation level costs, and the level chosen from what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..calibration.band import Band, band_certificate
from ..calibration.frontier import Line
from ..calibration.request import Request, read_request
from ..errors import InvalidParameter
from ..guarantees import PAC, Calibration
from ..loss_set.marks import Hashes
from ..predictions import Table
from .calibration_points import PolicyPoints
from .clairvoyant import clairvoyant
from .evaluating import evaluation_of
from .labelled import Outcome, label
from .recognition import Recognition

if TYPE_CHECKING:
    import pandas as pd

    from .policy import Policy


@dataclass(frozen=True, eq=False)
class Looked:
    """What a look at the frontier leaves, to choose a level from.

    Attributes
    ----------
    band : what may be promised, at every level at once
    points : the policy at the calibration points
    recognition, marks : as for `Settled`, as they were when it was looked at
    grid : levels that were looked at, or None
    """

    band: Band
    points: PolicyPoints
    recognition: Recognition
    marks: Sequence[Hashes | None]
    grid: npt.ArrayLike | None = None

    def calibration(self, owner: str, alpha: float) -> Calibration:
        """The lowest level that keeps alpha."""
        self.band.require_within(owner, alpha)
        acts = self.points.has_fallback
        certificate = band_certificate(self.band, alpha, owner, acts)
        return Calibration(certificate.budget, certificate)

    def request(self, owner: str, alpha: float) -> Request:
        """What promises as much on other rows, where alpha is fixed beforehand."""
        return read_request(owner, alpha, PAC(self.band.delta), grid=self.grid)


class NotLookedAt(InvalidParameter, AttributeError):
    """Something that a look at the frontier leaves was asked for before it."""


def require_looked(owner: str, looked: Looked | None) -> Looked:
    """Raise InvalidParameter unless the frontier was looked at."""
    if looked is None:
        raise NotLookedAt(
            f"{owner}(alpha) must follow a look at the frontier, with a delta, got "
            "none. Call frontier(X_cal, Y_cal, delta=0.05) first, or calibrate at "
            "a level that is fixed."
        )
    return looked


def frontier_table(
    policy: Policy,
    lines: Sequence[Line],
    points: PolicyPoints,
    X: Table,
    Y: Outcome,
    fresh: bool,
    n_jobs: int | None,
) -> pd.DataFrame:
    """One row a line: the policy at its level, looked at on rows.

    Parameters
    ----------
    policy : to put at the levels
    lines : levels, and what they promise
    points : the policy at the calibration points, whose units the levels are in
    X, Y : contexts and outcomes to look at
    fresh : whether these are other rows than the levels were read off
    n_jobs : workers for the solves
    """
    import pandas as pd

    labelled = label(policy.problem.keys, X, Y, "Policy.frontier")
    best = np.full(len(labelled), np.nan)
    if fresh:
        best = clairvoyant(policy.problem, labelled.outcomes, n_jobs)
    rows = []
    for line in lines:
        at_level = policy.at(points.budgets(line.level))
        decisions = at_level.decide(X, n_jobs=n_jobs)
        seen = evaluation_of(at_level, decisions, labelled.outcomes, best)
        row = {"calibration": line.calibration, "alpha": line.alpha}
        row |= {"bound": line.bound, "budget": at_level.budget_}
        row |= {"radius": at_level.radius_}
        rows.append(row | seen.at_a_glance(fresh=fresh))
    return pd.DataFrame(rows)
