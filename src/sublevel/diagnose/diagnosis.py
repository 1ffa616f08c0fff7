"""A LossSet, looked at on data held out."""

from __future__ import annotations

from math import inf
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..checks import Array, briefly, require_level
from ..errors import InvalidParameter
from ..guarantees import PAC, Marginal
from ..loss_set import LossSet
from ..loss_set.marks import Hashes, count_seen, mark_rows
from ..losses import NLL, Gaussian, Loss, Mahalanobis
from ..predictions import AnyPrediction, Prediction, Table, can, require_aligned
from ..theory.residual_study import (
    FEWEST,
    NUMBERS,
    encode_contexts,
    study_residuals,
)
from .advice import PROMISES, REMEDIES, SEEN, USED, advise
from .findings import Check, Findings

#: Some rows: flags, or all of them.
Rows: TypeAlias = slice | npt.NDArray[np.bool_]


def diagnose(
    sets: LossSet, X: Table, Y: Table, alpha: float = 0.1, delta: float = 0.05
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
    >>> findings = diagnose(sl.LossSet(lambda X: X), X, Y)
    >>> findings.to_pandas().query("alarming")["check"].tolist()
    ['excess kurtosis', 'R^2 of the total loss']
    """
    require_level("diagnose", alpha=alpha, delta=delta)
    residuals, loss = _residuals(sets, X, Y)
    seen, fresh = _reuse(sets.training_marks, SEEN, X, Y)
    used, _ = _reuse(sets.calibration_marks, USED, X, Y)
    numbers, limit = _numbers(
        residuals[fresh], encode_contexts(X, len(residuals)), fresh
    )
    sizes = _sizes(len(residuals[fresh]), alpha, delta)
    checks = (*seen, *used, *sizes, *numbers)
    return Findings(checks, advise(checks, loss, alpha, limit), limit)


def _residuals(sets: LossSet, X: Table, Y: Table) -> tuple[Array, Loss]:
    """Outcome minus prediction, in the shape of the sets, shape (N, m); their loss."""
    if isinstance(sets, type) or not can(sets, "predict_set"):
        raise InvalidParameter(
            f"diagnose(sets) must be a fitted LossSet, got {briefly(sets)}. Say "
            "diagnose(sl.LossSet(model).fit(X_train, Y_train), X, Y)."
        )
    require_aligned(Y, X, "diagnose", "Y")
    batch = sets.predict_set(X, budget=1.0)
    parts = batch.parts
    prediction = parts[0].prediction
    if not isinstance(prediction, Prediction):
        raise InvalidParameter(
            "diagnose(sets) looks at residuals, and must have a LossSet of numbers, "
            f"got predictions of type {type(prediction).__name__}."
        )
    outcomes = batch.outcomes.encode(Y, "diagnose")
    if len(outcomes) != len(prediction):
        raise InvalidParameter(
            f"diagnose: X and Y must have as many rows, got {len(prediction)} and "
            f"{len(outcomes)}."
        )
    shaped = [_shaped(part.prediction, part.loss, outcomes) for part in parts]
    return np.mean(shaped, axis=0), parts[0].loss


def _shaped(prediction: AnyPrediction, loss: Loss, outcomes: Array) -> Array:
    """Residuals in units of the predicted spread, or whitened by the loss."""
    residuals = np.asarray(outcomes - prediction.point)
    if isinstance(loss, Mahalanobis):
        return np.asarray(residuals @ np.linalg.inv(loss.factor).T)
    scale = prediction.scale if isinstance(prediction, Prediction) else None
    if isinstance(loss, Gaussian | NLL):
        full = loss if isinstance(loss, Gaussian) else loss.standard
        factor = full.factor(prediction)
        if factor is not None:
            return np.asarray(np.linalg.solve(factor, residuals[..., None])[..., 0])
    if scale is None:
        return residuals
    # Intervals may have no width at some contexts; there the others' is the unit.
    wide = scale > 0
    usual = np.mean(scale, axis=0, where=wide) if wide.any(axis=0).all() else 1.0
    return np.asarray(residuals / np.where(wide, scale, usual))


def _reuse(
    before: Hashes | None, name: str, X: Table, Y: Table
) -> tuple[list[Check], Rows]:
    """How many rows were used before, and which were not."""
    counted = count_seen(before, X, Y)
    rows = mark_rows(X, Y)
    if counted is None or before is None or rows is None:
        return [], slice(None)
    check = Check(name, counted[0], "0", np.nan, counted[0] > 0)
    return [check], ~np.isin(rows, before)


def _sizes(size: int, alpha: float, delta: float) -> list[Check]:
    plain = Marginal().minimum_sample_size(alpha)
    sure = PAC(delta).minimum_sample_size(alpha)
    return [
        Check(name, size, f">= {needed}", np.nan, size < needed)
        for name, needed in zip(PROMISES, (plain, sure), strict=True)
    ]


def _numbers(
    residuals: Array, contexts: Array | None, fresh: Rows
) -> tuple[list[Check], float]:
    """What residuals, and contexts, say; and the limit of chance."""
    if len(residuals) < FEWEST:
        return [_skipped(name, f"fewer than {FEWEST} rows") for name in REMEDIES], inf
    study = study_residuals(residuals, None if contexts is None else contexts[fresh])
    surprises = dict(zip(REMEDIES, study.surprises, strict=False))
    values = {
        name: vars(study)[number]
        for name, number in zip(REMEDIES, NUMBERS, strict=True)
    }
    return [
        Check(
            name,
            values[name],
            "0 up to chance",
            surprises[name],
            surprises[name] > study.limit,
        )
        if name in surprises
        else _skipped(name, "X has no columns")
        for name in REMEDIES
    ], study.limit


def _skipped(name: str, why: str) -> Check:
    return Check(name, np.nan, f"not looked at: {why}", np.nan, False)
