"""A policy that decides one context at a time, at any level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..predictions import is_frame
from .decisions import Decisions
from .evaluating import realised
from .judge.statuses import has_failed
from .labelled import label

if TYPE_CHECKING:
    import cvxpy as cp

    from .policy import Policy


@dataclass(frozen=True, eq=False)
class PolicyStep:
    """A policy's decision at one context.

    Attributes
    ----------
    decisions : Decisions of one context
    context : the context, a table of one row
    """

    decisions: Decisions
    context: Any

    def value(self, variable: str | cp.Variable) -> npt.NDArray[Any]:
        """The value of a variable of the model, of the variable's own shape."""
        return np.array(self.decisions.value(variable)[0])


@dataclass(frozen=True, eq=False)
class PolicySteps:
    """A policy as a rule: decisions at a level, judged at an outcome.

    Attributes
    ----------
    policy : the policy, as it was made
    units : for each key the budget that level 1 stands for
    """

    policy: Policy
    units: tuple[float, ...]

    def decide(self, x: object, level: float) -> PolicyStep | None:
        """The decision at a row of X; None if there is none."""
        keys, context = self.policy.problem.keys, _as_table(x)
        budgets = {
            key.name: unit * level
            for key, unit in zip(keys, self.units, strict=True)
            if key.predicted is not None
        }
        decisions = self.policy.at(budgets).decide(context)
        exists = decisions.decided[0] or has_failed(decisions.status)[0]
        return PolicyStep(decisions, context) if exists else None

    def violates(self, step: PolicyStep, y: object) -> float:
        """The largest miss of a promise at a row of Y: above 0 it is a violation."""
        outcome = (
            {name: _as_table(each) for name, each in y.items()}
            if isinstance(y, dict)
            else _as_table(y)
        )
        keys = self.policy.problem.keys
        labelled = label(keys, step.context, outcome, "Policy.as_rule")
        seen = realised(self.policy, step.decisions.arrays, labelled.outcomes)
        return float(seen.miss[0])


def _as_table(row: object) -> Any:
    """A table of one row."""
    if not is_frame(row):
        return np.asarray(row)[None]
    import pandas as pd

    return pd.DataFrame([row]).infer_objects()
