"""What to make of the checks, in one paragraph."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite, sqrt

from ..losses import NLL, Absolute, Gaussian, Huber, Loss, Mahalanobis, Pinball
from .findings import Check

#: Rows used before.
SEEN, USED = "rows seen in training", "rows used to calibrate"

#: What too few rows cannot support, strongest first.
PROMISES = {
    "calibration points": "no finite budget can be promised",
    "the same, with confidence": "none can be promised with confidence",
}

_TAILS, _TOTAL = "excess kurtosis", "R^2 of the total loss"
_GIVEN = "bias given X (R^2)"
DEPENDENCE = "dependence of components"
PLACE, WIDE = "bias in some contexts", "spread in some contexts"
#: Losses, held against those of the calibration.
CHANGED = "loss against the calibration"

#: What each number of a Diagnosis, in its order, is called, and what would help.
REMEDIES = {
    "bias": "Correct predictions by a mean residual, or tell TheoremA of the bias.",
    "skewness": "A loss with two sides, 'pinball', suits skewed residuals.",
    _TAILS: "'huber' or 'absolute' are less at the mercy of heavy tails.",
    "correlation": "'mahalanobis' has sets that follow the correlation.",
    _GIVEN: "X predicts residuals, and all else may follow: mend the model first.",
    "correlation given X (R^2)": (
        "'mahalanobis', fitted to each group of contexts, would follow a correlation "
        "that changes with X."
    ),
    _TOTAL: (
        "A model of the spread with loss='gaussian', or Mondrian groups, would have "
        "smaller sets where outcomes are easy to predict."
    ),
    DEPENDENCE: (
        "Components go together beyond their correlation, which no covariance sees: a "
        "model of the spread with loss='gaussian' helps if it is common to them."
    ),
    PLACE: (
        "The model is off in a part of the contexts: mend it there, or promise that "
        "part what it needs with Mondrian groups."
    ),
    WIDE: (
        "Residuals are wider in a part of the contexts: a model of the spread with "
        "loss='gaussian', or Mondrian groups, would follow it."
    ),
}
#: What is looked at more closely, after the numbers of a Diagnosis.
CLOSER = (DEPENDENCE, PLACE, WIDE)
NUMBERED = tuple(name for name in REMEDIES if name not in CLOSER)
#: Alarms that say as much already.
EXPLAINED_BY = {
    DEPENDENCE: {"correlation", "correlation given X (R^2)", _TOTAL, WIDE, PLACE},
    PLACE: {_GIVEN},
    WIDE: {_TOTAL, _GIVEN, PLACE},
}
#: What to say in their place where the sets have the loss already.
_HAD: dict[str, tuple[tuple[type, ...], str]] = {
    "skewness": ((Pinball,), "The loss has two sides already."),
    _TAILS: ((Huber, Absolute), "The loss bears heavy tails already."),
    "correlation": (
        (Mahalanobis,),
        "The covariance of the loss does not fit these rows: learn it from more.",
    ),
    _TOTAL: (
        (Gaussian, NLL),
        "The predicted spread does not follow the loss: train it anew, or use Mondrian "
        "groups.",
    ),
}


def advise(checks: tuple[Check, ...], loss: Loss, alpha: float, limit: float) -> str:
    """What to make of it, most urgent first."""
    alarms = {check.name: check for check in checks if check.alarming}
    against = [name for name in REMEDIES if name in alarms]
    sentences = [*_about_rows(alarms, alpha), *_about_change(alarms)]
    if not against:
        return " ".join([*sentences, _nothing(checks, alarms, limit)])
    sentences.append(
        f"More than chance: {', '.join(against)}. Theorem 3.2 of the paper and "
        "TheoremA with kappa=1 and bias=0 assert otherwise, so do not rely on them "
        "here. Marginal, PAC and Policy.calibrate need none of it."
    )
    urgent = [_GIVEN] if _GIVEN in against else against
    return " ".join([*sentences, *(_remedy(name, alarms, loss) for name in urgent)])


def _about_rows(alarms: dict[str, Check], alpha: float) -> Iterator[str]:
    """What is wrong with the rows themselves."""
    if SEEN in alarms:
        yield (
            f"{alarms[SEEN].value:g} of these rows trained the model: whatever is "
            "calibrated on them is void. Hold rows back."
        )
    if USED in alarms:
        yield (
            f"{alarms[USED].value:g} of these rows calibrated these sets: a model or "
            "loss chosen after looking at them must be calibrated on others."
        )
    for name, promise in PROMISES.items():
        if name in alarms:
            alarm = alarms[name]
            yield (
                f"With {alarm.value:g} rows the model has not seen and alpha={alpha:g} "
                f"{promise}; it takes {alarm.needed.removeprefix('>= ')}."
            )
            return


def _about_change(alarms: dict[str, Check]) -> Iterator[str]:
    """What is wrong with a calibration that these rows are not like."""
    if CHANGED in alarms:
        higher = "larger" if alarms[CHANGED].value > 0 else "smaller"
        yield (
            f"Losses are {higher} than those these sets were calibrated on, by more "
            "than chance: the world has changed, and what was promised is void. "
            "Calibrate on rows like these."
        )


def _nothing(checks: tuple[Check, ...], alarms: dict[str, Check], limit: float) -> str:
    """What no evidence means, in so many rows."""
    named = {check.name: check for check in checks}
    if any(name in alarms for name in PROMISES) or not isfinite(limit):
        return (
            "Nothing can be said for or against the assertions of TheoremA: there are "
            "too few rows for evidence to show."
        )
    size = named["calibration points"].value
    unread = named[_TOTAL].needed.startswith("not looked at")
    return (
        "Nothing speaks against the assertions of TheoremA, which is no proof of them: "
        f"in {size:g} rows a bias of up to {limit / sqrt(size):.2f} spreads may stay "
        "unseen, and so do contexts too rare to be in the sample"
        f"{', and all that depends on X' if unread else ''}. Marginal, PAC and "
        "Policy.calibrate assert nothing."
    )


def _remedy(name: str, alarms: dict[str, Check], loss: Loss) -> str:
    """What would help, if the sets do not have it already."""
    kinds, instead = _HAD.get(name, ((), ""))
    if isinstance(loss, kinds):
        return instead
    if name == _TAILS and _TOTAL in alarms:
        return "Heavy tails may be no more than a loss that depends on X."
    if name in (PLACE, WIDE):
        return f"{REMEDIES[name]} It is {alarms[name].needed.split('; ')[-1]}."
    return REMEDIES[name]
