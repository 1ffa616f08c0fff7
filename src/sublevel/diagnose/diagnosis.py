"""A LossSet, looked at on data held out."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ..checks import Array, briefly, require_level
from ..errors import InvalidParameter
from ..guarantees import PAC, Marginal
from ..loss_set.marks import count_seen, mark_rows
from ..losses import Mahalanobis
from ..predictions import Prediction, require_aligned
from ..theory.residual_study import (
    FEWEST,
    NUMBERS,
    encode_contexts,
    study_residuals,
)
from .advice import PROMISES, REMEDIES, SEEN, USED, advise
from .findings import Check, Findings


def diagnose(
    sets: Any, X: Any, Y: Any, alpha: float = 0.1, delta: float = 0.05
) -> Findings:
    """Look at a LossSet on data held out: what may be promised, what may not.

    Rows that trained the model are counted, and left out of all that follows.

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
    residuals, loss = _residuals(sets, X, Y)
    seen, fresh = _reuse(sets, "_seen", SEEN, X, Y)
    used, _ = _reuse(sets, "_calibrated", USED, X, Y)
    numbers, limit = _numbers(
        residuals[fresh], encode_contexts(X, len(residuals)), fresh
    )
    sizes = _sizes(len(residuals[fresh]), alpha, delta)
    checks = (*seen, *used, *sizes, *numbers)
    return Findings(checks, advise(checks, loss, alpha, limit), limit)


def _residuals(sets: Any, X: Any, Y: Any) -> tuple[Array, Any]:
    """Outcome minus prediction, in the shape of the sets, shape (N, m); their loss."""
    if isinstance(sets, type) or not hasattr(sets, "predict_set"):
        raise InvalidParameter(
            f"diagnose(sets) must be a fitted LossSet, got {briefly(sets)}. Say "
            "diagnose(sl.LossSet(model).fit(X_train, Y_train), X, Y)."
        )
    require_aligned(Y, X, "diagnose", "Y")
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
    return np.mean([_shaped(part, outcomes) for part in parts], axis=0), parts[0].loss


def _shaped(part: Any, outcomes: Array) -> Array:
    """Residuals in units of the predicted spread, or whitened by the loss."""
    residuals = np.asarray(outcomes - part.prediction.location)
    if isinstance(part.loss, Mahalanobis):
        return np.asarray(residuals @ np.linalg.inv(part.loss.factor).T)
    scale = part.prediction.scale
    return residuals if scale is None else np.asarray(residuals / scale)


def _reuse(sets: Any, marks: str, name: str, X: Any, Y: Any) -> tuple[list[Check], Any]:
    """How many rows were used before, and which were not."""
    before: Any = getattr(sets, marks, None)
    found = count_seen(before, X, Y)
    if found is None:
        return [], slice(None)
    check = Check(name, found[0], "0", np.nan, found[0] > 0)
    rows: Any = mark_rows(X, Y)
    return [check], ~np.isin(rows, before)


def _sizes(size: int, alpha: float, delta: float) -> list[Check]:
    plain = Marginal().minimum_sample_size(alpha)
    sure = PAC(delta).minimum_sample_size(alpha)
    return [
        Check(name, size, f">= {needed}", np.nan, size < needed)
        for name, needed in zip(PROMISES, (plain, sure), strict=True)
    ]


def _numbers(
    residuals: Array, contexts: Array | None, fresh: Any
) -> tuple[list[Check], float]:
    """What residuals, and contexts, say; and the limit of chance."""
    if len(residuals) < FEWEST:
        return [_skipped(name, f"fewer than {FEWEST} rows") for name in REMEDIES], inf
    told = study_residuals(residuals, None if contexts is None else contexts[fresh])
    found = dict(zip(REMEDIES, told.surprises, strict=False))
    values = {
        name: getattr(told, number)
        for name, number in zip(REMEDIES, NUMBERS, strict=True)
    }
    return [
        Check(
            name, values[name], "0 up to chance", found[name], found[name] > told.limit
        )
        if name in found
        else _skipped(name, "X has no columns")
        for name in REMEDIES
    ], told.limit


def _skipped(name: str, why: str) -> Check:
    return Check(name, np.nan, f"not looked at: {why}", np.nan, False)
