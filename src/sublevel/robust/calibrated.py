"""A policy's own calibration, and what it is worth on new data."""

from __future__ import annotations

import copy
import warnings
from math import inf
from typing import Any

import numpy as np

from ..checks import require_level
from ..errors import InfiniteBudget, InvalidParameter
from ..guarantees import PAC, Certificate, Marginal
from .at_budget import AtBudget
from .decision_aware import METHODS, Search, find_level, level_units
from .evaluation import Evaluation, evaluate
from .fallback import as_fallback
from .known import know
from .sets_at import is_predicted

#: Confidence deficit of Learn-then-Test where none is given.
DELTA = 0.05

EVENT = "the decision breaks a constraint or costs more than certified"
_REFERENCES = {
    "envelope": "Order statistics of envelope scores; Lei et al. (2018), Theorem 2.2",
    "learn-then-test": "Angelopoulos et al. (2025), fixed sequence testing",
    "risk": "Angelopoulos et al. (2024), Theorem 1",
}


class Calibrates:
    """What a policy can do with outcomes."""

    _budgets: tuple[float, ...] | None = None
    _fallback: Any = None
    _override: list[Any] | None = None

    def calibrate(
        self,
        X: Any,
        Y: Any,
        alpha: float = 0.1,
        delta: float | None = None,
        *,
        grid: Any = None,
        method: str = "envelope",
        fallback: Any = None,
        n_jobs: int | None = None,
    ) -> Any:
        """Choose the budget so that *decisions* violate with probability <= alpha.

        A violation is a broken uncertain constraint, or an objective worse than
        certified, by more than a relative 1e-6. The budget is never larger, up to one
        step of the grid, than the one at which outcomes leave their sets with
        probability alpha, and usually much smaller. The promise holds for this
        decision rule only: model, problem, solver and fallback.

        Parameters
        ----------
        X, Y : contexts and outcomes that played no part in training or choosing
            anything; Y is a dict by name where several parameters are uncertain
        alpha : float in (0, 1), the violation level
        delta : float in (0, 1), optional
            Confidence deficit: promise alpha for this calibration with confidence
            1 - delta. Otherwise on average over calibrations.
        grid : array of budgets to try, optional
            Must not depend on X and Y. By default all powers of 1.05.
        method : "envelope", "learn-then-test" or "risk"
            Learn-then-Test needs delta (0.05 if not given). "risk" bounds the expected
            size of the worst miss, relative and capped at 1, in place of a probability.
        fallback : dict from variables to values, optional
            What is done where no robust decision exists. Without one such contexts
            have no decision and count as kept.
        n_jobs : int, optional
            Workers for the solves.
        """
        require_level("Policy.calibrate", alpha=alpha)
        if method not in METHODS:
            raise InvalidParameter(
                f"Policy.calibrate(method=...) must be one of {METHODS}, got "
                f"{method!r}."
            )
        if method == "learn-then-test" and delta is None:
            delta = DELTA
        policy: Any = self
        policy._budgets = policy._fallback = None
        known = know(policy, X, Y, "Policy.calibrate")
        action = as_fallback(policy._named_variables(), fallback)
        units = level_units(policy)
        promise = Marginal() if delta is None else PAC(delta)
        rank = promise.rank(len(known), alpha)
        level = inf
        if rank is not None:
            search = Search(policy, known, units, action, n_jobs)
            level = find_level(search, len(known) - rank, alpha, method, grid)
        certificate = _certificate(promise, method, level, alpha, len(known), rank)
        self._settle(units, level, action, certificate)
        return self

    def evaluate(self, X: Any, Y: Any, n_jobs: int | None = None) -> Evaluation:
        """What the policy's decisions are worth at known outcomes.

        Violations with an exact interval, certified and realised objective, and regret
        against someone who knows the outcome.
        """
        return evaluate(self, X, Y, n_jobs)

    def _settle(self, units: Any, level: float, action: Any, certificate: Any) -> None:
        budgets = tuple(unit * level if np.isfinite(level) else inf for unit in units)
        self._budgets, self._fallback = budgets, action
        self.certificate_ = certificate
        predicted = [
            budget
            for budget, source in zip(budgets, self._given(), strict=True)
            if is_predicted(source)
        ]
        self.budget_ = predicted[0] if len(predicted) == 1 else tuple(predicted)
        losses = [parts for parts in self._losses() if parts is not None]  # type: ignore[attr-defined]
        if len(predicted) == 1 and len(losses[0]) == 1:
            self.radius_ = losses[0][0].radius(self.budget_)
        if not np.isfinite(level):
            warnings.warn(certificate.note, InfiniteBudget, stacklevel=3)

    def _sources(self) -> list[Any]:
        """For each key what gives its sets, at the policy's own budget if it has one."""
        if self._override is not None:
            return self._override
        given = self._given()
        if self._budgets is None:
            return given
        return [
            AtBudget(source, budget, self.certificate_)
            if is_predicted(source)
            else source
            for source, budget in zip(given, self._budgets, strict=True)
        ]

    def _given(self) -> list[Any]:
        """For each key its LossSet or set value."""
        raise NotImplementedError

    def _over(self, sources: list[Any], fallback: Any = None) -> Any:
        """The same policy over other sets."""
        found = copy.copy(self)
        found._override, found._fallback = sources, fallback
        return found


def _certificate(
    promise: Any, method: str, level: float, alpha: float, size: int, rank: Any
) -> Certificate:
    pac = isinstance(promise, PAC)
    needed = promise.minimum_sample_size(alpha)
    note = ""
    if rank is None:
        note = (
            f"{size} calibration points cannot support alpha={alpha}: at least "
            f"{needed} are needed."
        )
    elif not np.isfinite(level):
        note = "The fallback itself violates too often: nothing can be certified."
    event = EVENT
    if method == "risk":
        event = "relative size of the worst miss, capped at 1, in expectation"
    return Certificate(
        guarantee="DecisionAware",
        alpha=alpha,
        confidence=1 - promise.delta if pac else None,
        budget=level,
        sample_size=size,
        minimum_sample_size=needed,
        rank=None,
        random="The calibration sample and the new outcome with its context.",
        assumptions=(
            "The calibration contexts and outcomes and the new ones are "
            + ("independent and identically distributed." if pac else "exchangeable."),
            "They had no part in choosing model, loss, problem or grid.",
            "The decision rule stays as calibrated: model, problem, solver, fallback.",
            "Where no decision exists none is taken, unless a fallback is declared.",
        ),
        reference=_REFERENCES[method],
        note=note,
        beta_law=False,
        event=event,
    )
