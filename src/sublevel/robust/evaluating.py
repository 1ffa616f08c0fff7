"""What decisions turn out to be worth, as the judge of their problem sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..checks import Array
from ..evaluation.evaluation import Evaluation
from .decisions import DecisionArrays, Decisions
from .judge.realised import Realised

if TYPE_CHECKING:
    from .problem import RobustProblem


class Decides(Protocol):
    """A policy of any kind: it decides, and there is a problem to judge it by."""

    @property
    def problem(self) -> RobustProblem:
        """The problem it decides for."""

    def decide(self, X: Any, n_jobs: int | None = None) -> Decisions:
        """The decision at every row of X."""


def realised(
    policy: Decides, arrays: DecisionArrays, outcomes: Sequence[Array]
) -> Realised:
    """What decisions turn out to be worth, by the judge of the policy's problem."""
    prepared = policy.problem.prepared()
    return prepared.ruler.realise(
        arrays.status,
        arrays.values,
        np.nan_to_num(arrays.slack),
        arrays.objective,
        arrays.outcomes,
        outcomes,
        prepared.ordinary(),
    )


def evaluation_of(
    policy: Decides, decisions: Decisions, outcomes: Sequence[Array], best: Array
) -> Evaluation:
    """What decisions are worth at outcomes for which the best is known."""
    happened = realised(policy, decisions.arrays, outcomes)
    sense = policy.problem.prepared().model.sense
    return Evaluation(
        decisions.status,
        happened.decided,
        happened.violated,
        np.where(happened.decided, decisions.objective, np.nan),
        happened.objective,
        sense * (happened.objective - best),
    )
