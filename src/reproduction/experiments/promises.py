"""What each method promises, and whether it was kept on fresh data."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta, norm

from sublevel.theory.classical import sun_level

from .gathering import KEYS
from .settings import Extent, calibration_size

#: Standard errors above the level from which on a promise counts as broken.
ERRORS = 3.0
PROVED, CLAIMED, NONE = "proved", "claimed", "none"


@dataclass(frozen=True)
class Promise:
    """The promise of a method.

    Attributes
    ----------
    kind : proved (a theorem holds here), claimed (a formula says so), or none
    assumes : in words
    calibrated : whether the level rests on the calibration sample
    """

    kind: str
    assumes: str
    calibrated: bool = False


_FRESH = (
    "Calibration instances and new ones are exchangeable, and had no part in training. "
    "Holds on average over calibration samples."
)
_LLN = (
    "Independent sub-Gaussian components given the covariates, a law of large numbers "
    "over components that share covariates, and sample means over 100 test instances "
    "for expectations: a heuristic, not a theorem."
)
_RULE = (
    "Exchangeable calibration instances, and the decision rule stays the one that was "
    "calibrated. Holds on average over calibration samples."
)
PROMISES = {
    "MSE, paper": Promise(CLAIMED, _LLN),
    "MSEV, paper": Promise(CLAIMED, _LLN),
    "MSE, Th. 3.1": Promise(PROVED, _FRESH, True),
    "MSEV, Th. 3.1": Promise(PROVED, _FRESH, True),
    "MSE, decision-aware": Promise(PROVED, _RULE, True),
    "MSEV, decision-aware": Promise(PROVED, _RULE, True),
    "Classical": Promise(
        CLAIMED,
        "Independent, strictly sub-Gaussian components of known mean and deviation; "
        "covariates are ignored.",
    ),
    "kNN": Promise(
        CLAIMED,
        "As for the classical ellipsoid, with mean and deviation of the neighbours.",
    ),
    "Predict, then calibrate": Promise(
        NONE,
        "Sun, Liu and Li's bound, 1/N^2 + 4 log(N)/sqrt(N) on top of the level, says "
        "nothing at these sample sizes: it is above 1.",
    ),
    "Predict, then optimise": Promise(NONE, "Nothing is promised."),
    "SPO+": Promise(NONE, "Nothing is promised: trained for regret alone."),
    "Cross-entropy, paper": Promise(
        CLAIMED,
        "Theorem 3.1, on rows that early stopping has looked at; so not quite fresh.",
        True,
    ),
    "Cross-entropy, Th. 3.1": Promise(PROVED, _FRESH, True),
    "Cross-entropy, decision-aware": Promise(PROVED, _RULE, True),
    "Phi-divergence": Promise(
        NONE,
        "The law of demand is in the ball with probability 1 - alpha as N grows. "
        "Nothing is promised about the next outcome.",
    ),
}


def kept(table: pd.DataFrame, extent: Extent) -> list[dict[str, Any]]:
    """For every setting, method and level: promised, realised, and the verdict."""
    judged = table[table["method"].isin(list(PROMISES))]
    return [
        _row(dict(zip(KEYS, key, strict=True)), rows, extent)
        for key, rows in judged.groupby(list(KEYS), sort=False)
    ]


def _row(key: dict[str, Any], rows: pd.DataFrame, extent: Extent) -> dict[str, Any]:
    promise, alpha = PROMISES[key["method"]], float(key["alpha"])
    rate = float(rows["violation"].mean())
    error = _standard_error(rows, alpha, promise, extent)
    return {
        **key,
        "promise": promise.kind,
        "violation": rate,
        "error": error,
        "objective": float(rows["objective"].mean()),
        "objective_sd": _deviation(rows["objective"]),
        "regret": float(rows["regret"].mean()),
        "regret_sd": _deviation(rows["regret"]),
        "radius": float(rows["radius"].mean()),
        "verdict": _verdict(promise, rate, error, alpha),
    }


def _verdict(promise: Promise, rate: float, error: float, alpha: float) -> str:
    if promise.kind == NONE:
        return "no promise"
    most = limit(alpha, error) if promise.calibrated else alpha + ERRORS * error
    return "broken" if rate > most else "kept"


def limit(alpha: float, error: float) -> float:
    """The largest mean rate that agrees with a calibrated level.

    Rates of few calibration samples at a small level have a skewed law: Beta, with mean
    `alpha` and standard deviation `error`. The limit is exceeded as rarely as three
    errors of a normal law are; with many seeds it is alpha + 3 errors.

    Examples
    --------
    >>> round(limit(0.1, 0.001), 4), round(limit(0.01, 0.0034), 4)
    (0.103, 0.0234)
    """
    size = alpha * (1 - alpha) / error**2 - 1
    return float(beta.isf(norm.sf(ERRORS), alpha * size, (1 - alpha) * size))


def _standard_error(
    rows: pd.DataFrame, alpha: float, promise: Promise, extent: Extent
) -> float:
    """Of the mean violation over seeds: test draws, and the calibration draw's law."""
    seeds = len(rows)
    tested = float(rows["tested"].iloc[0])
    variance = alpha * (1 - alpha) / (tested * seeds)
    if promise.calibrated:
        size = calibration_size(rows["problem"].iloc[0], extent)
        variance += alpha * (1 - alpha) / ((size + 2) * seeds)
    between = _deviation(rows["violation"]) / sqrt(seeds)
    return max(sqrt(variance), 0.0 if promise.calibrated else between)


def _deviation(values: Any) -> float:
    array = np.asarray(values, dtype=float)
    return float(array.std(ddof=1)) if array.size > 1 else 0.0


def calibrate_level(instances: int) -> float:
    """The level that predict-then-calibrate's theorem gives: 1 if it says nothing."""
    return sun_level(instances)
