"""A policy's own calibration."""

from __future__ import annotations

import warnings
from math import isinf
from typing import Any

import numpy as np

from ...checks import Array
from ...errors import InfiniteBudget, InvalidParameter
from ..calibrating.at_budget import AtBudget
from ..calibrating.promised import given_certificate
from ..calibrating.settling import Settled, Wish, begin, settle
from ..modelling.sets_at import is_predicted, named
from .settles import Settles


class Calibrates(Settles):
    """What a policy can do with outcomes before it is deployed."""

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
        weights: Any = None,
        n_jobs: int | None = None,
    ) -> Any:
        """Choose the budget so that *decisions* violate with probability <= alpha.

        A violation is a broken uncertain constraint, or an objective worse than
        certified, by more than a relative 1e-6. The budget is never larger, up to one
        step of the grid, than the one at which outcomes leave their sets with
        probability alpha, and usually much smaller. The promise holds for this
        decision rule and population only: if the model predicts something else, or an
        ordinary parameter is changed, decisions come without a certificate. Data that
        vary from context to context belong to X.

        Parameters
        ----------
        X, Y : contexts and outcomes that played no part in training or choosing
            anything; Y is a dict by name where several parameters are uncertain
        alpha : float in (0, 1), the violation level
        delta : float in (0, 1), optional
            Confidence deficit: promise alpha for this calibration with confidence
            1 - delta. Otherwise on average over calibrations.
        grid : array of budgets to try, optional
            Must not depend on X and Y. By default all powers of 1.05. Of several
            LossSets: factors of the budgets they were calibrated to.
        method : "envelope", "learn-then-test" or "risk"
            Learn-then-Test needs delta (0.05 if not given). "risk" bounds the expected
            size of the worst miss, relative and capped at 1, in place of a probability.
        fallback : dict from variables to values, optional
            What is done where no robust decision exists. Without one such contexts
            have no decision and count as kept. The fallback counts as it turns out;
            without a grid also at budgets so large that it is all that is left.
        weights : callable, optional
            From X of n rows to n weights: how much likelier each context is where the
            policy is deployed than where X was drawn. Every context then has a budget
            of its own.
        n_jobs : int, optional
            Workers for the solves.
        """
        wish = Wish(alpha, delta, grid, method, fallback, weights, n_jobs)
        self._take(settle(self, X, Y, wish))
        certificate = self.certificate_
        if isinf(certificate.budget) and weights is None:
            warnings.warn(certificate.note, InfiniteBudget, stacklevel=2)
        return self

    def envelope_scores(
        self, X: Any, Y: Any, grid: Any = None, n_jobs: int | None = None
    ) -> Array:
        """The least budget from which on decisions keep their word, shape (n,).

        At every larger budget of the grid the decision at the context does not violate
        once its outcome is known. A fixed function of context and outcome: scores that
        any of `sl.guarantees` can calibrate. In units of `calibrate`'s grid; inf where
        the policy's fallback may violate at any budget.
        """
        wish = Wish(0.5, None, grid, fallback=self._fallback, n_jobs=n_jobs)
        search = begin(self, X, Y, wish)
        return search.envelope(lambda above: bool(above.all()))

    def at(self, budget: Any) -> Any:
        """The same policy at a given budget; nothing is promised of its decisions.

        Parameters
        ----------
        budget : float, or dict by name where several parameters have LossSets
            inf asks for decisions that cannot violate, of which there are none but
            the fallback's; the least loss and below for no protection.
        """
        given, keys = self._given(), list(self.problem.uncertainty)
        names = [named(k) for k, s in zip(keys, given, strict=True) if is_predicted(s)]
        budgets = _budgets(budget, names)
        certificate = given_certificate(tuple(budgets.values()))
        sources = [
            AtBudget(source, budgets[named(key)], certificate)
            if is_predicted(source)
            else source
            for key, source in zip(keys, given, strict=True)
        ]
        told = tuple(budgets[name] for name in names)
        return self._settling(Settled(sources, told, self._fallback, certificate))


def _budgets(budget: Any, names: list[str]) -> dict[str, float]:
    found = budget if isinstance(budget, dict) else dict.fromkeys(names, budget)
    fits = isinstance(budget, dict) or len(names) == 1
    numbers = all(_is_number(value) for value in found.values())
    if not (fits and numbers and set(found) == set(names)):
        raise InvalidParameter(
            f"Policy.at(budget) must be a number where one LossSet is used, or a dict "
            f"with a number for each of {names}, got {budget!r}."
        )
    return {name: float(value) for name, value in found.items()}


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating)
    return number and not isinstance(value, bool) and not np.isnan(value)
