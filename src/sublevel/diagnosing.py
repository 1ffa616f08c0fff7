"""What held-out data say about a model and its sets, before a promise is relied on.

Some promises need nothing but exchangeable data, others what no data can prove. Here
is looked for what would void the first kind (rows used twice, too few of them) and for
evidence against what the second kind asserts; and for what would make sets smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .checks import Array, require_level
from .errors import InvalidParameter
from .fingerprint import count_seen
from .guarantees import PAC, Diagnosis, Marginal
from .guarantees import diagnose as diagnose_residuals
from .predictions import Prediction

if TYPE_CHECKING:
    import pandas as pd

#: The numbers of a Diagnosis, in its order, with what would help.
_REMEDIES = {
    "skewness": "A loss with two sides, 'pinball', suits skewed residuals.",
    "excess kurtosis": "'huber' or 'absolute' are less at the mercy of heavy tails.",
    "correlation": "'mahalanobis' has sets that follow the correlation.",
    "R^2 of the total loss": (
        "A model of the spread with loss='gaussian', or Mondrian groups, would have "
        "smaller sets where outcomes are easy to predict."
    ),
}
_SEEN = "rows seen in training"
#: What too few points cannot support, strongest first.
_PROMISES = {
    "calibration points": "no finite budget can be promised",
    "the same, with confidence": "none can be promised with confidence",
}
_NOTHING = (
    "Nothing speaks against the assertions of TheoremA, which is no proof of them: "
    "contexts too rare to be in the sample stay unseen. Marginal, PAC and "
    "Policy.calibrate assert nothing."
)


@dataclass(frozen=True)
class Check:
    """One thing looked at.

    Attributes
    ----------
    name : what it is
    value : the number found
    needed : what it is held against
    surprise : standard errors from zero; nan where that is not the question
    alarming : whether it is worse than chance, or than the rule, allows
    """

    name: str
    value: float
    needed: str
    surprise: float
    alarming: bool


@dataclass(frozen=True)
class Findings:
    """What `diagnose` found.

    Attributes
    ----------
    checks : tuple of Check
    advice : what to make of it, in one paragraph
    limit : standard errors from which on a number is more than chance
    """

    checks: tuple[Check, ...]
    advice: str
    limit: float

    def to_pandas(self) -> pd.DataFrame:
        """One row a check: `check`, `value`, `needed`, `surprise`, `alarming`."""
        import pandas as pd

        rows = [vars(check) for check in self.checks]
        return pd.DataFrame(rows).rename(columns={"name": "check"})

    def __str__(self) -> str:
        lines = [
            f"{'!' if c.alarming else ' '} {c.name:<32}{c.value:>10.4g}  {c.needed}"
            for c in self.checks
        ]
        return "\n".join([*lines, "", self.advice])


def diagnose(
    sets: Any, X: Any, Y: Any, alpha: float = 0.1, delta: float = 0.05
) -> Findings:
    """Look at a LossSet on data held out: what may be promised, what may not.

    Parameters
    ----------
    sets : LossSet of numbers, fitted
    X, Y : the data to calibrate on, or others like it
    alpha : float in (0, 1), the violation level wanted
    delta : float in (0, 1), the confidence deficit wanted of PAC promises

    Examples
    --------
    >>> import sublevel as sl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((900, 2))
    >>> Y = X + X * rng.normal(size=(900, 2))
    >>> found = diagnose(sl.LossSet(lambda X: X), X, Y)
    >>> found.to_pandas().query("alarming")["check"].tolist()
    ['excess kurtosis', 'R^2 of the total loss']
    """
    require_level("diagnose", alpha=alpha, delta=delta)
    residuals = _residuals(sets, X, Y)
    size = len(residuals)
    told = diagnose_residuals(residuals, _contexts(X, size))
    checks = (*_reuse(sets, X, Y), *_sizes(size, alpha, delta), *_numbers(told))
    return Findings(checks, _advice(checks, alpha), told.limit)


def _residuals(sets: Any, X: Any, Y: Any) -> Array:
    """Outcome minus prediction, in units of the predicted spread, shape (N, m)."""
    batch = sets.predict_set(X, budget=1.0)
    parts = getattr(batch, "parts", (batch,))
    said = parts[0].prediction
    if not isinstance(said, Prediction):
        raise InvalidParameter(
            "diagnose(sets) looks at residuals, and must have a LossSet of numbers, "
            f"got predictions of type {type(said).__name__}."
        )
    outcomes = batch.outcomes.encode(Y, "diagnose")
    if len(outcomes) != len(said):
        raise InvalidParameter(
            f"diagnose: X and Y must have as many rows, got {len(said)} and "
            f"{len(outcomes)}."
        )
    middle = np.mean([part.prediction.location for part in parts], axis=0)
    scale = 1.0 if said.scale is None else said.scale
    return np.asarray((outcomes - middle) / scale)


def _contexts(X: Any, size: int) -> Any:
    """The contexts as numbers, or None where they are not."""
    try:
        found = np.asarray(X, dtype=float).reshape(size, -1)
    except (TypeError, ValueError):
        return None
    return found if np.isfinite(found).all() else None


def _reuse(sets: Any, X: Any, Y: Any) -> list[Check]:
    found = count_seen(getattr(sets, "_seen", None), X, Y)
    if found is None:
        return []
    return [Check(_SEEN, found[0], "0", np.nan, found[0] > 0)]


def _sizes(size: int, alpha: float, delta: float) -> list[Check]:
    plain = Marginal().minimum_sample_size(alpha)
    sure = PAC(delta).minimum_sample_size(alpha)
    return [
        Check(name, size, f">= {needed}", np.nan, size < needed)
        for name, needed in zip(_PROMISES, (plain, sure), strict=True)
    ]


def _numbers(told: Diagnosis) -> list[Check]:
    values = (told.skewness, told.excess_kurtosis, told.correlation, told.r_squared)
    known = [(n, v) for n, v in zip(_REMEDIES, values, strict=True) if v is not None]
    return [
        Check(name, value, "0 up to chance", surprise, surprise > told.limit)
        for (name, value), surprise in zip(known, told.surprises, strict=True)
    ]


def _advice(checks: tuple[Check, ...], alpha: float) -> str:
    """What to make of it, most urgent first."""
    alarms = {check.name: check for check in checks if check.alarming}
    against = [name for name in _REMEDIES if name in alarms]
    said = [*_about_rows(alarms, alpha)]
    if not against:
        return " ".join([*said, _NOTHING])
    said.append(
        f"More than chance: {', '.join(against)}. Theorem 3.2 of the paper and "
        "TheoremA assert otherwise, so do not rely on them here. Marginal, PAC and "
        "Policy.calibrate need none of it."
    )
    return " ".join([*said, *(_REMEDIES[name] for name in against)])


def _about_rows(alarms: dict[str, Check], alpha: float) -> Iterator[str]:
    """What is wrong with the rows themselves."""
    if _SEEN in alarms:
        yield (
            f"{alarms[_SEEN].value:g} of these rows trained the model: whatever is "
            "calibrated on them is void. Hold rows back."
        )
    for name, promise in _PROMISES.items():
        if name in alarms:
            found = alarms[name]
            yield (
                f"With {found.value:g} points and alpha={alpha:g} {promise}; it takes "
                f"{found.needed.removeprefix('>= ')}."
            )
            return


__all__ = ["Check", "Findings", "diagnose"]
