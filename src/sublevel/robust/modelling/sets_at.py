"""The set of an uncertain parameter at one context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import EmptySet, InvalidParameter, Unbounded
from ...guarantees.calibration import Calibration
from ...loss_set.batch import SetBatch
from ...predictions import (
    JointPrediction,
    Numbers,
    Outcomes,
    Prediction,
    count_rows,
    take_rows,
)
from ...sets import Box, UncertaintySet
from ...sets.members import is_empty
from .contexts import parts_of
from .counterpart import Key
from .oracle import CheckedOracle, is_oracle

#: What can stand in for covariates.
PREDICTIONS = (Prediction, JointPrediction)


def is_predicted(value: Any) -> bool:
    """Whether a set depends on the context."""
    return not isinstance(value, UncertaintySet) and hasattr(value, "predict_set")


def count_contexts(X: Any) -> int:
    """Rows of covariates, or of predictions."""
    if isinstance(X, dict):
        counts = {len(said) for said in X.values()}
        if len(counts) != 1:
            raise InvalidParameter(
                "Predictions of several parameters must have as many rows, got "
                f"{sorted(counts)}."
            )
        return int(counts.pop())
    return len(X) if isinstance(X, PREDICTIONS) else count_rows(X)


def as_contexts(X: Any) -> Any:
    """Covariates in a form whose rows can be taken again and again."""
    if isinstance(X, list):
        return np.asarray(X)
    return X.tocsr() if hasattr(X, "tocsr") else X


def sets_of(key: Sequence[Any], source: Any, losses: Any, X: Any, rows: Any) -> Any:
    """A key's batch of sets at some rows of X: covariates or predictions."""
    given = X.get(named(key)) if isinstance(X, dict) else X
    if given is None:
        raise InvalidParameter(
            f"The predictions must have one for {named(key)!r}, got {sorted(X)}."
        )
    if isinstance(given, PREDICTIONS):
        batch = predicted_sets(losses, common_budget(source), given[rows])
    else:
        batch = source.predict_set(take_rows(given, rows))
    size, width = sum(p.size for p in key), parts_of(batch)[0].prediction.width
    if width != size:
        raise InvalidParameter(
            f"The sets for {named(key)!r} must have dimension {size}, got {width}."
        )
    if tuple(part.loss for part in parts_of(batch)) != losses:
        raise InvalidParameter(
            f"The LossSet for {named(key)!r} was fitted again after the policy was "
            "compiled. Compile the problem again."
        )
    return batch


def common_budget(source: Any) -> float | None:
    """The budget of all contexts, or None where it differs between them."""
    calibration = getattr(source, "calibration_", None)
    if calibration is not None and not isinstance(calibration, Calibration):
        # A weighted budget is that of a typical context only.
        return None
    budget = getattr(source, "budget_", None)
    return float(budget) if isinstance(budget, float | int) else None


def predicted_sets(losses: Any, budget: float | None, said: Any) -> SetBatch:
    """The sets of given predictions at one budget."""
    if len(losses) != 1 or budget is None:
        raise InvalidParameter(
            "Predictions alone do not tell the sets: the LossSet is a union of folds, "
            "or its budget differs between contexts. Give covariates, and the LossSet."
        )
    if not losses[0].has_slots:
        raise InvalidParameter(
            "Predictions of labels do not tell the names of the classes. Give "
            "covariates."
        )
    for part in getattr(said, "parts", (said,)):
        _check_numbers(part)
    losses[0].check(said)
    outcomes = Outcomes((Numbers(said.width),))
    return SetBatch(losses[0], said, np.full(len(said), budget), outcomes, ())


def _check_numbers(said: Any) -> None:
    """Many contexts, finite predictions, positive spreads."""
    location, scale = said.location, said.scale
    if np.ndim(location) != 2 or (scale is not None and scale.shape != location.shape):
        raise InvalidParameter(
            "Prediction(location=..., scale=...) must be of shape (n, m) for n "
            f"contexts, got {np.shape(location)} and {np.shape(scale)}."
        )
    if not np.isfinite(location).all():
        raise InvalidParameter("Prediction(location=...) must be finite.")
    if scale is not None and not ((scale > 0) & np.isfinite(scale)).all():
        raise InvalidParameter("Prediction(scale=...) must be positive and finite.")


def named(key: Sequence[Any]) -> str:
    """A key in words."""
    names = [p.name() if callable(p.name) else p.name for p in key]
    return ", ".join(names)


def set_at(key: Key, value: Any, X: Any) -> UncertaintySet | CheckedOracle:
    """A key's set at one context, with declared signs taken into account."""
    if not isinstance(value, UncertaintySet) and not is_oracle(value):
        value = _predicted(named(key), value, X)
    return set_value(key, value)


def set_value(key: Key, value: Any) -> UncertaintySet | CheckedOracle:
    """A set value, checked, with declared signs taken into account."""
    name = named(key)
    size = sum(parameter.size for parameter in key)
    if value.dim != size:
        raise InvalidParameter(
            f"The set for {name!r} must have dimension {size}, got {value.dim}."
        )
    if not getattr(value, "is_bounded", True):
        raise Unbounded(
            f"The set for {name!r} is unbounded, so no worst case exists. If its "
            "budget is inf, calibrate with more data or at a larger alpha."
        )
    if not isinstance(value, UncertaintySet):
        return CheckedOracle(key, value)
    signs = np.concatenate([np.full(p.size, p.is_nonneg()) for p in key])
    if signs.any():
        floor = np.where(signs, 0.0, -np.inf)
        if (value.bounds()[0] < floor).any():
            signed: UncertaintySet = value & Box(floor, np.full(size, np.inf))
            if is_empty(signed):
                raise EmptySet(
                    f"The set for {name!r} has no outcome that is nonneg=True, as it "
                    "was declared."
                )
            return signed
    found: UncertaintySet = value
    return found


def _predicted(name: str, sets: Any, X: Any) -> UncertaintySet:
    if not hasattr(sets, "predict_set"):
        raise InvalidParameter(
            f"The set for {name!r} must be a LossSet or a set value, or an oracle "
            f"with dim and worst_case, got {type(sets).__name__}."
        )
    if X is None:
        raise InvalidParameter(
            f"RobustProblem.solve(X) needs the covariates of one context, as the set "
            f"for {name!r} is a LossSet."
        )
    batch = sets.predict_set(X)
    if len(batch) != 1:
        raise InvalidParameter(
            f"RobustProblem.solve(X) takes one context, got {len(batch)} rows. Take "
            "one row, X[:1]."
        )
    found: UncertaintySet = batch[0]
    return found
