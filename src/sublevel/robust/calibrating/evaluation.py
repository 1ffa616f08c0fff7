"""What a policy's decisions are worth at known outcomes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np
from scipy.stats import beta

from ...checks import Array
from ...errors import SolverFailed
from ..modelling.solving import solve_checked
from .at_budget import Points
from .known import Known, know
from .reading import read_policy, save_outcome
from .realised import realise

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Decisions against outcomes, context by context, and in sum.

    Attributes
    ----------
    status : strings of shape (n,)
    violated : shape (n,), whether a constraint was broken or the cost was more than
        certified; False where there was no decision
    certified : shape (n,), worst case of the objective; nan without a decision
    realised : shape (n,), objective at the outcome
    regret : shape (n,), how much worse that is than with the outcome known in advance
    level : confidence of the interval
    """

    status: Any
    violated: Any
    certified: Array
    realised: Array
    regret: Array
    level: float = 0.95

    @property
    def violation(self) -> float:
        """Share of contexts with a violation."""
        return float(np.mean(self.violated))

    @property
    def interval(self) -> tuple[float, float]:
        """Exact (Clopper-Pearson) interval of the violation probability."""
        hits, n = int(np.sum(self.violated)), len(self.violated)
        tail = (1 - self.level) / 2
        low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, n - hits + 1))
        high = 1.0 if hits == n else float(beta.ppf(1 - tail, hits + 1, n - hits))
        return low, high

    def to_pandas(self) -> pd.Series:
        """The sums, by name."""
        import pandas as pd

        low, high = self.interval
        decided = np.isin(self.status, ("optimal", "fallback"))
        return pd.Series(
            {
                "contexts": len(self.violated),
                "decided": int(decided.sum()),
                "violation": self.violation,
                "violation low": low,
                "violation high": high,
                "certified": _mean(self.certified),
                "realised": _mean(self.realised),
                "regret": _mean(self.regret),
            }
        )

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"Evaluation({len(self.violated)} contexts, violation "
            f"{self.violation:.4g} [{low:.4g}, {high:.4g}], certified "
            f"{_mean(self.certified):.4g}, realised {_mean(self.realised):.4g}, regret "
            f"{_mean(self.regret):.4g})"
        )


def evaluate(policy: Any, X: Any, Y: Any, n_jobs: int | None) -> Evaluation:
    """Decide, look at the outcomes, and decide again knowing them."""
    known = know(policy, X, Y, "Policy.evaluate")
    best = clairvoyant(policy.problem, known.outcomes, n_jobs)
    return evaluate_on(policy, X, known, best, n_jobs)


def evaluate_on(
    policy: Any, X: Any, known: Known, best: Array, n_jobs: int | None
) -> Evaluation:
    """Decide, and look at outcomes for which the best is known."""
    decisions = policy.decide(X, n_jobs=n_jobs)
    reading = read_policy(policy, known, "Policy.evaluate")
    happened = realise(reading, decisions, known.outcomes)
    sense = 1.0 if isinstance(policy.problem.objective, cp.Minimize) else -1.0
    return Evaluation(
        decisions.status,
        happened.violated,
        decisions.objective,
        happened.objective,
        sense * (happened.objective - best),
    )


def clairvoyant(problem: Any, outcomes: list[Array], n_jobs: int | None) -> Array:
    """The best objective at each outcome for someone who knows it, shape (n,).

    nan where nobody could have decided anything.
    """
    rows = np.arange(len(outcomes[0]))
    if not problem._is_mixed_integer and not problem._equalities():
        knowing = problem._over([Points(vectors) for vectors in outcomes]).compile()
        if knowing.one_by_one is None:
            return np.asarray(knowing.decide(rows, n_jobs).objective)
    return _knowing(problem, outcomes)


def _knowing(problem: Any, outcomes: list[Array]) -> Array:
    """The model as it was written, solved at one outcome after another.

    A rule need only answer to the one outcome that is known.
    """
    model = cp.Problem(problem.objective, problem.constraints)
    solver = "HIGHS" if problem._is_mixed_integer else "CLARABEL"
    before = [(leaf, leaf.value) for leaf in [*model.variables(), *model.parameters()]]
    found = np.full(len(outcomes[0]), np.nan)
    try:
        for i in range(len(found)):
            for key, vectors in zip(problem.uncertainty, outcomes, strict=True):
                save_outcome(key, vectors[i])
            with suppress(SolverFailed):
                if solve_checked(model, solver) == cp.OPTIMAL:
                    found[i] = model.value
    finally:
        for leaf, value in before:
            leaf.save_value(value)
    return found


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")
