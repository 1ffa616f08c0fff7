"""Calibrate a rule without setting data aside: every point fits, and calibrates.

For each fold a model is fitted without it, and each point of the fold has an envelope
score R_p by that model's decisions. At a new context point p votes for the decision
that the model without p takes at the level R_p. Decisions are numbers, ordered by
caution: where one violates so does every smaller one. Taken is the i-th smallest of the
n votes, i = ceil((n + 1)(1 - a)).

If it violates, so do the i votes at or below it; and a model's decision at R_p violates
only if the new point's envelope score by that model is above R_p. That happens for i
points or more with probability at most

    2 a + min{2(1 - 1/K)/(n/K + 1), (1 - K/n)/(K + 1)}

(Barber, Candes, Ramdas and Tibshirani 2021, Theorems 1 and 4, whose proofs ask nothing
of scores but that they come from the models alike). The nominal level a is chosen here
so that this is alpha.

Without the order there is no such rule: the theorem says that one of the models' votes
keeps its word, not which.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from math import isinf
from typing import Any

import numpy as np
import numpy.typing as npt

from ..calibration.levels import given_levels
from ..calibration.wording import RULES
from ..checks import require_bool, require_level
from ..errors import InfiniteBudget, InvalidParameter
from ..guarantees import CVPlus
from ..loss_set.fitting import split_folds
from ..parallel import count_workers
from .behaviour import Behaviour
from .calibrate_rule import require_functions
from .cross_rule import CrossRule, caution
from .memory import Memory
from .points import Allowance, RulePoints
from .rows import Rows, row_of, rows_of

_ORDERED = "Decisions are ordered: where one violates, so does every smaller one."
#: Decisions at which every outcome is asked whether they are ordered.
_ASKED = 7


def cross_calibrate(
    fit: Callable[[Any, Any], Any],
    decide: Callable[[Any, Any, float], Any],
    violates: Callable[[Any, Any], Any],
    X: Rows,
    Y: Rows,
    alpha: float = 0.1,
    levels: npt.ArrayLike = (),
    n_splits: int | None = None,
    *,
    cost: Callable[[Any, Any], float] | None = None,
    maximise: bool = False,
    n_jobs: int | None = None,
) -> CrossRule:
    """A rule whose decision is one number, calibrated on the data that fit its model.

    For samples too small to split. A stock, a reserve, a capacity, a price: whatever
    is safer the larger it is (turn the sign around if it is the smaller).

    Parameters
    ----------
    fit : function of (X, Y)
        A model, of any kind, fitted to some of the rows. It must not depend on their
        order.
    decide : function of (model, x, level)
        One number, the decision at a context: larger is more cautious. None says that
        there is none.
    violates : function of (decision, y)
        As for `calibrate_rule`. Where a decision violates every smaller one must.
    X, Y : n contexts and outcomes, as for `calibrate_rule`
    alpha : float in (0, 1), the violation level
    levels : array of numbers, the larger the more cautious; fixed in advance
    n_splits : int, optional
        Folds, which must divide n. By default one point is left out at a time.
    cost, maximise, n_jobs : as for `calibrate_rule`

    Returns
    -------
    CrossRule
        `rule(X_new)` decides; a decision violates with probability at most alpha, on
        average over draws of the sample.

    References
    ----------
    Barber, Candes, Ramdas and Tibshirani (2021), Predictive inference with the
    jackknife+.

    Examples
    --------
    >>> import numpy as np, sublevel as sl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(5, 10, size=40)
    >>> rule = sl.cross_calibrate(
    ...     fit=lambda X, Y: np.polyfit(X, Y, 1),
    ...     decide=lambda line, x, margin: np.polyval(line, x) + margin,
    ...     violates=lambda stock, demand: demand > stock,
    ...     X=X,
    ...     Y=2 * X + rng.normal(size=40),
    ...     alpha=0.1,
    ...     levels=np.linspace(0, 5, 51),
    ... )
    >>> rule, bool(10 < rule([5.0])[0] < 15)
    (CrossRule(models 40; promise alpha 0.1; points 40), True)
    """
    owner = "cross_calibrate"
    require_level(owner, alpha=alpha)
    require_functions(owner, fit=fit, decide=decide, violates=violates)
    require_bool(owner, maximise=maximise)
    if cost is not None:
        require_functions(owner, cost=cost)

    def decide_pair(pair: tuple[Any, Any], level: float) -> Any:
        return decide(*pair, level)

    behaviour = Behaviour(owner, decide_pair, violates)
    n = behaviour.require_pairs(owner, X, Y)
    grid, promise = given_levels(owner, "levels", levels), CVPlus(n_splits)
    models: list[Any] = []
    folds = np.empty(n, dtype=np.intp)
    for kept, held in split_folds(n, promise.count_folds(n)):
        folds[held] = len(models)
        models.append(fit(rows_of(X, kept), rows_of(Y, kept)))
    pairs = [(models[folds[k]], row_of(X, k)) for k in range(n)]
    workers = count_workers(n_jobs)
    points = RulePoints(behaviour, pairs, Y, n, grid, Memory(), Allowance(), workers)
    _require_ordered(points)
    scores = points.search().envelope(lambda scores, floor: False)
    points.warn_of_failures()
    certificate = promise.certify(scores, alpha)
    certificate = replace(
        certificate,
        guarantee="CVPlus, decisions",
        rank=None,
        event=RULES.event,
        assumptions=(*certificate.assumptions[:-1], RULES.rule, _ORDERED),
        reference=f"Envelope scores of decisions; {certificate.reference}",
        holds="on average over draws of the whole sample",
    )
    if isinf(certificate.budget):
        warnings.warn(certificate.note, InfiniteBudget, stacklevel=2)
    rank, sense = promise.rank(n, alpha), -1.0 if maximise else 1.0
    return CrossRule(
        behaviour, tuple(models), folds, scores, rank, certificate, cost, sense
    )


def _require_ordered(points: RulePoints) -> None:
    """Refuse decisions of which a larger one is seen to violate where a smaller not."""
    behaviour, owner = points.behaviour, points.behaviour.owner
    levels = sorted(points.levels.levels)
    rows = np.linspace(0, points.size - 1, _ASKED).astype(int).tolist()
    _require_rising(points, rows, levels)
    ends = np.linspace(0, len(levels) - 1, _ASKED).astype(int).tolist()
    actions = [
        behaviour.act(points.X[row], levels[end])
        for row, end in zip(rows, ends, strict=True)
    ]
    some = [action for action in actions if action.acts]
    some.sort(key=lambda action: caution(owner, action))
    for row in range(points.size):
        y = row_of(points.Y, row)
        broken = [behaviour.judge(action, y).miss > 0 for action in some]
        if broken != sorted(broken, reverse=True):
            raise InvalidParameter(
                f"{owner}(violates=...) must be so that a larger decision keeps its "
                f"promise wherever a smaller one does, got the contrary at row {row}. "
                "Turn the sign around, or split the data and use calibrate_rule."
            )


def _require_rising(points: RulePoints, rows: list[int], levels: list[float]) -> None:
    """Refuse a rule that gets less cautious with the level, at every point asked."""
    behaviour, owner = points.behaviour, points.behaviour.owner
    low, high = levels[0], levels[-1]
    pairs = []
    for row in rows:
        two = [behaviour.act(points.X[row], level) for level in (low, high)]
        pairs.append([caution(owner, action) for action in two])
    if all(above < below for below, above in pairs):
        below, above = pairs[0]
        raise InvalidParameter(
            f"{owner}(decide=...) must be so that a larger level gives a larger "
            f"decision, the more cautious one, got {below:.6g} at level {low:g} and "
            f"{above:.6g} at level {high:g}. Turn the sign of the level around."
        )
