"""Candidates compared by what their decisions cost once each keeps the same promise.

A shape is only as good as what it certifies after calibration, so that is what is
compared: part of the rows calibrate, the rest tell cost, and then the other way round.
Any rule of choice is free if the winner is calibrated on other rows: a score that was
chosen on data of its own is as fixed as any (Papadopoulos et al. 2002; Yang &
Kuchibhotla 2024). On the calibration rows themselves the choice among K costs
confidence: each candidate is certified with delta / K (Bonferroni).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Protocol, runtime_checkable

import cvxpy as cp

from ..checks import is_whole, require_bool, require_level
from ..errors import InvalidParameter
from ..evaluation.comparison import Outcome
from ..guarantees import PAC, Guarantee, OrderStatistic
from ..guarantees import get as get_guarantee
from ..predictions import Table, can, count_rows
from ..progress import Bar
from .choice import CRITERIA, Choice, least_of
from .crossing import Candidate, compared, crossed

_OWNER = "choose"


@runtime_checkable
class RemembersChoice(Protocol):
    """A candidate that refuses to be calibrated on the rows it was chosen by."""

    def chosen_on(self, X: Any, Y: Any, /) -> Any: ...


def choose(
    policies: Mapping[str, Candidate],
    X: Table,
    Y: Outcome,
    alpha: float = 0.1,
    *,
    by: str = "certified",
    guarantee: str | Guarantee = "marginal",
    delta: float | None = None,
    folds: int = 5,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Choice:
    """The policy that costs least among those that keep the same promise.

    Candidates may differ in anything: the loss, the model, the weights of components
    or of constraints, one LossSet for all constraints or one for each.

    Parameters
    ----------
    policies : dict from names to policies, all of one objective
        As `RobustProblem.compile` returns them. They are left as they are.
    X, Y : contexts and outcomes that trained no candidate
        Without `delta` they must not calibrate the winner either; its `calibrate`
        refuses them.
    alpha : float in (0, 1), the violation level to compare at, or around
    by : "certified" (what is promised) or "realised" (what it turned out to cost)
    guarantee : as for `Policy.calibrate`: what candidates are calibrated to
    delta : float in (0, 1), optional
        Choose and calibrate on the same rows: every candidate is certified on all of
        them with confidence 1 - delta / K, so that with confidence 1 - delta all K
        certificates hold and any may be used. The winner comes calibrated. What it is
        seen to cost is cross-fitted all the same.
    folds : int, default 5
        Each part is evaluated after calibration on the others. Where one LossSet is
        calibrated to an order statistic (marginal, PAC), all parts share one search,
        and costs are compared on average over levels from .4 alpha to 1.6 alpha: one
        order statistic is noisier than shapes differ.
    n_jobs : int, optional
        Workers for the solves.
    progress : bool, default False
        Show a bar: candidates that are done, and the time left.

    Returns
    -------
    Choice
        `best`, `policy`, a table (`to_pandas`), a picture (`plot`), a `sentence`. Two
        candidates whose mean costs differ by less than a millionth of their size tie,
        in whatever units, and the one given first is chosen.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, sublevel as sl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(160, 2))
    >>> Y = X + rng.normal(size=(160, 1)) + 0.1 * rng.normal(size=(160, 2))
    >>> r, w = sl.Uncertain(2, name="r"), cp.Variable(2)
    >>> def policy(loss):
    ...     sets = sl.LossSet(lambda X: X, loss).fit(X[:40], Y[:40])
    ...     limits = [cp.sum(w) == 1, cp.abs(w) <= 2]
    ...     return sl.RobustProblem(cp.Maximize(r @ w), limits, {r: sets}).compile()
    >>> shapes = {loss: policy(loss) for loss in ("squared", "mahalanobis")}
    >>> choice = sl.choose(shapes, X[40:100], Y[40:100], alpha=0.2)
    >>> choice.best
    'mahalanobis'
    >>> best = choice.policy.calibrate(X[100:], Y[100:], 0.2, grid=choice.grid())
    """
    _check(policies, by, folds, X)
    require_level(_OWNER, alpha=alpha)
    if delta is not None:
        require_level(_OWNER, delta=delta)
        guarantee = PAC(delta, candidates=len(policies))
    sense = sense_of(policies)
    require_bool(_OWNER, progress=progress)
    crossings = {}
    with Bar(len(policies), "candidates") if progress else nullcontext() as bar:
        for name, policy in policies.items():
            crossings[name] = crossed(policy, X, Y, alpha, guarantee, folds, n_jobs)
            if bar is not None:
                bar.advance(1)
    evaluations = {name: each.at_alpha for name, each in crossings.items()}
    columns = compared(crossings, by, sense)
    best = least_of(columns)
    if not evaluations[best].decided.any():
        used = count_rows(X) * (folds - 1) // folds
        raise InvalidParameter(
            "choose(X, Y) must let a candidate decide somewhere, got none that does at "
            f"alpha={alpha:g} after calibration on {used} rows. "
            f"{_more_rows(guarantee, alpha, used, folds)}, or a larger alpha."
        )
    winner: Any = policies[best]
    if delta is not None:
        winner = copy.copy(winner).calibrate(X, Y, alpha, guarantee=guarantee)
    elif isinstance(winner, RemembersChoice):
        winner = winner.chosen_on(X, Y)
    expected = {name: each.expected for name, each in crossings.items()}
    return Choice(best, winner, evaluations, columns, alpha, by, sense, delta, expected)


def _more_rows(guarantee: str | Guarantee, alpha: float, used: int, folds: int) -> str:
    """How many rows leave enough of them to calibrate on when a fold is set apart."""
    promise = get_guarantee(guarantee)
    # Others count rows of a group, or days.
    counts_rows = isinstance(promise, OrderStatistic)
    least = promise.minimum_sample_size(alpha) if counts_rows else 0
    if used >= least:
        return "Use more rows"
    rows = -(-least * folds // (folds - 1))
    return f"Use at least {rows} rows, of which {least} or more calibrate"


def sense_of(policies: Mapping[str, Any]) -> float:
    """1.0 where costs are minimised, -1.0 where rewards are maximised."""
    senses = {
        1.0 if isinstance(policy.problem.objective, cp.Minimize) else -1.0
        for policy in policies.values()
    }
    if len(senses) != 1:
        raise InvalidParameter(
            "choose(policies=...) must all minimise or all maximise, got both."
        )
    return senses.pop()


def _check(policies: object, by: str, folds: object, X: Table) -> None:
    if not isinstance(policies, Mapping) or not policies:
        raise InvalidParameter(
            "choose(policies=...) must be a non-empty dict from names to policies, got "
            f"{type(policies).__name__}."
        )
    for name, policy in policies.items():
        if not (can(policy, "calibrate") and can(policy, "problem")):
            raise InvalidParameter(
                f"choose(policies={{{name!r}: ...}}) must be a policy that can be "
                f"calibrated, got {type(policy).__name__}. Give "
                "RobustProblem(...).compile()."
            )
    if by not in CRITERIA:
        raise InvalidParameter(f"choose(by=...) must be one of {CRITERIA}, got {by!r}.")
    if not count_rows(X):
        raise InvalidParameter(
            "choose(X, Y) must have rows to compare the policies on, got none. "
            "sl.split(X, Y, tune=0.2) sets some apart."
        )
    if not is_whole(folds, 2) or folds > count_rows(X):
        raise InvalidParameter(
            f"choose(folds=...) must be a whole number from 2 to the {count_rows(X)} "
            f"rows of X, got {folds!r}."
        )
