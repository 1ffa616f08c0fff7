"""What decisions of rules are worth at their outcomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks import Array
from ..evaluation.by_group import (
    LabelsOrGroups,
    read_groups,
    table_by_group,
    warn_of_groups,
)
from ..evaluation.evaluation import Evaluation
from ..guarantees import Certificate
from .behaviour import Behaviour
from .decisions import RuleDecisions
from .rows import row_of


def evaluate_decisions(
    owner: str,
    behaviour: Behaviour,
    decisions: RuleDecisions,
    X: Any,
    Y: Any,
    cost: Callable[[Any, Any], float] | None,
    groups: LabelsOrGroups | None,
) -> Evaluation:
    """Decisions at n contexts against their outcomes.

    Parameters
    ----------
    owner : who complains
    behaviour : what counts as a violation
    cost : function of a decision and its outcome, or None
    groups : groups of contexts to look at, or None
    """
    outcomes = [row_of(Y, k) for k in range(len(decisions))]
    looks = [
        behaviour.judge(action, outcome)
        for action, outcome in zip(decisions.actions, outcomes, strict=True)
    ]
    nothing = np.full(len(looks), np.nan)
    promise = decisions.certificate
    seen = Evaluation(
        decisions.status,
        np.array([look.decided for look in looks], dtype=bool),
        np.array([look.miss > 0 for look in looks], dtype=bool),
        nothing,
        _costs(cost, decisions, outcomes),
        nothing,
        groups=read_groups(owner, groups, X, len(looks)),
        alpha=promised(promise),
    )
    if groups is not None:
        able = ["policy"] if promise.groups else []
        warn_of_groups(owner, table_by_group({"policy": seen}), able, stacklevel=4)
    return seen


def promised(certificate: Certificate) -> float | None:
    """The violation level that is promised; None if nothing is."""
    return None if certificate.heuristic else certificate.alpha


def _costs(
    cost: Callable[[Any, Any], float] | None,
    decisions: RuleDecisions,
    outcomes: list[Any],
) -> Array:
    costs = np.full(len(outcomes), np.nan)
    if cost is None:
        return costs
    for k, action in enumerate(decisions.actions):
        if action.acts:
            costs[k] = cost(action.decision, outcomes[k])
    return costs
