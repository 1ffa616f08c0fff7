"""Every fact the demonstration shows, collected into plain data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binomtest

from sublevel.guarantees import PAC, Certificate, Marginal
from sublevel.plots import calibration_table, set_table
from sublevel.predictions import Labels

from .contenders import Contender, contenders
from .shop import BUSIEST, STRONG, Days, days

ALPHA = 0.1
DELTA = 0.05
SIZES = {"training": 600, "calibration": 500, "test": 4000}
#: Sets whose size is averaged; enough for two digits.
MEASURED = 100
#: Share of calibration draws whose rate counts as within one draw's range.
ONE_DRAW = 0.99


def collect(seed: int = 0) -> dict[str, Any]:
    """Train, calibrate and test every contender; return what happened.

    Parameters
    ----------
    seed : int
        Seed of the data and of the forests.

    Returns
    -------
    dict of plain JSON values: `rows` (one a model and guarantee), `control` (a budget
    read from training residuals), `curves` and `outlines` for the figure, `verdicts`
    (what each word means) and `summary`.
    """
    rng = np.random.default_rng(seed)
    train, cal, test = (days(size, rng) for size in SIZES.values())
    rows, curves, outlines = [], [], []
    for contender in contenders(train, seed):
        for guarantee in (Marginal(), PAC(DELTA)):
            Y = contender.outcomes(cal)
            contender.sets.calibrate(cal.X, Y, alpha=ALPHA, guarantee=guarantee)
            rows.append(_row(contender, test))
        contender.sets.calibrate(cal.X, Y, alpha=ALPHA)
        curves.append(_curve(contender, test))
        if contender.target == "demand":
            outlines += _outlines(contender, test)
        if contender.name == "Random forest" and contender.target == "demand":
            control = _control(contender, train, test)
    facts: dict[str, Any] = {"seed": seed, "alpha": ALPHA, "delta": DELTA}
    facts |= {"sizes": SIZES, "rows": rows, "control": control}
    facts |= {"curves": curves, "outlines": outlines, "verdicts": _verdicts()}
    return facts | {"summary": _summary(facts)}


def _row(contender: Contender, test: Days) -> dict[str, Any]:
    """Promise and outcome of one calibrated contender."""
    sets = contender.sets
    certificate: Certificate = sets.certificate_
    batch = sets.predict_set(test.X)
    outside = ~batch.contains(contender.outcomes(test))
    width, labels = _size(batch, test)
    return {
        "model": contender.name,
        "loss": contender.loss,
        "predicts": contender.target,
        "guarantee": certificate.guarantee,
        "promised": certificate.alpha,
        **_violation(outside),
        "promotion_days": float(outside[test.promoted].mean()),
        "budget": certificate.budget,
        "radius": sets.loss_.radius(certificate.budget),
        "half_width": width,
        "labels": labels,
        "label_count": None if labels is None else len(BUSIEST),
        "verdict": _verdict(outside, certificate),
    }


def _violation(outside: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Realised violation with its exact 95 % interval."""
    count, n = int(outside.sum()), len(outside)
    interval = binomtest(count, n).proportion_ci(0.95)
    return {"violation": count / n, "low": interval.low, "high": interval.high}


def _verdict(outside: np.ndarray[Any, Any], certificate: Certificate) -> str:
    """What the test says about the promise, in a word of `_verdicts`."""
    low = _violation(outside)["low"]
    if low <= certificate.alpha:
        return "agrees"
    one_draw = certificate.confidence is None
    if one_draw and low <= certificate.violation_interval(ONE_DRAW)[1]:
        return "in range"
    return "refuted"


def _verdicts() -> dict[str, str]:
    """What each verdict means."""
    return {
        "agrees": f"the interval reaches down to {ALPHA:.0%}, or lies below.",
        "in range": (
            f"above {ALPHA:.0%}, but within one draw's range, the rates that "
            f"{ONE_DRAW:.0%} of calibration draws have under a Marginal promise. It is "
            f"about their average: one draw can neither show it kept nor broken."
        ),
        "refuted": "the test contradicts the promise.",
    }


def _size(batch: Any, test: Days) -> tuple[float | None, float | None]:
    """Mean half-width in deviations of the outcome, mean number of labels possible."""
    lower, upper = batch[:MEASURED].bounds()
    numeric = np.concatenate(
        [np.full(b.width, not isinstance(b, Labels)) for b in batch.outcomes.blocks]
    )
    spread = test.demand.std().to_numpy()[: int(numeric.sum())]
    half = (upper - lower)[:, numeric] / 2 / spread
    width = float(half.mean()) if numeric.any() else None
    labels = float(upper[:, ~numeric].sum(axis=1).mean()) if not numeric.all() else None
    return width, labels


def _curve(contender: Contender, test: Days) -> dict[str, Any]:
    table = calibration_table(contender.sets, test.X, contender.outcomes(test))
    columns = ["promised", "coverage", "low", "high", "band_low", "band_high"]
    return {
        "model": contender.name,
        "loss": contender.loss,
        "predicts": contender.target,
        **{column: table[column].tolist() for column in columns},
    }


def _outlines(contender: Contender, test: Days) -> list[dict[str, Any]]:
    """The set on the calmest and on the most promoted day, bread against drinks."""
    strength = test.X["promotion"]
    outlines = []
    for day in (int(strength.argmin()), int(strength.argmax())):
        batch = contender.sets.predict_set(test.X.iloc[[day]])
        table = set_table(batch[0], components=(0, 2))
        outlines.append(
            {
                "model": contender.name,
                "loss": contender.loss,
                "promotion": float(strength.iloc[day]),
                "bread": table["first"].tolist(),
                "drinks": table["second"].tolist(),
            }
        )
    return outlines


def _control(contender: Contender, train: Days, test: Days) -> dict[str, Any]:
    """The mistake the library refuses: a budget read from training residuals."""
    sets = contender.sets
    residuals = sets.scores(train.X, contender.outcomes(train))
    budget = Marginal().certify(residuals, ALPHA).budget
    batch = sets.predict_set(test.X, budget=budget)
    outside = ~batch.contains(contender.outcomes(test))
    names = {"model": contender.name, "loss": contender.loss}
    return {**names, "budget": float(budget), **_violation(outside)}


def _summary(facts: dict[str, Any]) -> str:
    """One paragraph that tells the reader what the table shows."""
    rows, control, alpha = facts["rows"], facts["control"], facts["alpha"]
    refuted = sum(row["verdict"] == "refuted" for row in rows)
    be = "is" if refuted == 1 else "are"
    outcome = (
        f"none of the {len(rows)} promises is contradicted"
        if refuted == 0
        else f"{refuted} of the {len(rows)} promises {be} contradicted"
    )
    even, uneven = (_marginal(rows, loss)["promotion_days"] for loss in _COMPARED)
    return (
        f"Each model became a set that a new day should leave at most {alpha:.0%} of "
        f"the time. On {facts['sizes']['test']} new days {outcome}. A Marginal promise "
        f"holds on average over calibration samples, so a single one may land a little "
        f"above {alpha:.0%}; a PAC promise holds for this very sample with confidence "
        f"{1 - facts['delta']:.0%}, and pays with a larger budget. Averages hide "
        f"groups: on days of strong promotion (above {STRONG}) the plain squared loss "
        f"is violated {uneven:.0%} of the time, the set that follows the predicted "
        f"spread {even:.0%}. And the mistake to avoid: with a budget read from the "
        f"forest's own training residuals, {control['violation']:.0%} of the days fall "
        f"outside."
    )


_COMPARED = (("Mean + spread", "gaussian"), ("Linear", "squared"))


def _marginal(rows: list[dict[str, Any]], which: tuple[str, str]) -> dict[str, Any]:
    return next(
        row
        for row in rows
        if (row["model"], row["loss"]) == which and row["guarantee"] == "Marginal"
    )
