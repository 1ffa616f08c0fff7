"""Decision-aware calibration of a closed-form rule: the smallest radii that hold.

The same search as `Policy.calibrate`, on the same grid of budgets, with the decisions
from a `Rule` instead of the robust engine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sublevel.calibration.envelope import envelope_scores
from sublevel.calibration.levels import Geometric
from sublevel.checks import Array
from sublevel.guarantees import Marginal
from sublevel.robust.judge.materiality import RESOLUTION

from .ellipsoids import Placed
from .rules import Rule


def decision_aware_radii(
    rule: Rule, placed: Placed, costs: Array, alphas: tuple[float, ...]
) -> list[float]:
    """A radius for each level: costs exceed certified ones at most so often.

    Parameters
    ----------
    rule : from ellipsoids to decisions
    placed : the ellipsoids at N calibration contexts
    costs : array of shape (N, m), what happened there
    alphas : violation levels

    Examples
    --------
    >>> from reproduction.experiments.rules import Simplex
    >>> costs = np.random.default_rng(0).normal(size=(300, 5))
    >>> placed = Placed(np.zeros((300, 5)), np.ones((300, 5)))
    >>> radius = decision_aware_radii(Simplex(), placed, costs, (0.1,))[0]
    >>> kept = np.sort(np.sqrt(placed.losses(costs).sum(axis=1)))[270]
    >>> bool(radius < kept / 2)
    True
    """
    scores = placed.losses(costs).sum(axis=1)
    size = len(scores)
    ranks = [Marginal().rank(size, alpha) for alpha in alphas]
    allowed = max((size - rank for rank in ranks if rank is not None), default=0)

    def violates(levels: Array, rows: Any) -> Any:
        at = placed.location[rows], placed.scale[rows]
        x, worst = rule.decide(*at, np.sqrt(levels))
        return exceeds((costs[rows] * x).sum(axis=1), worst)

    envelope = np.sort(
        envelope_scores(
            scores,
            Geometric().downwards(scores),
            violates,
            lambda above, floor: int(np.sum(above > floor)) > allowed,
            wave=20_000,
        )
    )
    return [
        np.inf if rank is None else float(np.sqrt(envelope[rank - 1])) for rank in ranks
    ]


def exceeds(realised: Array, certified: Array) -> Any:
    """Whether a cost broke its word, by more than the judge's resolution."""
    size = np.maximum(np.abs(realised), np.abs(certified))
    return realised - certified > RESOLUTION * size
