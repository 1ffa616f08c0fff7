"""What a rule does at one context and level, and what comes of it.

A rule is code of the user's: it may take no decision, and it may fail. Both are a
status of the context, never the end of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..checks import briefly, is_number
from ..errors import InvalidParameter
from .rows import Rows, has_nan, own, require_outcomes, require_pairs

#: Statuses: what the rule decided, what is done in its place, nothing, and an error.
DECIDED, FALLBACK, NO_DECISION, FAILED = (
    "decided",
    "fallback",
    "no_decision",
    "failed",
)

#: From a context and a level to a decision of any kind; None where there is none.
Decide: TypeAlias = Callable[[Any, float], Any]
#: From a decision and an outcome to whether it violates, or by how much.
Violates: TypeAlias = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Action:
    """What is done at a context.

    Attributes
    ----------
    decision : whatever the rule, or the fallback, decided; None if nothing is done
    status : "decided", "fallback", "no_decision" or "failed"
    error : what failed, in words; "" otherwise
    """

    decision: Any
    status: str
    error: str = ""

    @property
    def acts(self) -> bool:
        """Whether something is done."""
        return self.status in (DECIDED, FALLBACK)


@dataclass(frozen=True)
class Look:
    """What a decision did at its outcome.

    Attributes
    ----------
    miss : above 0 a violation, by so much; -inf where nothing is done, inf where the
        rule failed
    decided : whether there was a decision to act on
    error : what failed, in words; "" otherwise
    """

    miss: float
    decided: bool
    error: str = ""


@dataclass(frozen=True, eq=False)
class Behaviour:
    """A rule: how it decides, what counts as a violation, and what is done instead.

    Attributes
    ----------
    owner : who complains
    decide, violates : functions of the user's
    fallback : what is done where the rule takes no decision: a decision, or a function
        of the context; None if nothing is
    whole : whether outcomes are whole episodes, in which nan may mean anything
    """

    owner: str
    decide: Decide
    violates: Violates
    fallback: Any = None
    whole: bool = False

    @property
    def has_fallback(self) -> bool:
        """Whether something is done where the rule takes no decision."""
        return self.fallback is not None

    def require_pairs(self, owner: str, X: Rows, Y: Rows) -> int:
        """How many contexts with outcomes there are, or one sentence what is wrong."""
        if not self.whole:
            require_outcomes(owner, Y)
        return require_pairs(owner, X, Y)

    def act(self, context: object, level: float) -> Action:
        """What is done at a context; nothing but the fallback at an infinite level."""
        if np.isinf(level):
            return self._instead(context)
        try:
            decision = self.decide(context, level)
        except Exception as error:
            return Action(None, FAILED, _in_words(error))
        if decision is not None:
            return _as_action(decision, DECIDED)
        return self._instead(context)

    def look(self, context: object, outcome: object, level: float) -> Look:
        """What is done at a context, judged at its outcome."""
        return self.judge(self.act(context, level), outcome)

    def judge(self, action: Action, outcome: object) -> Look:
        """Whether what is done violates once its outcome is known."""
        if action.status == FAILED:
            return Look(np.inf, False, action.error)
        if not action.acts:
            return Look(-np.inf, False)
        try:
            answer = self.violates(action.decision, outcome)
        except Exception as error:
            return Look(np.inf, False, _in_words(error))
        return Look(as_miss(self.owner, answer), True)

    def _instead(self, context: object) -> Action:
        if not callable(self.fallback):
            if not self.has_fallback:
                return Action(None, NO_DECISION)
            return _as_action(own(self.fallback), FALLBACK)
        try:
            return _as_action(self.fallback(context), FALLBACK)
        except Exception as error:
            return Action(None, FAILED, _in_words(error))


def _as_action(decision: object, status: str) -> Action:
    """What is done; nan is no decision but what a solver that failed leaves."""
    if has_nan(decision):
        return Action(None, FAILED, "the decision has nan, which exceeds nothing")
    return Action(decision, status)


def as_miss(owner: str, answer: Any) -> float:
    """An answer of `violates` as a number that is above 0 where a decision violates.

    Examples
    --------
    >>> as_miss("calibrate_rule", True), as_miss("calibrate_rule", np.array([-0.5]))
    (1.0, -0.5)
    """
    single = answer.item() if _is_one_value(answer) else answer
    if isinstance(single, bool | np.bool_):
        return 1.0 if single else -np.inf
    if is_number(single) and single == single:
        return float(single)
    raise InvalidParameter(
        f"{owner}(violates=...) must return True, False, or one number that is above 0 "
        f"for a violation, got {briefly(answer)}. Say .any() or .max() of several."
    )


def _is_one_value(answer: object) -> bool:
    return isinstance(answer, np.ndarray | np.generic) and answer.size == 1


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
