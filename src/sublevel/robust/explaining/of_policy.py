"""How a policy decides, and what it does where outcomes are known."""

from __future__ import annotations

from math import ceil, inf
from typing import TYPE_CHECKING

import numpy as np

from ...calibration.frontier import envelope_for, marginal_levels
from ...checks import Array
from ...loss_set.batch import Batch
from ..calibration_points import PolicyPoints
from ..contexts import GivenSets
from ..decisions import DecisionArrays
from ..evaluating import realised
from ..fallback import fall_back
from ..judge.statuses import is_decided
from .policy_explanation import Looked, Step

if TYPE_CHECKING:
    from ..compiled_policy import CompiledPolicy

#: What the policy's alpha is multiplied by, to see what a step buys.
FACTORS = (0.5, 2.0)
#: The violation level whose steps are shown where the policy has none of its own.
USUAL = 0.1


def how_decided(policy: CompiledPolicy) -> tuple[str, ...]:
    """How contexts are decided, a sentence each."""
    if policy.one_by_one is not None:
        return (f"Contexts are decided one by one, as {policy.one_by_one}.",)
    together = "Contexts share one compiled program, and are decided in chunks."
    choice = policy.choice
    return (together,) if choice is None else (together, f"Solver: {choice}.")


def looked_at(
    policy: CompiledPolicy,
    points: PolicyPoints,
    alpha: float | None,
    level: float | None,
) -> Looked:
    """What a policy does at contexts with outcomes, and what other levels would do.

    Parameters
    ----------
    policy : to look at
    points : it, at contexts with their outcomes
    alpha, level : those it was calibrated to; None where it was not
    """
    asked = USUAL if alpha is None else alpha
    search = points.search(None, "Policy.explain")
    alphas = [min(asked * f, 0.99) for f in FACTORS]
    every = sorted({*alphas, asked})
    scores = envelope_for(search, every)
    levels = dict(zip(every, marginal_levels(scores, every), strict=True))
    if level is None:
        level = levels[asked]
    present = _step(points, f"alpha {asked:.4g}", asked, level)
    steps = [_step(points, f"alpha {a:.4g}", a, levels[a]) for a in alphas]
    endless = float(np.sort(scores)[max(ceil(len(scores) * (1 - asked)), 1) - 1])
    steps.append(_step(points, "endless data of this kind", asked, endless))
    arrays = _decide(points, level)
    happened = realised(policy, arrays, points.labelled.outcomes)
    decided = is_decided(arrays.status)
    texts = [part.text for part in policy.problem.prepared().ruler.uncertain]
    binding = tuple(
        (text, float(np.mean(arrays.binding[decided] == k)) if decided.any() else 0.0)
        for k, text in enumerate(texts)
    )
    covered = float(np.mean(points.scores <= level))
    kept = 1 - float(np.mean(happened.violated))
    return Looked(len(scores), covered, kept, binding, present, tuple(steps))


def _step(points: PolicyPoints, name: str, alpha: float, level: float) -> Step:
    if np.isinf(level):
        return Step(name, alpha, inf, np.nan, 0.0)
    arrays = _decide(points, level)
    decided = is_decided(arrays.status) & np.isfinite(arrays.objective)
    mean = float(arrays.objective[decided].mean()) if decided.any() else np.nan
    unit = points.units[0] if len(points.units) == 1 else 1.0
    return Step(name, alpha, level * unit, mean, float(decided.mean()))


def _decide(points: PolicyPoints, level: float) -> DecisionArrays:
    """Decisions at one level, at every point."""
    labelled = points.labelled
    rows = np.arange(len(labelled))
    batches: list[Batch | None] = []
    for batch, unit in zip(labelled.batches, points.units, strict=True):
        budgets: Array = np.full(len(rows), level * unit)
        batches.append(None if batch is None else batch.at_budgets(rows, budgets))
    sets = GivenSets(labelled.keys, batches, len(rows))
    arrays, _ = points.policy.decide_sets(sets, points.n_jobs)
    return fall_back(arrays, points.fallback)
