"""A LossSet, looked at on data held out."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtri_exp
from scipy.stats import rankdata

from ..checks import Array, briefly, require_level
from ..errors import InvalidParameter
from ..guarantees import PAC, Marginal
from ..loss_set import LossSet
from ..loss_set.marks import Hashes, count_seen, mark_rows
from ..losses import NLL, Gaussian, Loss, Mahalanobis
from ..predictions import (
    AnyPrediction,
    Prediction,
    Table,
    can,
    frame_columns,
    require_aligned,
)
from ..theory.context_scan import look_for_bias, look_for_spread
from ..theory.residual_checks import Fact, look_at_dependence, normal_scores
from ..theory.residual_study import (
    FEWEST,
    NUMBERS,
    encode_contexts,
    study_residuals,
)
from .advice import (
    CHANGED,
    CLOSER,
    DEPENDENCE,
    EXPLAINED_BY,
    NUMBERED,
    PLACE,
    PROMISES,
    SEEN,
    USED,
    WIDE,
    advise,
)
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
    used, unused = _reuse(sets.calibration_marks, USED, X, Y)
    contexts = encode_contexts(X, len(residuals))
    numbers, limit = _numbers(residuals[fresh], contexts, fresh)
    changed = _changed(sets, X, Y, _both(fresh, unused), limit)
    closer = _closer(residuals[fresh], contexts, fresh, X, numbers, limit)
    sizes = _sizes(len(residuals[fresh]), alpha, delta)
    checks = (*seen, *used, *sizes, *changed, *numbers, *closer)
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


def _both(one: Rows, other: Rows) -> Rows:
    """Rows that are in both."""
    if isinstance(one, slice) or isinstance(other, slice):
        return other if isinstance(one, slice) else one
    return one & other


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
        return [_skipped(name, f"fewer than {FEWEST} rows") for name in NUMBERED], inf
    study = study_residuals(residuals, None if contexts is None else contexts[fresh])
    surprises = dict(zip(NUMBERED, study.surprises, strict=False))
    values = {
        name: vars(study)[number]
        for name, number in zip(NUMBERED, NUMBERS, strict=False)
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
        for name in NUMBERED
    ], study.limit


def _columns(X: Table, width: int) -> list[str]:
    named = frame_columns(X)
    return list(named) if named else [f"column {at}" for at in range(width)]


def _closer(
    residuals: Array,
    contexts: Array | None,
    fresh: Rows,
    X: Table,
    numbers: list[Check],
    limit: float,
) -> list[Check]:
    """What is too rare, or too slight, for the numbers; not where they say it."""
    if not isfinite(limit):
        return [_skipped(name, f"fewer than {FEWEST} rows") for name in CLOSER]
    checks = {DEPENDENCE: _check(DEPENDENCE, look_at_dependence(residuals), limit)}
    if contexts is None:
        checks |= {name: _skipped(name, "X has no columns") for name in (PLACE, WIDE)}
    else:
        table, names = contexts[fresh], _columns(X, contexts.shape[1])
        checks[PLACE] = _check(PLACE, look_for_bias(residuals, table, names), limit)
        checks[WIDE] = _check(WIDE, look_for_spread(residuals, table, names), limit)
    alarms = {check.name for check in (*numbers, *checks.values()) if check.alarming}
    return [
        replace(check, alarming=False) if alarms & EXPLAINED_BY[name] else check
        for name, check in checks.items()
    ]


def _check(name: str, fact: Fact, limit: float) -> Check:
    needed = f"0 up to chance{f'; most in {fact.where}' if fact.where else ''}"
    return Check(name, fact.value, needed, fact.surprise, fact.surprise > limit)


def _changed(
    sets: LossSet, X: Table, Y: Table, rows: Rows, limit: float
) -> list[Check]:
    """Losses against those of the calibration, by van der Waerden's test."""
    if not (isinstance(sets, LossSet) and sets.is_calibrated and isfinite(limit)):
        return []
    before, after = sets.scores_, sets.scores(X, Y)[rows]
    if len(sets.losses_) > 1 or min(len(before), len(after)) < FEWEST:
        return []
    both = np.concatenate([before, after])[:, None]
    scores = normal_scores(both)[:, 0]
    error = scores.std() * np.sqrt(1 / len(after) - 1 / len(both))
    surprise = abs(scores[len(before) :].mean()) / (error or inf)
    # Of both sides.
    chance = min(np.log(2) + float(log_ndtr(-surprise)), np.log(0.5))
    surprise = float(-ndtri_exp(chance))
    ranks = rankdata(both[:, 0])[len(before) :]
    higher = ranks.mean() / len(before) - (len(after) + 1) / 2 / len(before) - 0.5
    needed = "0 up to chance"
    return [Check(CHANGED, float(higher), needed, surprise, surprise > limit)]


def _skipped(name: str, why: str) -> Check:
    return Check(name, np.nan, f"not looked at: {why}", np.nan, False)
