"""An upper bound on what a fixed policy's decisions will cost."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np

from ...checks import Array
from ...errors import CertificateVoid, InvalidParameter
from ...guarantees.certificate import Certificate
from ...guarantees.post_decision import CostBound, certify_cost
from ...predictions import count_rows
from .known import Known, know
from .reading import Reading, read
from .realised import is_decided, realise
from .standing import Standing, standing

#: Least spread of a cost, relative to the cost.
LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class CertifiedCost:
    """Bounds on the realised objective of a policy's decisions.

    Attributes
    ----------
    policy : the policy as it was when certified
    bound : CostBound, of the cost (minus the objective, where that is maximised) in
        units of what the policy itself expected
    standing : what decisions depended on when they were certified
    certificate : what is promised
    """

    policy: Any
    bound: CostBound
    standing: Standing

    @property
    def certificate(self) -> Certificate:
        """What is promised of the bounds."""
        return self.bound.certificate

    def at(self, X: Any, decisions: Any = None, n_jobs: int | None = None) -> Array:
        """The bound at every row of X, shape (n,); nan where there is no decision.

        The objective will be at most this where it is minimised, at least this where
        it is maximised. All nan, with a warning, once the decision rule has changed.

        Parameters
        ----------
        X : covariates of n contexts
        decisions : the policy's decisions there, if they are known already
        n_jobs : workers for the solves
        """
        changed = self.standing.changed(self.policy)
        if changed is not None:
            warnings.warn(
                f"The bound on costs is void: {changed} since it was certified. "
                "Certify the policy again.",
                CertificateVoid,
                stacklevel=2,
            )
            return np.full(1 if X is None else count_rows(X), np.nan)
        if decisions is None:
            decisions = self.policy.decide(X, n_jobs=n_jobs)
        points = _points(self.policy, X)
        rows = np.flatnonzero(is_decided(decisions))
        expected, spread = _expected(read(self.policy.problem), decisions, points, rows)
        found = np.full(len(decisions), np.nan)
        sense = _sense(self.policy.problem)
        found[rows] = sense * self.bound.at(sense * expected, spread)
        return found


def certify(
    policy: Any, X: Any, Y: Any, alpha: float, delta: float | None, n_jobs: int | None
) -> CertifiedCost:
    """Calibrate a bound on costs.

    The cost is expected to be what it is at the prediction, and may be off by as much
    as the policy feared: the certified objective less that. Contexts without a
    decision cost nothing; the promise is about those with one.
    """
    if not policy.problem._has_uncertain_objective:
        raise InvalidParameter(
            "Policy.certify() bounds an uncertain objective, and this one is known "
            "when the decision is taken."
        )
    known = know(policy, X, Y, "Policy.certify", unseen=True)
    decisions = policy.decide(X, n_jobs=n_jobs)
    reading = read(policy.problem)
    happened = realise(reading, decisions, known.outcomes)
    rows = np.flatnonzero(happened.decided)
    if not rows.size:
        raise InvalidParameter(
            "Policy.certify(X, Y) must have contexts with a decision, got none: "
            f"{decisions!r}."
        )
    expected, spread = _expected(reading, decisions, known.points(), rows)
    sense = _sense(policy.problem)
    costs = sense * happened.objective[rows]
    found = certify_cost(costs, sense * expected, spread, alpha, delta)
    certificate = replace(found.certificate, guarantee="CertifiedCost")
    told = replace(found, certificate=certificate)
    return CertifiedCost(copy.copy(policy), told, standing(policy, X))


def _expected(
    reading: Reading, decisions: Any, points: list[Array], rows: Any
) -> tuple[Array, Array]:
    """What decisions cost if the predictions come true, and how far off that is."""
    values = {v.id: decisions.value(v)[rows] for v in reading.variables}
    expected, _ = reading.objective(values, [point[rows] for point in points])
    feared = np.abs(decisions.objective[rows] - expected)
    # A fallback fears nothing that is known; any fixed spread will do.
    feared = np.where(np.isnan(feared), 1 + np.abs(expected), feared)
    return expected, np.maximum(feared, LEAST * (1 + np.abs(expected)))


def _points(policy: Any, X: Any) -> list[Array]:
    sources, keys = policy._given(), list(policy.problem.uncertainty)
    batches = [
        source.predict_set(X, budget=1.0) if hasattr(source, "predict_set") else None
        for source in sources
    ]
    rows = [batch for batch in batches if batch is not None]
    n = len(rows[0]) if rows else 1
    blank = [np.empty((n, sum(p.size for p in key))) for key in keys]
    return Known(keys, sources, batches, blank).points()


def _sense(problem: Any) -> float:
    return 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0
