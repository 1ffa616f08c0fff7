"""Weights of components, or of constraints, tuned by what decisions cost.

One radius for constraints of unequal size and price is as large as the worst of them
needs. A weight gives each its own: a coordinate search over logarithms, by the cost
that is certified after calibration, on rows of its own. Only ratios matter, as the
radius is calibrated, so that the first weight stays at one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import Array, is_whole, require_bool, require_level
from ..errors import InvalidParameter
from ..evaluation.comparison import Outcome
from ..guarantees import Guarantee
from ..predictions import Table
from ..progress import Bar
from .choice import CRITERIA, RESOLVED
from .choose import RemembersChoice, sense_of
from .crossing import compared, crossed

if TYPE_CHECKING:
    import pandas as pd

#: Factors by which weights are changed, one sweep after another.
STEPS = (4.0, 2.0, 2.0**0.5)


@dataclass(frozen=True, eq=False)
class WeightChoice:
    """The weights that a search ended with.

    Attributes
    ----------
    weights : array of shape (size,), the first of them one
    policy : the policy with these weights, to be calibrated on other rows
    score : float, its mean objective out of fold
    start : float, the same with all weights one
    tried : tuple of (weights, score): every policy that was looked at
    """

    weights: Array
    policy: Any
    score: float
    start: float
    tried: tuple[tuple[tuple[float, ...], float], ...]

    @property
    def sentence(self) -> str:
        """The choice in words."""
        return (
            f"Of {len(self.tried)} weightings the best has a mean objective of "
            f"{self.score:.4g}, against {self.start:.4g} with equal weights. Calibrate "
            "it on other rows: the choice is then free."
        )

    def to_pandas(self) -> pd.DataFrame:
        """One row a weighting that was tried."""
        import pandas as pd

        columns = [f"weight {j}" for j in range(len(self.weights))]
        table = pd.DataFrame([list(w) for w, _ in self.tried], columns=columns)
        return table.assign(score=[score for _, score in self.tried])

    def __repr__(self) -> str:
        return f"WeightChoice: {self.sentence}"


def choose_weights(
    policy_of: Callable[[Array], Any],
    size: int,
    X: Table,
    Y: Outcome,
    alpha: float = 0.1,
    *,
    by: str = "certified",
    guarantee: str | Guarantee = "marginal",
    sweeps: int = 3,
    folds: int = 5,
    n_jobs: int | None = None,
    progress: bool = False,
) -> WeightChoice:
    """Weights at which decisions cost least once they keep their promise.

    Parameters
    ----------
    policy_of : function from an array of `size` positive weights to a policy
        Weights may be a loss's (`sl.losses.Squared(weights=...)`), or factors of the
        budgets of several LossSets, one a constraint.
    size : int, number of weights
    X, Y : contexts and outcomes that trained nothing and will calibrate nothing
    alpha, by, guarantee, folds, n_jobs : as for `choose`
    sweeps : int from 1 to 3
        Passes over the weights: by factors of 4, then 2, then 1.4. A pass looks at
        2 (size - 1) policies or more.
    progress : bool, default False
        Whether to show a bar of the policies that are tried, on a terminal or in a
        notebook. Their number grows where a weight goes on paying.

    Examples
    --------
    >>> import cvxpy as cp, sublevel as sl
    >>> rng = np.random.default_rng(0)
    >>> Y = 10.0 + rng.normal(size=(200, 2)) * [1.0, 5.0]
    >>> X = np.zeros((200, 1))
    >>> need, have = sl.Uncertain(2, name="need"), cp.Variable(2)
    >>> def policy_of(weights):
    ...     loss = sl.losses.Squared(weights=weights)
    ...     sets = sl.LossSet(lambda X: np.full((len(X), 2), 10.0), loss)
    ...     goal = cp.Minimize(cp.sum(have))
    ...     return sl.RobustProblem(goal, [have >= need], {need: sets}).compile()
    >>> choice = sl.choose_weights(policy_of, 2, X[:100], Y[:100], alpha=0.1)
    >>> bool(choice.weights[1] > 4), bool(choice.score < choice.start)
    (True, True)
    """
    owner = "choose_weights"
    require_level(owner, alpha=alpha)
    if not is_whole(size, 1) or not is_whole(sweeps, 1) or sweeps > len(STEPS):
        raise InvalidParameter(
            "choose_weights(size=..., sweeps=...) must be whole numbers of at least 1, "
            f"sweeps at most {len(STEPS)}, got {size!r} and {sweeps!r}."
        )
    if by not in CRITERIA:
        raise InvalidParameter(
            f"choose_weights(by=...) must be one of {CRITERIA}, got {by!r}."
        )
    require_bool(owner, progress=progress)
    tried: dict[tuple[float, ...], float] = {}

    def cost(weights: Array) -> float:
        key = tuple(weights.tolist())
        if key not in tried:
            policy = policy_of(weights)
            seen = crossed(policy, X, Y, alpha, guarantee, folds, n_jobs)
            sense = sense_of({"policy": policy})
            column = compared({"policy": seen}, by, sense)["policy"]
            # A context without a decision is no bargain: few of them weigh a lot.
            everywhere = seen.at_alpha.decided.all()
            tried[key] = float(column.mean()) if everywhere else np.inf
        return tried[key]

    trials = 1 + 2 * sweeps * (size - 1)
    with Bar(trials, "policies") if progress else nullcontext() as bar:
        best, start, least = _descend(cost, size, sweeps, bar)
    policy = policy_of(best)
    sense = sense_of({"policy": policy})
    if isinstance(policy, RemembersChoice):
        policy = policy.chosen_on(X, Y)
    looked = tuple((key, sense * value) for key, value in tried.items())
    return WeightChoice(best, policy, sense * least, sense * start, looked)


def _descend(
    cost: Callable[[Array], float], size: int, sweeps: int, bar: Bar | None
) -> tuple[Array, float, float]:
    """The best weights, what equal ones cost, and what they do."""

    def tried(weights: Array) -> float:
        value = cost(weights)
        if bar is not None:
            bar.advance(1)
        return value

    best = np.ones(size)
    start = least = tried(best)
    for factor in STEPS[:sweeps]:
        for j in range(1, size):
            for step in (factor, 1 / factor):
                trial = best * np.where(np.arange(size) == j, step, 1.0)
                while _is_less(value := tried(trial), least):
                    best, least = trial, value
                    trial = best * np.where(np.arange(size) == j, step, 1.0)
                    if bar is not None:
                        bar.expect(1)
    return best, start, least


def _is_less(value: float, least: float) -> bool:
    """By more than solvers resolve; otherwise the weights at hand stay."""
    return least - value > RESOLVED * abs(value)
