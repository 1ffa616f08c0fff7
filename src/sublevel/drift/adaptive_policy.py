"""A policy whose level follows its own violations."""

from __future__ import annotations

from os import PathLike
from typing import Self

import numpy as np
import numpy.typing as npt

from ..calibration.wording import DECISIONS
from ..guarantees import Certificate
from ..predictions import Table, count_rows
from ..robust.contexts import Contexts
from ..robust.decisions import Decisions
from ..robust.labelled import Outcome
from ..robust.policy import Policy
from ..robust.problem import RobustProblem
from .adaptive import Adaptive
from .levels import (
    PROBES,
    at_level,
    judged,
    probes_from,
    probes_to,
    require_policy,
    row_of,
    score_rows,
)
from .recent import Recent, require_rows
from .state import read_state, write_state


class AdaptivePolicy:
    """Decides at the level of the moment; outcomes move it.

    After a violation the level falls, and decisions are more careful; without one it
    rises. After T steps the share of violations is at most alpha + bound, whatever the
    world does, if where no robust decision is left (a level of 0) nothing is done, or a
    fallback that cannot violate. Of a single step nothing is promised. Alpha is the
    one given here, a share of violations, however the policy itself was calibrated.

    Parameters
    ----------
    policy : Policy, with its fallback, if it was calibrated with one
    X, Y : rows with outcomes to begin with, those it was calibrated on, say
    alpha : float in (0, 1), the violation level to keep in the long run
    gamma : float, default 0.02
        Step: larger follows faster and wanders more.
    window : int, optional
        How many of the latest rows levels are read from; all by default.
    grid : as for `Policy.calibrate`

    Attributes
    ----------
    policy : as given
    adaptive : Adaptive, which has the level and its steps

    References
    ----------
    Gibbs and Candes (2021), Proposition 4.1.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, sublevel as sl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(160, 1))
    >>> Y = X + rng.normal(size=(160, 1)) * np.repeat([1.0, 4.0], 80)[:, None]
    >>> demand, stock = sl.Uncertain(name="demand"), cp.Variable(name="stock")
    >>> sets = sl.LossSet(lambda X: X, loss="absolute")
    >>> met = [stock >= demand]
    >>> problem = sl.RobustProblem(cp.Minimize(stock), met, {demand: sets})
    >>> policy = problem.compile().calibrate(X[:60], Y[:60], alpha=0.2)
    >>> live = sl.drift.AdaptivePolicy(policy, X[:60], Y[:60], alpha=0.2, gamma=0.1)
    >>> round(policy.evaluate(X[60:], Y[60:]).violation, 2)
    0.31
    >>> live.update(X[60:], Y[60:]).adaptive.violations
    21
    """

    def __init__(
        self,
        policy: Policy,
        X: Table,
        Y: Outcome,
        alpha: float = 0.1,
        gamma: float = 0.02,
        window: int | None = None,
        grid: npt.ArrayLike | None = None,
    ) -> None:
        require_policy("AdaptivePolicy", policy)
        # Complaints about numbers come before any solve.
        Adaptive([0.0], alpha, gamma, window)
        scores = score_rows(policy, X, Y, grid, alpha)
        self.policy, self.grid = policy, grid
        self.adaptive = Adaptive(scores, alpha, gamma, window)
        self._probes = Recent().add(X, Y, PROBES)

    @property
    def problem(self) -> RobustProblem:
        """The policy's."""
        return self.policy.problem

    @property
    def budget_(self) -> float:
        """The level of the moment, in units of the policy's envelope scores."""
        return self.adaptive.budget

    @property
    def certificate_(self) -> Certificate:
        """What is promised of all steps together."""
        adaptive = self.adaptive
        acts = self.policy.has_fallback
        safe = (
            "Where no robust decision exists the fallback acts, and does not violate."
            if acts
            else "Where no robust decision exists nothing is done."
        )
        return Certificate(
            guarantee="Adaptive",
            alpha=adaptive.alpha,
            confidence=None,
            budget=adaptive.budget,
            sample_size=len(adaptive.scores),
            minimum_sample_size=0,
            rank=None,
            random="Nothing: it holds for every sequence of outcomes.",
            assumptions=(
                "Each decision is taken at the level that all outcomes before it left.",
                safe,
                DECISIONS.promises,
            ),
            reference="Gibbs and Candes (2021), Proposition 4.1",
            note=(
                f"At level {adaptive.level:.4g} after {adaptive.violations} violations "
                f"in {adaptive.steps} steps."
            ),
            beta_law=False,
            event=DECISIONS.always if acts else DECISIONS.event,
            measure="as a share of all steps",
            holds=(
                f"plus {adaptive.alpha + adaptive.gamma:g} / ({adaptive.gamma:g} T) "
                "after T steps; nothing is promised of a single one"
            ),
        )

    def decide(self, X: Contexts, n_jobs: int | None = None) -> Decisions:
        """The decision at every row of X, at the level of the moment."""
        return self._now().decide(X, n_jobs=n_jobs)

    def update(self, X: Table, Y: Outcome, decisions: Decisions | None = None) -> Self:
        """Learn from outcomes, in the order of their rows.

        Parameters
        ----------
        X, Y : contexts and their outcomes
        decisions : what was decided there, as `decide` gave it; without, each row is
            decided at the level that the rows before it left
        """
        owner = "AdaptivePolicy.update"
        require_rows(owner, X, Y, self._probes)
        alpha = self.adaptive.alpha
        level = float(np.quantile(self.adaptive.scores, 1 - alpha, method="higher"))
        scores = score_rows(self.policy, X, Y, self.grid, alpha, level)
        taken = None
        if decisions is not None:
            taken = judged(self.policy, decisions, X, Y, owner).violated
        for at in range(count_rows(X)):
            if taken is not None:
                violated = bool(taken[at])
            else:
                x, y = row_of(X, Y, at)
                now = judged(self.policy, self.decide(x), x, y, owner)
                violated = bool(now.violated[0])
            self.adaptive.update(violated, float(scores[at]))
        self._probes = self._probes.add(X, Y, PROBES)
        return self

    def _now(self) -> Policy:
        return at_level(self.policy, self.adaptive.budget, self.certificate_)

    def save(self, path: str | PathLike[str]) -> None:
        """Write level, steps and scores to a file of JSON; not the policy."""
        state = self.adaptive.to_dict()
        probes = probes_to(self._probes, self.policy)
        grid = None if self.grid is None else np.asarray(self.grid, float).tolist()
        write_state(
            path, "AdaptivePolicy", {"adaptive": state, "probes": probes, "grid": grid}
        )

    @classmethod
    def load(cls, path: str | PathLike[str], policy: Policy) -> AdaptivePolicy:
        """Go on from where `save` left, with the same policy.

        The policy is made as it was, by its problem; that it is the same is seen by
        the scores of the latest rows.
        """
        require_policy("AdaptivePolicy.load", policy)
        state = read_state(path, "AdaptivePolicy")
        other = cls.__new__(cls)
        other.policy, other.grid = policy, state["grid"]
        other.adaptive = Adaptive.from_dict(state["adaptive"])
        owner = "AdaptivePolicy.load"
        other._probes = probes_from(state["probes"], policy, owner)
        return other

    def __repr__(self) -> str:
        now = self.adaptive
        return (
            f"AdaptivePolicy(alpha {now.alpha:g}, level {now.level:.4g}, budget "
            f"{now.budget:.4g}, {now.violations} violations in {now.steps} steps)"
        )
