"""A sequential test of a promised violation level, valid at every moment.

Against "each violation has probability at most alpha" the likelihood ratio of any
higher rate is a bet whose expected gain is not positive. A mixture over all higher
rates, and over all moments at which the trouble may have begun, is such a bet too, so
that it ever exceeds 1 / delta has probability at most delta (Ville's inequality). One
may look after every outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from scipy.special import betaincc, betaln

from ..checks import Array, briefly, is_answer, is_whole, require_level
from ..errors import InvalidParameter
from .state import count_from, numbers_from, numbers_to, reading

#: Bets kept, and how many of them are too young to be judged.
MOST_BETS, YOUNG = 200, 50
#: What is kept of each bet.
_BETS = ("_start", "_seen", "_hit")


class Monitor:
    """Watches realised violations; alarms with a false-alarm rate of at most delta.

    Parameters
    ----------
    alpha : float in (0, 1), the violation level promised
    delta : float in (0, 1), default 0.05
        Probability of ever alarming while the promise holds.
    block : int, default 25
        Trouble is looked for as beginning after every so many outcomes.

    Attributes
    ----------
    outcomes, violations : how many were seen
    alarm_at : number of outcomes at which the alarm was raised, or None

    References
    ----------
    Ville (1939); Ramdas, Grunwald, Vovk and Shafer (2023) for betting; Shin, Ramdas
    and Rinaldo (2024) for mixtures over change points.

    Examples
    --------
    >>> monitor = Monitor(alpha=0.1)
    >>> monitor.watch([False] * 50 + [True] * 12).alarm
    True
    >>> monitor.alarm_at
    53
    """

    def __init__(self, alpha: float, delta: float = 0.05, block: int = 25) -> None:
        require_level("Monitor", alpha=alpha, delta=delta)
        if not is_whole(block, least=1):
            raise InvalidParameter(
                f"Monitor(block=...) must be a whole number of at least 1, got "
                f"{block!r}."
            )
        self.alpha, self.delta, self.block = float(alpha), float(delta), block
        self.outcomes = self.violations = 0
        self.alarm_at: int | None = None
        self._start = np.zeros(0)
        self._seen = np.zeros(0)
        self._hit = np.zeros(0)

    def watch(self, violated: Iterable[Any] | Any) -> Monitor:
        """Take in one outcome, or several in their order."""
        masked = isinstance(violated, np.ma.MaskedArray)
        try:
            answers = np.asarray(None if masked else violated).ravel().tolist()
        except (TypeError, ValueError):
            answers = [violated]
        for value in answers:
            if not is_answer(value):
                raise InvalidParameter(
                    "Monitor.watch(violated) must be true or false, got "
                    f"{'masked entries' if masked else briefly(value)}. Leave out "
                    "contexts without an outcome."
                )
        for value in answers:
            self._step(bool(value))
        return self

    def _step(self, violated: bool) -> None:
        if self.outcomes % self.block == 0:
            self._start = np.append(self._start, self.outcomes // self.block + 1.0)
            self._seen = np.append(self._seen, 0.0)
            self._hit = np.append(self._hit, 0.0)
            self._forget()
        self._seen += 1
        self._hit += violated
        self.outcomes += 1
        self.violations += violated
        if self.alarm_at is None and self.evidence >= 1 / self.delta:
            self.alarm_at = self.outcomes

    def _forget(self) -> None:
        """Give up the least promising bet, so that a step costs the same for ever.

        Money thrown away makes an alarm rarer, never a false one more likely. What is
        young is left alone.
        """
        if len(self._start) <= MOST_BETS:
            return
        least = int(np.argmin(self._stakes()[:-YOUNG]))
        for name in _BETS:
            vars(self)[name] = np.delete(vars(self)[name], least)

    def _stakes(self) -> Array:
        """Log of the wealth of each bet."""
        # The weights 1 / (s (s + 1)) add up to 1; what is not yet placed is kept.
        weight = -np.log(self._start) - np.log(self._start + 1)
        return np.asarray(weight + self._log_ratio(self._seen, self._hit))

    @property
    def alarm(self) -> bool:
        """Whether the promise was ever refuted at confidence 1 - delta."""
        return self.alarm_at is not None

    @property
    def evidence(self) -> float:
        """Wealth of the bet against the promise: 1 at the start, 1 / delta alarms."""
        if not len(self._seen):
            return 1.0
        placed = np.logaddexp.reduce(self._stakes())
        kept = -np.log(self._start[-1] + 1.0)
        return float(np.exp(min(np.logaddexp(placed, kept), 700.0)))

    def _log_ratio(self, seen: Array, hit: Array) -> Array:
        """Log of the likelihood, averaged over all rates above alpha, to that of
        alpha.
        """
        miss = seen - hit
        with np.errstate(divide="ignore"):
            above = np.log(betaincc(hit + 1, miss + 1, self.alpha))
        average = betaln(hit + 1, miss + 1) + above - np.log1p(-self.alpha)
        null = hit * np.log(self.alpha) + miss * np.log1p(-self.alpha)
        return np.asarray(average - null)

    @property
    def interval(self) -> tuple[float, float]:
        """The violation rate, if it has not changed: right at all moments at once with
        probability 1 - delta.
        """
        hit, miss = self.violations, self.outcomes - self.violations
        if not self.outcomes:
            return 0.0, 1.0
        target = betaln(hit + 1, miss + 1) + np.log(self.delta)
        mode = hit / self.outcomes

        def inside(p: float) -> bool:
            with np.errstate(divide="ignore"):
                spent = (hit * np.log(p) if hit else 0.0) + (
                    miss * np.log1p(-p) if miss else 0.0
                )
            return bool(spent > target)

        return _end(0.0, mode, inside), _end(1.0, mode, inside)

    def to_dict(self) -> dict[str, Any]:
        """All of its state as plain JSON values.

        Examples
        --------
        >>> state = Monitor(alpha=0.1).watch([True, False]).to_dict()
        >>> Monitor.from_dict(state).watch([True] * 9).alarm
        True
        """
        bets = {name: numbers_to(vars(self)[name]) for name in _BETS}
        return {
            "alpha": self.alpha,
            "delta": self.delta,
            "block": self.block,
            "outcomes": self.outcomes,
            "violations": self.violations,
            "alarm_at": self.alarm_at,
            **bets,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Monitor:
        """As it was when `to_dict` was called."""
        with reading("Monitor.from_dict"):
            other = cls(state["alpha"], state["delta"], state["block"])
            other.outcomes = count_from(state["outcomes"])
            other.violations = count_from(state["violations"])
            alarm = state["alarm_at"]
            other.alarm_at = None if alarm is None else count_from(alarm)
            for name in _BETS:
                vars(other)[name] = numbers_from(state[name])
            if len({len(vars(other)[name]) for name in _BETS}) > 1:
                raise ValueError("bets of different lengths")
        return other

    def __repr__(self) -> str:
        low, high = self.interval
        state = f"ALARM at {self.alarm_at}" if self.alarm else "no alarm"
        return (
            f"Monitor(alpha={self.alpha:g}: {self.violations} violations in "
            f"{self.outcomes}, rate in [{low:.3g}, {high:.3g}], {state})"
        )


def _end(outside: float, inner: float, inside: Callable[[float], bool]) -> float:
    """Where an interval around `inner` ends towards `outside`, by bisection."""
    for _ in range(60):
        middle = (outside + inner) / 2
        outside, inner = (outside, middle) if inside(middle) else (middle, inner)
    return outside
