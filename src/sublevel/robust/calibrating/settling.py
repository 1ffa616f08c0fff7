"""From calibration data to the sets a policy decides with, and their certificate."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from math import inf, isinf
from typing import Any

import numpy as np

from ...checks import require_level
from ...errors import InvalidParameter, SolvesFailed
from ...guarantees import Certificate, Weighted
from ...guarantees.weighted import read_weights
from ..modelling.sets_at import is_predicted
from .at_budget import AtBudget, AtWeightedBudget
from .decision_aware import Search, level_units
from .fallback import as_fallback, exceptions
from .known import know
from .levels import as_levels
from .promised import (
    EVENT,
    RULE,
    UNDECIDED,
    decision_certificate,
    promise_of,
    with_exceptions,
)
from .reading import read_policy
from .standing import Standing, standing

METHODS = ("envelope", "learn-then-test", "risk")
#: Confidence deficit of Learn-then-Test where none is given.
DELTA = 0.05
OWNER = "Policy.calibrate"


@dataclass(frozen=True, eq=False)
class Wish:
    """What is asked of a calibration; see `Policy.calibrate`."""

    alpha: float
    delta: float | None = None
    grid: Any = None
    method: str = "envelope"
    fallback: Any = None
    weights: Any = None
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        require_level(OWNER, alpha=self.alpha)
        if self.delta is not None:
            require_level(OWNER, delta=self.delta)
        if self.method not in METHODS:
            raise InvalidParameter(
                f"{OWNER}(method=...) must be one of {METHODS}, got {self.method!r}."
            )
        if self.method == "risk" and self.delta is not None:
            raise InvalidParameter(
                f"{OWNER}(method='risk') controls an expectation, on average over "
                f"calibrations, and takes no delta, got delta={self.delta!r}."
            )
        plain = self.method == "envelope" and self.delta is None
        if self.weights is not None and not (plain and self.fallback is None):
            raise InvalidParameter(
                f"{OWNER}(weights=...) goes with method='envelope', without delta and "
                "without a fallback: the promise for shifted contexts is on average, "
                "and of robust decisions only."
            )

    @property
    def confidence_deficit(self) -> float | None:
        """delta, where the method has one."""
        tested = self.method == "learn-then-test"
        return DELTA if tested and self.delta is None else self.delta


@dataclass(frozen=True, eq=False)
class Settled:
    """What a calibration came to.

    Attributes
    ----------
    sources : for each key what gives its sets
    budgets : for each key with a LossSet its budget; of weighted ones at a context of
        median weight
    fallback : what is done where there is no decision, by name, or None
    certificate : what is promised of decisions
    standing : what decisions depended on; None where nothing is promised
    """

    sources: list[Any]
    budgets: tuple[float, ...]
    fallback: Any
    certificate: Certificate
    standing: Standing | None = None


def begin(policy: Any, X: Any, Y: Any, wish: Wish) -> Search:
    """Meet the calibration data and prepare the search for a level."""
    policy = policy._over(policy._given())
    units = level_units(policy._given())
    action = as_fallback(policy._named_variables(), wish.fallback)
    known = know(policy, X, Y, OWNER, unseen=True)
    levels = as_levels(wish.grid, known.signed)
    endless, reading = wish.grid is None, read_policy(policy, known, OWNER)
    return Search(policy, known, reading, units, levels, endless, action, wish.n_jobs)


def settle(policy: Any, X: Any, Y: Any, wish: Wish) -> Settled:
    """Find the level asked for, and certify it."""
    search = begin(policy, X, Y, wish)
    found = _weighted if wish.weights is not None else _common
    settled = found(search, X, wish)
    tally = search.tally
    if tally["failed"]:
        warnings.warn(
            f"{OWNER}: {tally['failed']} of {tally['solves']} decisions could not be "
            "computed, and were counted as violations. Look at the scale of the data, "
            "or try another solver.",
            SolvesFailed,
            stacklevel=4,
        )
    return replace(settled, standing=standing(search.policy, X))


def _common(search: Search, X: Any, wish: Wish) -> Settled:
    """One level for all contexts."""
    del X
    size, delta = len(search.known), wish.confidence_deficit
    rank = promise_of(delta).rank(size, wish.alpha)
    level = inf
    if rank is not None:
        level = _level(search, size - rank, wish)
    certificate = decision_certificate(
        level, wish.alpha, delta, size, wish.method, search.fallback is not None
    )
    broken = exceptions(search.policy.problem, search.fallback)
    return at_level(search, level, with_exceptions(certificate, broken))


def at_level(search: Search, level: float, certificate: Certificate) -> Settled:
    """The sets at a level, under a certificate."""
    given = zip(search.known.sources, search.units, strict=True)
    # An infinite level is no protection that a unit could scale.
    budgets = [
        (inf if isinf(level) else unit * level) if is_predicted(source) else None
        for source, unit in given
    ]
    sources = [
        source if budget is None else AtBudget(source, budget, certificate)
        for source, budget in zip(search.known.sources, budgets, strict=True)
    ]
    told = tuple(budget for budget in budgets if budget is not None)
    return Settled(sources, told, search.fallback, certificate)


def _level(search: Search, allowed: int, wish: Wish) -> float:
    if wish.method == "envelope":
        return search.order_statistic(allowed)
    if wish.method == "learn-then-test":
        return search.tested(allowed)
    return search.controlled(wish.alpha)


def _weighted(search: Search, X: Any, wish: Wish) -> Settled:
    """A level for each context, by its density ratio."""
    promise = Weighted(wish.weights)
    weights = read_weights(wish.weights, X, len(search.known))
    limit = wish.alpha * weights.sum()
    # No context's level is below the weighted quantile of the calibration sample.
    found = search.envelope(lambda above: bool(weights[above].sum() > limit))
    calibration = promise.calibrate(found, wish.alpha, X)
    certificate = replace(
        calibration.certificate,
        guarantee="DecisionAware, Weighted",
        assumptions=(*calibration.certificate.assumptions, RULE, UNDECIDED),
        event=EVENT,
    )
    pairs = list(zip(search.known.sources, search.units, strict=True))
    sources = [
        AtWeightedBudget(source, unit, calibration, certificate)
        if is_predicted(source)
        else source
        for source, unit in pairs
    ]
    typical = np.array([unit for source, unit in pairs if is_predicted(source)])
    budgets = tuple((typical * calibration.budget).tolist())
    return Settled(sources, budgets, None, certificate)
