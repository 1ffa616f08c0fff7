"""Calibrate anyone's decision rule: the smallest level that is certified.

The theorem asks of a rule only that it is deterministic, that its levels were fixed
beforehand, and that decision and outcome tell whether it violates. Sets, convexity and
CVXPY are not needed. So a rule in any modelling language is calibrated as a `Policy`
is, by the same search.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy.typing as npt

from ..calibration.request import read_request
from ..calibration.wording import RULES
from ..checks import briefly, require_bool
from ..errors import InvalidParameter
from ..guarantees import Guarantee
from .behaviour import Behaviour, Decide, Violates
from .rows import Rows
from .rule import Rule
from .running import Running


def calibrate_rule(
    decide: Decide,
    violates: Violates,
    X: Rows,
    Y: Rows,
    alpha: float = 0.1,
    levels: npt.ArrayLike = (),
    *,
    delta: float | None = None,
    guarantee: str | Guarantee = "marginal",
    method: str = "envelope",
    fallback: object = None,
    given_decided: bool = False,
    cost: Callable[[Any, Any], float] | None = None,
    maximise: bool = False,
    n_jobs: int | None = None,
    progress: bool = False,
    resume: str | PathLike[str] | None = None,
    max_calls: int | None = None,
    max_seconds: float | None = None,
) -> Rule:
    """The smallest level at which a rule violates with probability at most alpha.

    The rule may be written in any language and solve anything: it is only called. It
    must be deterministic. Nothing is assumed of how violations vary with the level,
    but levels are tried from the largest down, so that should be the most cautious.
    The search ends at the smallest level from which on, all the way up, few enough
    points violate.

    Parameters
    ----------
    decide : function of (x, level)
        The decision at one context, a row of X: anything but None, which says that
        there is none. An error, or nan in the decision, is a status of that context,
        and counts as a violation. It is given a copy of the row.
    violates : function of (decision, y)
        Whether the decision turned out to break its promise at the outcome, a row of
        Y: True or False, or a number that is above 0 for a violation. Its tolerance is
        yours.
    X, Y : N contexts and outcomes that played no part in choosing the rule or levels
        Rows of arrays or DataFrames, or lists of anything. Outcomes must not be nan.
    alpha : float in (0, 1), the violation level
    levels : array of numbers, from the least to the most cautious
        Must not depend on X and Y.
    delta : float in (0, 1), optional
        Confidence deficit, short for guarantee=PAC(delta): promise alpha for this
        calibration with confidence 1 - delta. Otherwise on average over calibrations.
    guarantee : "marginal", "pac", or an object of `sl.guarantees` or of your own
        Mondrian(groups) promises alpha in every group, Weighted(density_ratio) for
        contexts that have shifted. All but the first two go without a fallback.
    method : "envelope", "learn-then-test" or "risk"
        Learn-then-Test needs delta (0.05 if not given). "risk" bounds the mean of what
        `violates` returns, at most 1, in place of a probability.
    fallback : a decision, or a function of x, optional
        What is done where `decide` returns None. Without one such contexts count as
        kept; the fallback counts as it turns out.
    given_decided : bool, default False
        Promise alpha among the decisions that are taken, with confidence 1 - delta
        (0.05 if not given), rather than among all contexts.
    cost : function of (decision, y), optional
        What a decision turns out to cost, for `evaluate` and `frontier`. It has no
        part in the calibration.
    maximise : bool, default False
        Whether `cost` is a reward.
    n_jobs : int, optional
        Workers, as in joblib: threads by default, or the backend that
        `joblib.parallel_config` names.
    progress : bool, default False
        Show a bar, of all levels: most calibrations end before it is full.
    resume : path of a file, optional
        What decisions did is kept there, as it comes in. Called again after a kill,
        the same calibration goes on where it was. The file of other data, levels or
        code is refused, and so are other numbers, words and arrays that the code
        reads. A few decisions are computed again to see that the rule is the same;
        name another file when anything else that it reads, a model, changes.
    max_calls, max_seconds : numbers, optional
        What the calibration may cost: decisions computed, kept ones not counted, and
        seconds. A search that ends there has looked at higher levels only. Its answer
        is certified and larger than necessary, which the certificate notes; with
        `resume` it can go on later.

    Returns
    -------
    Rule
        `rule(X_new)` decides; `rule.level_` and `rule.certificate_` say at what level,
        and what is promised. Where no level can be certified the level is inf: nothing
        but the fallback is done.

    Examples
    --------
    >>> import numpy as np, sublevel as sl
    >>> rng = np.random.default_rng(0)
    >>> load = rng.uniform(5, 10, size=99)
    >>> rule = sl.calibrate_rule(
    ...     decide=lambda x, margin: x * (1 + margin),
    ...     violates=lambda reserve, y: y > reserve,
    ...     X=load,
    ...     Y=load * rng.normal(1, 0.1, size=99),
    ...     levels=np.linspace(0, 0.5, 51),
    ... )
    >>> round(rule.level_, 2), rule.certificate_.sample_size
    (0.12, 99)
    """
    owner = "calibrate_rule"
    has_fallback = fallback is not None
    asked = (alpha, guarantee, delta, method, levels, given_decided)
    request = read_request(owner, *asked, has_fallback, RULES)
    require_functions(owner, decide=decide, violates=violates)
    require_bool(owner, maximise=maximise)
    if cost is not None:
        require_functions(owner, cost=cost)
    behaviour = Behaviour(owner, decide, violates, fallback)
    running = Running(n_jobs, progress, resume, max_calls, max_seconds)
    calibration, points = running.calibrate(behaviour, X, Y, levels, request, X)
    sense = -1.0 if maximise else 1.0
    return Rule(behaviour, calibration, points, RULES, cost, sense)


def require_functions(owner: str, **given: object) -> None:
    """Each must be something that can be called."""
    for name, value in given.items():
        if not callable(value):
            raise InvalidParameter(
                f"{owner}({name}=...) must be a function, got {briefly(value)}."
            )
