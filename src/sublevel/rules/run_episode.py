"""A rolling loop: decide, see what happens, move on, decide again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import BoolArray
from .behaviour import DECIDED, NO_DECISION, Decide, Violates, as_miss
from .calibrate_rule import require_functions
from .rows import Rows, own, require_outcomes, require_pairs, row_of


@dataclass(frozen=True, eq=False)
class EpisodeRun:
    """What happened in an episode of T steps.

    Attributes
    ----------
    decisions : what was decided at each step; None where nothing was
    states : T + 1 states, from the start to the end
    broken : shape (T,), whether each step violated
    status : shape (T,), "decided" or "no_decision"
    """

    decisions: tuple[Any, ...]
    states: tuple[Any, ...]
    broken: BoolArray
    status: npt.NDArray[np.str_]

    @property
    def violated(self) -> bool:
        """Whether there is any violation in the episode."""
        return bool(self.broken.any())

    def __repr__(self) -> str:
        return f"EpisodeRun({len(self.broken)} steps, {self.broken.sum()} violated)"


def run_episode(
    decide: Decide,
    violates: Violates | None,
    X: Rows,
    Y: Rows,
    level: float,
    *,
    state: object = None,
    context: Callable[[Any, Any], Any] | None = None,
    advance: Callable[[Any, Any, Any], Any] | None = None,
    forbidden: Callable[[Any], Any] | None = None,
) -> EpisodeRun:
    """Run a rule, or a policy, over an episode: it decides anew at every step.

    At each step the rule sees what is known by then, a row of X and the state. It
    decides, the outcome is seen, and the state moves on.

    Parameters
    ----------
    decide : function of (x, level)
        As for `calibrate_rule`; those of a policy are `policy.as_rule()`.
    violates : function of (decision, y), or None
        Whether a step's decision breaks its promise at the step's outcome.
    X, Y : T rows, what is known before each step, and its outcome
    level : the level that all decisions of the episode are taken at
    state : anything, optional
        The state at the start: a charge, a stock.
    context : function of (x, state), optional
        What the rule is shown. Without one, x alone, or the pair (x, state) where
        there is a state.
    advance : function of (state, decision, y), optional
        The next state; the decision is None where there was none.
    forbidden : function of a state, optional
        Whether a state that was reached is a violation: True or False, or a number
        that is above 0 if so.

    Examples
    --------
    >>> import sublevel as sl
    >>> run = sl.run_episode(
    ...     decide=lambda x, reserve: x[0] + reserve - x[1],  # bought
    ...     violates=None,
    ...     X=[3.0, 4.0, 5.0],  # forecasts of demand
    ...     Y=[3.5, 6.0, 4.5],
    ...     level=1.0,
    ...     state=0.0,
    ...     advance=lambda charge, bought, demand: charge + bought - demand,
    ...     forbidden=lambda charge: charge < 0,
    ... )
    >>> run.states, run.broken.tolist(), run.violated
    ((0.0, 0.5, -1.0, 1.5), [False, True, False], True)
    """
    owner = "run_episode"
    given: dict[str, object] = {
        "violates": violates,
        "context": context,
        "advance": advance,
        "forbidden": forbidden,
    }
    asked = {name: value for name, value in given.items() if value is not None}
    require_functions(owner, decide=decide, **asked)
    steps = require_pairs(owner, X, Y)
    require_outcomes(owner, Y)
    # The state may be written to; the next episode starts from the one given.
    state = own(state)
    decisions, states, broken = [], [own(state)], np.zeros(steps, dtype=bool)
    for step in range(steps):
        x, y = row_of(X, step), row_of(Y, step)
        seen = _together(x, state) if context is None else context(x, state)
        decision = decide(seen, level)
        decisions.append(decision)
        if decision is not None and violates is not None:
            broken[step] = as_miss(owner, violates(decision, y)) > 0
        if advance is not None:
            state = advance(state, decision, y)
        states.append(own(state))
        if forbidden is not None:
            broken[step] |= as_miss(owner, forbidden(state)) > 0
    status = [NO_DECISION if d is None else DECIDED for d in decisions]
    return EpisodeRun(tuple(decisions), tuple(states), broken, np.array(status))


def _together(x: object, state: object) -> Any:
    return x if state is None else (x, state)
