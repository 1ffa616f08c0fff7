"""The contract of policies: what an evaluator relies on, whoever wrote the policy."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..evaluation import Evaluation
from ..predictions import Table, count_rows, take_rows
from ..robust import Decisions, Policy
from ..robust.judge.statuses import has_failed, is_decided
from .contract import require


def check_policy(policy: Policy, X: Table, Y: Table, tol: float = 1e-6) -> None:
    """Run the policy contract on a few contexts and their outcomes.

    A policy decides `decide(X)` and is judged by `evaluate(X, Y)`. Contexts are
    decided each for itself, the same way every time; a context without a decision is
    a status; what is certified is what is compared with the outcomes.

    Parameters
    ----------
    policy : Policy, or anything that decides and is evaluated like one
    X : covariates of n >= 2 contexts, rows of an array
    Y : their outcomes, rows of an array
    tol : relative tolerance of objectives

    Examples
    --------
    >>> import cvxpy as cp
    >>> import sublevel as sl
    >>> X = np.random.default_rng(0).normal(size=(6, 2))
    >>> y, x = sl.Uncertain(2), cp.Variable(2, nonneg=True)
    >>> sets = sl.LossSet(lambda X: X).calibrate(X, X + 0.1, alpha=0.2)
    >>> problem = sl.RobustProblem(cp.Maximize(y @ x), [cp.sum(x) <= 1], {y: sets})
    >>> check_policy(problem.compile(), X, X + 0.1)
    """
    decisions = policy.decide(X)
    _check_shapes(decisions, count_rows(X))
    _check_each_for_itself(policy, X, decisions, tol)
    evaluation = policy.evaluate(X, Y)
    _check_evaluation(policy, decisions, evaluation, tol)


def _check_shapes(decisions: Decisions, n: int) -> None:
    require(len(decisions) == n, "there is one decision a context")
    objective, status = np.asarray(decisions.objective), np.asarray(decisions.status)
    require(objective.shape == status.shape == (n,), "arrays have one entry a context")
    solved = status == "optimal"
    require(np.isfinite(objective[solved]).all(), "what is optimal has an objective")
    passed = np.asarray(decisions.audit.passed)
    require(passed[solved].all(), "what is optimal has passed its audit")
    require(len(decisions.to_pandas()) == n, "to_pandas has one row a context")


def _check_each_for_itself(
    policy: Policy, X: Table, decisions: Decisions, tol: float
) -> None:
    again = policy.decide(X)
    require(_same(decisions, again, tol), "the same contexts get the same decisions")
    turned = policy.decide(take_rows(X, slice(None, None, -1)))
    back = (turned.status[::-1], turned.objective[::-1])
    here = (decisions.status, decisions.objective)
    require(_equal(here, back, tol), "the order of contexts does not matter")
    alone = policy.decide(take_rows(X, slice(1)))
    first = (decisions.status[:1], decisions.objective[:1])
    require(
        _equal(first, (alone.status, alone.objective), tol),
        "a context is decided the same alone and in company",
    )


def _check_evaluation(
    policy: Policy, decisions: Decisions, evaluation: Evaluation, tol: float
) -> None:
    n, decided = len(decisions), is_decided(evaluation.status)
    require(
        (evaluation.status == decisions.status).all(), "evaluate decides as decide does"
    )
    require(len(evaluation.violated) == n, "evaluate looks at every context")
    absent = ~decided & ~has_failed(evaluation.status)
    require(not evaluation.violated[absent].any(), "no decision, no violation")
    require((evaluation.decided == decided).all(), "decided means one thing")
    certified = np.where(decided, decisions.objective, np.nan)
    same = _close(evaluation.certified, certified, tol)
    require(same, "what is evaluated is what was certified")
    share = abs(evaluation.violation - float(np.mean(evaluation.violated))) <= 1e-12
    require(share, "violation is the share of contexts violated")
    low, high = evaluation.interval
    require(low <= evaluation.violation <= high, "the interval holds the violation")
    sense = 1.0 if isinstance(policy.problem.objective, cp.Minimize) else -1.0
    worse = sense * (evaluation.realised - evaluation.certified)
    scale = (
        10 * tol * np.fmax(np.abs(evaluation.certified), np.abs(evaluation.realised))
    )
    broken = np.isfinite(worse) & (np.nan_to_num(worse) > scale)
    require(
        np.asarray(evaluation.violated)[broken].all(),
        "an objective worse than certified is a violation",
    )


def _same(one: Decisions, other: Decisions, tol: float) -> bool:
    return _equal((one.status, one.objective), (other.status, other.objective), tol)


def _equal(one: tuple[Any, Any], other: tuple[Any, Any], tol: float) -> bool:
    return bool((one[0] == other[0]).all()) and _close(one[1], other[1], tol)


def _close(one: Array, other: Array, tol: float) -> bool:
    size = np.nanmax(np.abs(one), initial=0.0)
    return bool(np.allclose(one, other, rtol=tol, atol=tol * size, equal_nan=True))
