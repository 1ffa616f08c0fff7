"""Calibrate whole episodes: a day of decisions, each taken with what is known by then.

A point of the calibration is an episode, and it violates at a level if anything in it
does when the loop is run at that level. Episodes must be exchangeable, not the steps
within them: hours depend on each other, days of one season may not.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy.typing as npt

from ..calibration.request import read_request
from ..calibration.wording import EPISODES
from ..guarantees import Guarantee
from .behaviour import Behaviour
from .calibrate_rule import require_functions
from .rows import require_pairs
from .rule import Rule
from .running import Running


def calibrate_episodes(
    violates: Callable[[float, Any], Any],
    episodes: Any,
    alpha: float = 0.1,
    levels: npt.ArrayLike = (),
    *,
    X: Any = None,
    delta: float | None = None,
    guarantee: str | Guarantee = "marginal",
    method: str = "envelope",
    max_calls: int | None = None,
    max_seconds: float | None = None,
    resume: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Rule:
    """The smallest level at which any violation in an episode has probability <= alpha.

    It is `calibrate_rule` where the decision is the level itself, and a point is a
    whole episode.

    Parameters
    ----------
    violates : function of (level, episode)
        Runs the loop over an episode at a level, with `run_episode` or code of your
        own: whether anything in it violated, or a number that is above 0 if so. An
        error is a violation, and is warned of.
    episodes : N episodes that played no part in choosing anything
        A list of anything, or an array whose rows are episodes. They must be
        exchangeable: days of a season, say.
    alpha, levels, delta, guarantee, method : as for `calibrate_rule`
    X : a row of covariates for each episode, known before it starts, optional
        What a guarantee with groups or weights is told; the episodes themselves if
        nothing is given.
    n_jobs, progress, resume, max_calls, max_seconds : as for `calibrate_rule`
        A call is an episode at a level.

    Returns
    -------
    Rule
        `rule.level_` is the level to run at, `rule(X_new)` that of each new episode.
        `rule.evaluate(X, episodes)` runs other episodes at it.

    Examples
    --------
    >>> import numpy as np, sublevel as sl
    >>> days = np.random.default_rng(0).normal(size=(200, 24))  # errors of each hour
    >>> rule = sl.calibrate_episodes(
    ...     lambda reserve, day: (day > reserve).any(),
    ...     days,
    ...     alpha=0.1,
    ...     levels=np.linspace(0, 5, 51),
    ... )
    >>> rule.level_
    2.6
    >>> print(rule.certificate_)  # doctest: +ELLIPSIS
    DecisionAware: there is any violation in an episode run at the level (a step ...
    """
    owner = "calibrate_episodes"
    request = read_request(
        owner, alpha, guarantee, delta, method, levels, wording=EPISODES
    )
    require_functions(owner, violates=violates)
    contexts = episodes if X is None else X
    require_pairs(owner, contexts, episodes)
    behaviour = Behaviour(owner, _level_itself, violates, whole=True)
    running = Running(n_jobs, progress, resume, max_calls, max_seconds)
    calibration, points = running.calibrate(
        behaviour, episodes, episodes, levels, request, contexts
    )
    return Rule(behaviour, calibration, points, EPISODES)


def _level_itself(episode: object, level: float) -> float:
    del episode
    return level
