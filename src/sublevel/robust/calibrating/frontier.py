"""What each violation level costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...checks import require_level
from ...errors import InvalidParameter
from .decision_aware import Search
from .evaluation import clairvoyant, evaluate_on
from .known import know
from .promised import decision_certificate, promise_of
from .settling import Settled, Wish, at_level, begin

if TYPE_CHECKING:
    import pandas as pd

ALPHAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
OWNER = "Policy.frontier"


def frontier(
    policy: Any,
    data: tuple[Any, Any, Any, Any],
    alphas: Any,
    grid: Any,
    n_jobs: int | None,
) -> pd.DataFrame:
    """Budgets, costs and violations, level by level; see `Policy.frontier`."""
    import pandas as pd

    levels = _levels(alphas)
    X_cal, Y_cal, X_test, Y_test = data
    wish = Wish(levels[-1], None, grid, fallback=policy._fallback, n_jobs=n_jobs)
    search = begin(policy, X_cal, Y_cal, wish)
    known = know(policy, X_test, Y_test, OWNER)
    best = clairvoyant(policy.problem, known.outcomes, n_jobs)
    rows = []
    for name, alpha, settled in _settled(search, levels):
        judged = search.policy._settling(settled)
        seen = evaluate_on(judged, X_test, known, best, n_jobs)
        low, high = seen.interval
        told = seen.to_pandas()
        rows.append(
            {"calibration": name, "alpha": alpha}
            | {"budget": judged.budget_, "radius": judged.radius_}
            | {part: told[part] for part in ("certified", "realised", "regret")}
            | {"violation": seen.violation, "low": low, "high": high}
        )
    return pd.DataFrame(rows)


def _settled(search: Search, levels: list[float]) -> list[tuple[str, float, Settled]]:
    """At each level the decisions' calibration, then the sets'."""
    size, promise, acts = len(search.known), promise_of(None), bool(search.fallback)
    allowed = [_allowed(promise.rank(size, alpha), size) for alpha in levels]
    most = max(allowed)
    # One search for all: the largest level needs the lowest budget.
    envelope = search.envelope(lambda above: int(np.sum(above)) > most)
    found = []
    for name, scores in (("decisions", envelope), ("sets", search.scores)):
        ordered = np.append(np.sort(scores), np.inf)
        for alpha, beyond in zip(levels, allowed, strict=True):
            level = float(ordered[size - beyond - 1] if beyond >= 0 else np.inf)
            told = decision_certificate(level, alpha, None, size, "envelope", acts)
            found.append((name, alpha, at_level(search, level, told)))
    return found


def _allowed(rank: int | None, size: int) -> int:
    """How many points may lie above the budget; -1 if the sample is too small."""
    return -1 if rank is None else size - rank


def _levels(alphas: Any) -> list[float]:
    found = np.atleast_1d(np.asarray(alphas, dtype=float))
    if found.ndim != 1 or not found.size:
        raise InvalidParameter(
            f"{OWNER}(alphas=...) must be a list of levels, got {alphas!r}."
        )
    for alpha in found.tolist():
        require_level(OWNER, alphas=alpha)
    return sorted(set(found.tolist()))
