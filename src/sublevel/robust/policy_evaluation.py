"""What a policy's decisions are worth at known outcomes, also by group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..checks import require_bool
from ..evaluation.by_group import (
    LabelsOrGroups,
    read_groups,
    table_by_group,
    warn_of_groups,
)
from ..evaluation.evaluation import Evaluation
from ..predictions import Table
from .clairvoyant import clairvoyant
from .evaluating import evaluation_of
from .labelled import Outcome, label

if TYPE_CHECKING:
    from .policy import Policy


def evaluate_policy(
    policy: Policy,
    X: Table,
    Y: Outcome,
    n_jobs: int | None,
    groups: LabelsOrGroups | None,
    progress: bool,
    regret: bool,
) -> Evaluation:
    """The evaluation of `Policy.evaluate`, with its warning of groups."""
    owner = "Policy.evaluate"
    require_bool(owner, progress=progress, regret=regret)
    labelled = label(policy.problem.keys, X, Y, owner)
    named = read_groups(owner, groups, X, len(labelled))
    best = np.full(len(labelled), np.nan)
    if regret:
        best = clairvoyant(policy.problem, labelled.outcomes, n_jobs, progress)
    decisions = policy.decide(X, n_jobs=n_jobs, progress=progress)
    evaluation = evaluation_of(policy, decisions, labelled.outcomes, best)
    evaluation = replace(evaluation, groups=named, alpha=policy.promised_alpha)
    if groups is not None:
        able = ["policy"] if policy.promises_groups else []
        table = table_by_group({"policy": evaluation})
        # One frame further than from the method itself.
        warn_of_groups(owner, table, able, stacklevel=4)
    return evaluation
