"""Whether what was calibrated is still what decides.

A policy's own certificate speaks of one decision rule: model, problem, solver and
fallback. What it depended on is written down when it is calibrated: ordinary
parameters by value, models by what they predict at a few of the calibration contexts,
so that a model trained again in place is found out too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import Array
from ...predictions import count_rows, take_rows
from ..modelling.contexts import parts_of
from ..modelling.sets_at import is_predicted, named

#: Calibration contexts at which models are asked again.
PROBES = 50
#: Relative difference of predictions that counts as a change.
CHANGE = 1e-6


@dataclass(frozen=True, eq=False)
class Standing:
    """What decisions depended on when they were certified.

    Attributes
    ----------
    how : engine and solver
    ordinary : name and value of each ordinary parameter
    values : for each key its set value, or None
    X : a few contexts
    said : for each key what its model predicted there, or None
    """

    how: tuple[Any, Any]
    ordinary: list[tuple[str, Any]]
    values: list[Any]
    X: Any
    said: list[Any]

    def changed(self, policy: Any) -> str | None:
        """What is no longer as it was, in words; None if all is."""
        if (policy.engine, policy.solver) != self.how:
            return "engine or solver was changed"
        now = _ordinary(policy)
        for (name, before), (_, value) in zip(self.ordinary, now, strict=True):
            if not np.array_equal(before, value):
                return f"the parameter {name!r} was given another value"
        if any(a is not b for a, b in zip(self.values, _values(policy), strict=True)):
            return "a set value was replaced"
        keys = list(policy.problem.uncertainty)
        for key, before, now in zip(keys, self.said, self._ask(policy), strict=True):
            if before is not None and not _alike(before, now):
                return f"the model of {named(key)!r} predicts something else"
        return None

    def _ask(self, policy: Any) -> list[Any]:
        try:
            return _said(policy, self.X)
        except Exception:
            # Whatever the reason, the model does not do what it did.
            return [None] * len(self.said)


def standing(policy: Any, X: Any) -> Standing:
    """Write down what a policy's decisions depend on."""
    some = None if X is None else _some(X)
    how = policy.engine, policy.solver
    said = _said(policy, some)
    return Standing(how, _ordinary(policy), _values(policy), some, said)


def _some(X: Any) -> Any:
    """A few rows, from all over."""
    last = count_rows(X) - 1
    return take_rows(X, np.unique(np.linspace(0, last, PROBES).astype(int)))


def _ordinary(policy: Any) -> list[tuple[str, Any]]:
    found = policy.problem._ordinary
    return [(p.name(), None if p.value is None else np.array(p.value)) for p in found]


def _values(policy: Any) -> list[Any]:
    return [None if is_predicted(source) else source for source in policy._given()]


def _said(policy: Any, X: Any) -> list[Any]:
    """For each key what its model predicts at some contexts; None for a set value."""
    return [
        _numbers(source.predict_set(X, budget=1.0)) if is_predicted(source) else None
        for source in policy._given()
    ]


def says_the_same(source: Any, X: Any, before: list[Array]) -> bool:
    """Whether a source of sets predicts at some contexts what it did before."""
    try:
        return _alike(before, _numbers(source.predict_set(X)))
    except Exception:
        # Whatever the reason, the model does not do what it did.
        return False


def _numbers(batch: Any) -> list[Array]:
    found: list[Array] = []
    for part in parts_of(batch):
        said = part.prediction
        for block in getattr(said, "parts", (said,)):
            values = getattr(block, "values", None)
            blocks = (block.location, block.scale) if values is None else values
            found += [np.asarray(b, dtype=float) for b in blocks if b is not None]
    return found


def _alike(before: list[Array], now: Any) -> bool:
    if now is None or len(now) != len(before):
        return False
    return all(_close(a, b) for a, b in zip(before, now, strict=True))


def _close(one: Array, other: Array) -> bool:
    """Whether numbers differ by rounding only, whatever their unit."""
    if one.shape != other.shape:
        return False
    unit = np.abs(one[np.isfinite(one)]).max(initial=0.0)
    return np.allclose(one, other, rtol=CHANGE, atol=CHANGE * unit, equal_nan=True)
