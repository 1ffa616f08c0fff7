"""An upper bound on what a fixed policy's decisions will cost."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..checks import Array
from ..conic.program import Indices
from ..errors import CertificateVoid, InvalidParameter
from ..guarantees import Certificate, CostBound, certify_cost
from ..predictions import Table, count_rows
from .decisions import Decisions
from .evaluating import realised
from .judge.tape import Leaves
from .labelled import Outcome, label, points_of
from .recognition import Recognition

if TYPE_CHECKING:
    from .policy import Policy

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
    recognition : what decisions depended on when they were certified
    certificate : what is promised
    """

    policy: Policy
    bound: CostBound
    recognition: Recognition

    @property
    def certificate(self) -> Certificate:
        """What is promised of the bounds."""
        return self.bound.certificate

    def at(
        self,
        X: Table | None,
        decisions: Decisions | None = None,
        n_jobs: int | None = None,
    ) -> Array:
        """The bound at every row of X, shape (n,); nan where there is no decision.

        The objective will be at most this where it is minimised, at least this where
        it is maximised. All nan, with a warning, once the decision rule has changed.

        Parameters
        ----------
        X : covariates of n contexts
        decisions : the policy's decisions there, if they are known already
        n_jobs : workers for the solves
        """
        n = 1 if X is None else count_rows(X)
        changed = self.policy.changed_since(self.recognition)
        if changed is not None:
            warnings.warn(
                f"The bound on costs is void: {changed} since it was certified. "
                "Certify the policy again.",
                CertificateVoid,
                stacklevel=2,
            )
            return np.full(n, np.nan)
        if decisions is None:
            decisions = self.policy.decide(X, n_jobs=n_jobs)
        keys = self.policy.problem.keys
        batches = [
            None if k.predicted is None else k.predicted.predict_set(X, budget=1.0)  # type: ignore[arg-type]
            for k in keys
        ]
        points = points_of(keys, batches, n)
        rows = np.flatnonzero(decisions.decided)
        expected, spread = _expected(self.policy, decisions, points, rows)
        bounds = np.full(len(decisions), np.nan)
        sense = self.policy.problem.prepared().model.sense
        bounds[rows] = sense * self.bound.at(sense * expected, spread)
        return bounds


def certify(
    policy: Policy,
    X: Table,
    Y: Outcome,
    alpha: float,
    delta: float | None,
    n_jobs: int | None,
) -> CertifiedCost:
    """Calibrate a bound on costs.

    The cost is expected to be what it is at the prediction, and may be off by as much
    as the policy feared: the certified objective less that. Contexts without a
    decision cost nothing; the promise is about those with one.
    """
    owner = "Policy.certify"
    model = policy.problem.prepared().model
    if not model.has_uncertain_objective:
        raise InvalidParameter(
            "Policy.certify() bounds an uncertain objective, and this one is known "
            "when the decision is taken."
        )
    policy.refuse_calibration_rows(X, Y, owner)
    labelled = label(policy.problem.keys, X, Y, owner, unseen=True)
    decisions = policy.decide(X, n_jobs=n_jobs)
    happened = realised(policy, decisions.arrays, labelled.outcomes)
    rows = np.flatnonzero(happened.decided)
    if not rows.size:
        raise InvalidParameter(
            "Policy.certify(X, Y) must have contexts with a decision, got none: "
            f"{decisions!r}."
        )
    expected, spread = _expected(policy, decisions, labelled.points(), rows)
    costs = model.sense * happened.objective[rows]
    bound = certify_cost(costs, model.sense * expected, spread, alpha, delta)
    certificate = replace(
        bound.certificate,
        guarantee="CertifiedCost",
        event="a decision that is taken costs more than its bound",
    )
    bound = replace(bound, certificate=certificate)
    return CertifiedCost(copy.copy(policy), bound, policy.recognition(X))


def _expected(
    policy: Policy, decisions: Decisions, points: Sequence[Array], rows: Indices
) -> tuple[Array, Array]:
    """What decisions cost if the predictions come true, and how far off that is."""
    prepared = policy.problem.prepared()
    leaves = Leaves(
        decisions.arrays.values[rows],
        [point[rows] for point in points],
        prepared.ordinary(),
    )
    expected = np.array(prepared.ruler.objective.rows(leaves)[:, 0])
    feared = np.abs(decisions.objective[rows] - expected)
    # A fallback fears nothing that is known; any fixed spread will do.
    typical = np.nanmedian(np.abs(expected)) if rows.size else 1.0
    size = np.maximum(np.abs(expected), typical if typical > 0 else 1.0)
    feared = np.where(np.isnan(feared), size, feared)
    return expected, np.maximum(feared, LEAST * size)
