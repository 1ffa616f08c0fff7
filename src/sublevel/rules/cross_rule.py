"""CrossRule: the decisions of many models, each of which has missed a fold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import Array, briefly, is_number
from ..errors import InvalidParameter
from ..evaluation.by_group import LabelsOrGroups
from ..evaluation.evaluation import Evaluation
from ..guarantees import Certificate
from ..parallel import count_workers, each
from ..tables import html_table
from .behaviour import FAILED, NO_DECISION, Action, Behaviour
from .decisions import RuleDecisions
from .evaluating import evaluate_decisions, promised
from .rows import Rows, count, row_of


@dataclass(frozen=True, eq=False, repr=False)
class CrossRule:
    """A rule that used every point to fit and to calibrate; made by `cross_calibrate`.

    At a context each calibration point has its say: the decision of the model that has
    not seen it, at the point's own level. What is done is one of these decisions, the
    rank-th smallest.

    Attributes
    ----------
    behaviour : how a model and a context are decided on, and what is a violation
    models : one for each fold, fitted without it
    folds : shape (n,), the fold of each point
    levels : shape (n,), the lowest level from which on the point is kept by the model
        that has not seen it
    rank : which of n decisions is taken, from the least cautious on; None if there are
        too few points
    certificate_ : what is promised of decisions
    cost : function of a decision and its outcome, or None
    sense : 1.0 where costs are minimised, -1.0 where rewards are maximised
    """

    behaviour: Behaviour
    models: Sequence[Any]
    folds: npt.NDArray[np.intp]
    levels: Array
    rank: int | None
    certificate_: Certificate
    cost: Callable[[Any, Any], float] | None = None
    sense: float = 1.0

    @property
    def promised_alpha(self) -> float | None:
        """The violation level that is promised; None if nothing is."""
        return promised(self.certificate_)

    @property
    def promises_groups(self) -> bool:
        """Nothing is promised of groups."""
        return False

    def __call__(self, X: Rows, n_jobs: int | None = None) -> RuleDecisions:
        """The decision at every row of X, as `decide`."""
        return self.decide(X, n_jobs)

    def decide(self, X: Rows, n_jobs: int | None = None) -> RuleDecisions:
        """The decision at every row of X.

        Parameters
        ----------
        X : n contexts: rows of an array or a DataFrame, or a list of anything
        n_jobs : workers, as in joblib: threads by default
        """
        n = count(X)

        def job(k: int) -> tuple[Callable[..., Action], tuple[Any]]:
            return self.act, (row_of(X, k),)

        actions = tuple(each(job, n, count_workers(n_jobs)))
        levels = np.full(n, self.certificate_.budget)
        return RuleDecisions(actions, levels, self.certificate_)

    def evaluate(
        self,
        X: Rows,
        Y: Rows,
        n_jobs: int | None = None,
        groups: LabelsOrGroups | None = None,
    ) -> Evaluation:
        """What decisions are worth at other outcomes, as `Rule.evaluate`."""
        owner = "CrossRule.evaluate"
        self.behaviour.require_pairs(owner, X, Y)
        decisions = self.decide(X, n_jobs)
        given = (self.behaviour, decisions, X, Y, self.cost, groups)
        return evaluate_decisions(owner, *given)

    def act(self, context: object) -> Action:
        """What is done at a context: one of the points' decisions."""
        if self.rank is None:
            return Action(None, NO_DECISION)
        # Levels are those of a grid, so that many points ask for the same decision.
        votes = Counter(zip(self.folds.tolist(), self.levels.tolist(), strict=True))
        actions = [
            (
                self.behaviour.act((self.models[fold], context), level),
                votes[fold, level],
            )
            for fold, level in votes
        ]
        actions.sort(key=lambda pair: caution(self.behaviour.owner, pair[0]))
        ends = np.cumsum([number for _, number in actions])
        return actions[int(np.searchsorted(ends, self.rank))][0]

    def __repr__(self) -> str:
        return f"CrossRule({'; '.join(f'{n} {v}' for n, v in self._facts())})"

    def _repr_html_(self) -> str:
        return html_table("CrossRule", self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("models", f"{len(self.models)}"),
            ("promise", f"alpha {self.certificate_.alpha:g}"),
            ("points", f"{self.certificate_.sample_size}"),
        ]


def caution(owner: str, action: Action) -> float:
    """How cautious an action is: a decision itself, which must be a number.

    Nothing done breaks nothing; what failed counts as broken.
    """
    if action.status == FAILED:
        return -inf
    decision: Hashable = action.decision
    if not action.acts:
        return inf
    if isinstance(decision, np.ndarray | np.generic) and decision.size == 1:
        decision = decision.item()
    if not is_number(decision):
        raise InvalidParameter(
            f"{owner}(decide=...) must return one number, larger where it is more "
            f"cautious, or None, got {briefly(decision)}."
        )
    return float(decision)
