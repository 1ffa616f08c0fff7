"""A policy at levels of its envelope scores, and what became of its decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import Array, require_having
from ..errors import InvalidParameter
from ..guarantees import Certificate
from ..predictions import Table, count_rows, take_rows
from ..robust.calibration_points import level_units
from ..robust.decisions import Decisions
from ..robust.evaluating import Decides, realised
from ..robust.judge.realised import Realised
from ..robust.labelled import Outcome, label
from ..robust.policy import Policy
from .recent import Recent
from .state import numbers_from, numbers_to

#: Rows by which a saved state knows its policy again.
PROBES = 3
#: Scores are looked for down to this share of the level that counts.
DEPTH = 0.1
#: Scores lie on a grid; a step of it may be lost to rounding.
NEAR = 0.06


def require_policy(owner: str, policy: object) -> None:
    """A compiled policy, which can decide at any budget."""
    if not isinstance(policy, Policy):
        require_having(owner, "envelope_scores", "a compiled policy", policy=policy)
        raise InvalidParameter(
            f"{owner}(policy) must be made by RobustProblem.compile, got "
            f"{type(policy).__name__}."
        )


def at_level(policy: Policy, level: float, certificate: Certificate) -> Policy:
    """The policy at a level of its envelope scores, under a certificate."""
    keys = policy.problem.keys
    alone = len(keys) == 1
    units = (1.0,) if alone else level_units(keys)
    budgets = {
        key.name: unit * level
        for key, unit in zip(keys, units, strict=True)
        if key.predicted is not None
    }
    return policy.at(budgets, certificate)


def score_rows(
    policy: Policy,
    X: Table,
    Y: Outcome,
    grid: npt.ArrayLike | None,
    alpha: float,
    level: float | None = None,
) -> Array:
    """Envelope scores, down to well below the level that counts.

    Parameters
    ----------
    alpha : the violation level, which says which score counts
    level : the level of the moment; None where it is to be read off these rows
    """
    if level is not None:
        return policy.envelope_scores(X, Y, grid, floor=_depth(level))
    rank = max(int(np.floor(count_rows(X) * (1 - alpha))), 1)
    return policy.envelope_scores(
        X,
        Y,
        grid,
        floor=lambda scores: _depth(float(np.partition(scores, rank - 1)[rank - 1])),
    )


def _depth(level: float) -> float:
    """How far down to look; all the way where losses may be negative."""
    return DEPTH * level if 0 < level < np.inf else -np.inf


def judged(
    policy: Decides, decisions: Decisions, X: Table, Y: Outcome, owner: str
) -> Realised:
    """What decisions at contexts turned out to be, by the judge."""
    labelled = label(policy.problem.keys, X, Y, owner)
    if len(decisions) != len(labelled):
        raise InvalidParameter(
            f"{owner}(decisions=...) must be those of the {len(labelled)} rows of X, "
            f"got {len(decisions)}."
        )
    return realised(policy, decisions.arrays, labelled.outcomes)


def row_of(X: Table, Y: Outcome, at: int) -> tuple[Table, Outcome]:
    """One row, as tables."""
    if isinstance(Y, Mapping):
        return take_rows(X, [at]), {k: take_rows(v, [at]) for k, v in Y.items()}
    return take_rows(X, [at]), take_rows(Y, [at])


def probes_to(probes: Recent, policy: Policy) -> dict[str, Any]:
    """The latest rows with their scores, by which the policy is known again."""
    scores = policy.envelope_scores(probes.X, probes.Y)
    return {"rows": probes.to_dict(), "scores": numbers_to(scores)}


def probes_from(state: Mapping[str, Any], policy: Policy, owner: str) -> Recent:
    """The rows, once the policy has scored them as it did."""
    probes, scores = Recent.from_dict(state["rows"]), numbers_from(state["scores"])
    again = policy.envelope_scores(probes.X, probes.Y)
    if not np.allclose(again, scores, rtol=NEAR):
        raise InvalidParameter(
            f"{owner}(policy) must be the policy that was saved, got one that scores "
            f"the latest {count_rows(probes.X)} rows {again.tolist()} and not "
            f"{scores.tolist()}. Give it the same model and problem, or begin anew."
        )
    return probes
