"""How a model with integer variables is solved."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ....checks import briefly, is_whole, require_bool, require_level, require_positive
from ....errors import InvalidParameter

#: Gaps up to this are exact: what one solve leaves behind may start another.
EXACT = 1e-6


@dataclass(frozen=True)
class Integers:
    """How to solve with integer variables: `problem.solve(X, engine=Integers(...))`.

    The counterpart is a cone program with integers. A tree of linear programs around it
    is searched, each cut where its solution leaves a cone; where that takes too many
    nodes, HiGHS goes on with branch and bound on a polyhedron.

    Parameters
    ----------
    gap : float, default 1e-6
        Relative gap between objective and bound at which a decision is "optimal".
    time_limit : float, default inf
        Seconds by the clock for one context. When they have passed, the decision is
        the best robust one so far, "stopped_early", and its `bound` is one that no
        robust decision beats; without one the status is "out_of_time".
    max_rounds : int, default 100
        How often branch and bound may run at one context. When they run out the
        status is "stopped_early", or "out_of_rounds" without a decision.
    warm : bool, default True
        Start from what earlier contexts left behind: directions of cuts, which are
        valid for every context, and their integers. Only at a gap of at most 1e-6:
        at a larger one the decision would depend on what was solved before.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import sublevel as sl
    >>> cost, pick = sl.Uncertain(3, name="cost"), cp.Variable(3, boolean=True)
    >>> U = sl.sets.Ellipsoid([1.0, 1.1, 1.2], [0.9, 0.1, 0.1])
    >>> least, two = cp.Minimize(cost @ pick), [cp.sum(pick) == 2]
    >>> problem = sl.RobustProblem(least, two, {cost: U})
    >>> decision = problem.solve(engine=Integers(gap=0.01, time_limit=10))
    >>> decision.status, decision.value(pick), bool(decision.gap <= 0.01)
    ('optimal', array([0., 1., 1.]), True)
    """

    gap: float = EXACT
    time_limit: float = inf
    max_rounds: int = 100
    warm: bool = True

    def __post_init__(self) -> None:
        require_level("Integers", gap=self.gap)
        if self.time_limit != inf:
            require_positive("Integers", time_limit=self.time_limit)
        if not is_whole(self.max_rounds, least=1):
            raise InvalidParameter(
                "Integers(max_rounds=...) must be an integer of at least 1, got "
                f"{briefly(self.max_rounds)}."
            )
        require_bool("Integers", warm=self.warm)

    @property
    def reuses(self) -> bool:
        """Whether a solve may start from what others left behind."""
        return self.warm and self.gap <= EXACT and self.time_limit == inf
