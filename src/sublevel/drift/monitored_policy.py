"""A policy that is watched, and what is done when its promise is refuted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any, Self

import numpy as np

from ..calibration.certificates import given_certificate
from ..checks import briefly, require_level
from ..errors import InvalidParameter
from ..guarantees import Certificate
from ..predictions import Table
from ..robust.contexts import Contexts
from ..robust.decisions import Decisions
from ..robust.labelled import Outcome
from ..robust.policy import Policy
from ..robust.problem import RobustProblem
from .again import calibrated_on_latest, require_repeatable
from .levels import NEAR, at_level, judged, require_policy
from .monitor import Monitor
from .recent import Recent, require_rows
from .state import count_from, numbers_from, numbers_to, read_state, write_state
from .watched import monitor_of, watched_rows
from .window import require_window

_OWNER = "MonitoredPolicy"
#: Given the latest rows with outcomes, a policy to go on with.
Retrain = Callable[[Any, Any], Policy]


@dataclass(frozen=True)
class Alarm:
    """A promise refuted.

    Attributes
    ----------
    at : number of outcomes seen by then
    outcomes, violations : of the policy that was refuted, those that were watched
    action : what was done: "fallback", "recalibrate" or "retrain"; the first, too,
        where the latest rows left nothing to promise
    """

    at: int
    outcomes: int
    violations: int
    action: str


class MonitoredPolicy:
    """Decides as the policy does, until outcomes refute its promise.

    Every outcome is a bet against the promise; while it holds, the chance of ever
    alarming is at most delta for each policy that is watched, however often one looks.
    Then the fallback takes over, or the policy is calibrated on the latest rows, or a
    function of yours gives another one.

    A promise among the decisions that are taken (`given_decided`) is held against the
    contexts where one was; every other against all contexts, those of all groups
    together. Where groups overlap, let one of them be all contexts: that alpha holds in
    each does not say that it holds in all of them taken together.

    Parameters
    ----------
    policy : Policy, calibrated
    delta : float in (0, 1), default 0.05
        Probability of ever alarming while the promise holds.
    alpha : float in (0, 1), optional
        Violation level to test. By default the promised one; of a promise that holds on
        average over calibrations, the level that this one exceeds with probability
        delta / 2, which is then tested with the other half. To be given where the
        promise is of no such level: the expected miss of method="risk", rows of a
        unit, or `Weighted`.
    on_alarm : "fallback", "recalibrate", or a function of (X, Y)
        "fallback" takes no more robust decisions, only the policy's fallback, or none;
        "recalibrate" calibrates on the latest rows with the guarantee, alpha, delta,
        method, grid and fallback that the policy was calibrated with, and is refused
        where rows that are later cannot carry that promise: `Weighted`, units, and
        levels that were given. A function is given the latest rows and returns a
        calibrated policy.
    window : int, default 500
        How many of the latest rows are kept for it.
    block : int, default 25, as for `Monitor`

    Attributes
    ----------
    policy : the one that decides
    monitor : Monitor of that one
    alarms : tuple of Alarm
    outcomes : how many were seen in all

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, sublevel as sl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 1))
    >>> Y = X + rng.normal(size=(600, 1)) * np.repeat([1.0, 3.0], 300)[:, None]
    >>> demand, stock = sl.Uncertain(name="demand"), cp.Variable(name="stock")
    >>> sets = sl.LossSet(lambda X: X, loss="absolute")
    >>> met = [stock >= demand]
    >>> problem = sl.RobustProblem(cp.Minimize(stock), met, {demand: sets})
    >>> policy = problem.compile().calibrate(X[:200], Y[:200], alpha=0.1, delta=0.1)
    >>> live = sl.drift.MonitoredPolicy(policy, on_alarm="recalibrate", window=100)
    >>> for at in range(200, 600, 20):
    ...     live = live.update(X[at : at + 20], Y[at : at + 20])
    >>> len(live.alarms) > 0, bool(live.policy.budget_ > policy.budget_)
    (True, True)
    """

    def __init__(
        self,
        policy: Policy,
        delta: float = 0.05,
        alpha: float | None = None,
        on_alarm: str | Retrain = "fallback",
        window: int = 500,
        block: int = 25,
    ) -> None:
        _require_calibrated(_OWNER, policy)
        require_level(_OWNER, delta=delta)
        if not (on_alarm in ("fallback", "recalibrate") or callable(on_alarm)):
            raise InvalidParameter(
                f"{_OWNER}(on_alarm=...) must be 'fallback', 'recalibrate', or a "
                f"function of the latest X and Y, got {briefly(on_alarm)}."
            )
        self.delta, self.alpha, self.on_alarm = delta, alpha, on_alarm
        self.window = require_window(_OWNER, window) or 1
        self.block = block
        if on_alarm == "recalibrate":
            require_repeatable(_OWNER, policy)
        self.policy = policy
        self.monitor = self._monitor(policy)
        self.alarms: tuple[Alarm, ...] = ()
        self.outcomes = 0
        self._recent = self._read_off = Recent()
        self._given_up = False

    @property
    def problem(self) -> RobustProblem:
        """The policy's."""
        return self.policy.problem

    @property
    def certificate_(self) -> Certificate:
        """What is promised; nothing once the promise was refuted."""
        if self._given_up:
            return given_certificate((np.inf,))
        return self.policy.certificate_

    def _monitor(self, policy: Policy) -> Monitor:
        """A monitor of what the policy promises."""
        asked = self.alpha, self.delta, self.block
        return monitor_of(_OWNER, policy.certificate_, *asked)

    def decide(self, X: Contexts, n_jobs: int | None = None) -> Decisions:
        """The decision at every row of X; the fallback's once that took over."""
        if self._given_up:
            nothing = at_level(self.policy, np.inf, self.certificate_)
            return nothing.decide(X, n_jobs=n_jobs)
        return self.policy.decide(X, n_jobs=n_jobs)

    def update(self, X: Table, Y: Outcome, decisions: Decisions | None = None) -> Self:
        """Watch outcomes, in the order of their rows; act on an alarm.

        Parameters
        ----------
        X, Y : contexts and their outcomes
        decisions : what was decided there, as `decide` gave it; without, it is decided
            again
        """
        require_rows(f"{_OWNER}.update", X, Y, self._recent)
        taken = self.decide(X) if decisions is None else decisions
        seen = judged(self.policy, taken, X, Y, f"{_OWNER}.update")
        self._recent = self._recent.add(X, Y, self.window)
        before = self.outcomes
        self.outcomes += len(seen.violated)
        if self._given_up:
            return self
        start, rows = self.monitor.outcomes, watched_rows(self.certificate_, seen)
        self.monitor.watch(seen.violated[rows])
        if self.monitor.alarm_at is not None:
            last = int(rows[self.monitor.alarm_at - start - 1])
            self._act(before + last + 1)
        return self

    def _act(self, at: int) -> None:
        """Do what is to be done on an alarm."""
        action, monitor, recent = self.on_alarm, self.monitor, self._recent
        name = action if isinstance(action, str) else "retrain"
        policy: Policy | None = None
        if not isinstance(action, str):
            policy = action(recent.X, recent.Y)
        elif action == "recalibrate":
            policy = calibrated_on_latest(self.policy, recent.X, recent.Y)
            if policy.certificate_.alpha >= 1:
                # The fallback alone is left, and nothing is promised of it.
                name, policy = "fallback", None
        alarm = Alarm(at, monitor.outcomes, monitor.violations, name)
        self.alarms = (*self.alarms, alarm)
        if policy is None:
            self._given_up = True
            return
        self.go_on_with(policy)
        self._read_off = recent if action == "recalibrate" else Recent()

    def go_on_with(self, policy: Policy) -> Self:
        """Decide by another policy from here on, and watch that one.

        Its promise is tested from its own first decision on.
        """
        owner = f"{_OWNER}.go_on_with"
        _require_calibrated(owner, policy)
        if self.on_alarm == "recalibrate":
            require_repeatable(owner, policy)
        monitor = self._monitor(policy)
        self.policy, self.monitor, self._given_up = policy, monitor, False
        self._read_off = Recent()
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write what was seen to a file of JSON, with the latest rows; not the policy.

        Where the level was calibrated anew, so are the rows it was read off.
        """
        budget = self.policy.budget_
        write_state(
            path,
            _OWNER,
            {
                "delta": self.delta,
                "alpha": self.alpha,
                "window": self.window,
                "block": self.block,
                "outcomes": self.outcomes,
                "given_up": self._given_up,
                "monitor": self.monitor.to_dict(),
                "alarms": [vars(alarm) for alarm in self.alarms],
                "budget": numbers_to(np.atleast_1d(np.asarray(budget, float))),
                "rows": self._recent.to_dict(),
                "read_off": self._read_off.to_dict(),
            },
        )

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        policy: Policy,
        on_alarm: str | Retrain = "fallback",
    ) -> MonitoredPolicy:
        """Go on from where `save` left.

        Parameters
        ----------
        path : file name
        policy : Policy
            Calibrated as the one saved. Where that was calibrated anew on an alarm, so
            is this one, on the same rows.
        on_alarm : as for the class: functions are not in the file
        """
        owner = f"{_OWNER}.load"
        state = read_state(path, _OWNER)
        given = (state["delta"], state["alpha"], on_alarm)
        other = cls(policy, *given, state["window"], state["block"])
        other.outcomes = count_from(state["outcomes"])
        other._given_up = bool(state["given_up"])
        other.monitor = Monitor.from_dict(state["monitor"])
        other.alarms = tuple(Alarm(**alarm) for alarm in state["alarms"])
        other._recent = Recent.from_dict(state["rows"])
        read_off = other._read_off = Recent.from_dict(state["read_off"])
        if read_off.size:
            require_repeatable(owner, policy)
            other.policy = calibrated_on_latest(policy, read_off.X, read_off.Y)
        budgets = numbers_from(state["budget"])
        now = np.atleast_1d(np.asarray(other.policy.budget_, float))
        if now.shape != budgets.shape or not np.allclose(now, budgets, rtol=NEAR):
            raise InvalidParameter(
                f"{owner}(policy) must be the policy that was saved, whose budgets are "
                f"{budgets.tolist()}, got one that comes to {now.tolist()}. Calibrate "
                "it as it was, or watch it with a MonitoredPolicy of its own."
            )
        return other

    def __repr__(self) -> str:
        state = "the fallback acts" if self._given_up else repr(self.monitor)
        return f"{_OWNER}({len(self.alarms)} alarms in {self.outcomes}; {state})"


def _require_calibrated(owner: str, policy: Policy) -> None:
    """There must be a promise to watch."""
    require_policy(owner, policy)
    if "certificate_" not in vars(policy):
        raise InvalidParameter(
            f"{owner}(policy) must promise something, got a policy that was not "
            "calibrated. Call policy.calibrate(X, Y, alpha) first."
        )
