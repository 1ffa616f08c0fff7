"""Adaptive conformal inference: a level that learns from its own violations.

    alpha_{t+1} = min(1, alpha_t + gamma (alpha - violated_t))

After T steps the share of violations is at most (alpha_1 + gamma) / (gamma T) above
alpha, whatever the data do, provided that at levels of 0 and below a decision is taken
that cannot violate. It may be less: a decision without any protection need not violate,
so the level stops at 1 rather than to run up a debt that is paid in violations once the
world changes. This is about the long run only: nothing is promised of a single step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import (
    Array,
    as_numbers,
    as_vector,
    briefly,
    is_answer,
    is_number,
    require_level,
    require_positive,
)
from ..errors import InvalidParameter
from .state import count_from, numbers_from, numbers_to, reading
from .window import latest, require_window


class Adaptive:
    """A budget that rises after violations and falls while there are none.

    Parameters
    ----------
    scores : array of shape (N,)
        Calibration losses, `LossSet.scores_`, say; new ones may be added.
    alpha : float in (0, 1), the violation level to keep in the long run
    gamma : float, default 0.02
        Step: larger follows faster and wanders more.
    window : int, optional
        How many scores are kept, the latest ones; all of them by default.

    Attributes
    ----------
    level : present violation level, alpha_t
    violations, steps : what was seen so far

    References
    ----------
    Gibbs and Candes (2021), Proposition 4.1.

    Examples
    --------
    >>> adaptive = Adaptive(np.arange(1.0, 100.0), alpha=0.1)
    >>> adaptive.budget
    90.0
    >>> adaptive.update(violated=True).budget
    92.0
    """

    def __init__(
        self,
        scores: npt.ArrayLike,
        alpha: float,
        gamma: float = 0.02,
        window: int | None = None,
    ) -> None:
        require_level("Adaptive", alpha=alpha)
        require_positive("Adaptive", gamma=gamma)
        self.window = require_window("Adaptive", window)
        given = as_numbers("Adaptive", "scores", scores)
        # An outcome that no level covers has a score of inf, and counts.
        as_vector("Adaptive", "scores", np.where(np.isposinf(given), 0.0, given))
        self._scores: Array = latest(given.ravel(), self.window)
        self.alpha, self.gamma = float(alpha), float(gamma)
        self.level = float(alpha)
        self.violations = self.steps = 0

    @property
    def scores(self) -> Array:
        """The scores in the order in which they came, shape (n,)."""
        return self._scores.copy()

    @property
    def budget(self) -> float:
        """The budget for the next context.

        inf asks for a decision that cannot violate; -inf for no protection at all.
        """
        n = len(self._scores)
        if self.level >= 1:
            return -np.inf
        rank = int(np.ceil(round((n + 1) * (1 - self.level), 9)))
        if rank > n:
            return np.inf
        return float(np.partition(self._scores, rank - 1)[rank - 1])

    def update(self, violated: object, score: float | None = None) -> Adaptive:
        """Learn from one step.

        Parameters
        ----------
        violated : whether the deployed decision violated
        score : loss of the new outcome, to be added to the scores, optional
        """
        if not is_answer(violated):
            raise InvalidParameter(
                f"Adaptive.update(violated=...) must be true or false, got "
                f"{briefly(violated)}."
            )
        if score is not None and not (is_number(score) and not np.isnan(score)):
            raise InvalidParameter(
                "Adaptive.update(score=...) must be a number, got "
                f"{briefly(score)}. Leave it out where the outcome is not known."
            )
        raised = self.level + self.gamma * (self.alpha - float(bool(violated)))
        self.level = min(1.0, raised)
        self.violations += int(bool(violated))
        self.steps += 1
        if score is not None:
            every = np.append(self._scores, float(score))
            self._scores = latest(every, self.window)
        return self

    @property
    def bound(self) -> float:
        """By how much the share of violations can be above alpha so far."""
        if not self.steps:
            return 1.0
        slack = self.alpha + self.gamma
        return min(1.0, slack / (self.gamma * self.steps))

    def to_dict(self) -> dict[str, Any]:
        """All of its state as plain JSON values.

        Examples
        --------
        >>> state = Adaptive([1.0, 2.0, 3.0], alpha=0.5).update(True).to_dict()
        >>> Adaptive.from_dict(state)
        Adaptive(alpha=0.5, level=0.49, 1 violations in 1 steps)
        """
        return {
            "alpha": self.alpha,
            "gamma": self.gamma,
            "window": self.window,
            "level": self.level,
            "violations": self.violations,
            "steps": self.steps,
            "scores": numbers_to(self._scores),
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Adaptive:
        """As it was when `to_dict` was called."""
        with reading("Adaptive.from_dict"):
            other = cls(
                numbers_from(state["scores"]),
                state["alpha"],
                state["gamma"],
                state["window"],
            )
            other.level = float(state["level"])
            other.violations = count_from(state["violations"])
            other.steps = count_from(state["steps"])
        return other

    def __repr__(self) -> str:
        return (
            f"Adaptive(alpha={self.alpha:g}, level={self.level:.4g}, "
            f"{self.violations} violations in {self.steps} steps)"
        )
