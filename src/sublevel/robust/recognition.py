"""Whether what was calibrated is still what decides.

A policy's own certificate speaks of one decision rule: model, problem, solver and
fallback. What it depended on is written down when it is calibrated: ordinary parameters
by value, models by what they predict at a few of the calibration contexts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..checks import Array
from ..predictions import Table
from ..sets import UncertaintySet
from .decision_rule import DecisionRule
from .keys import UncertainKey
from .probes import Probes, Riders, probe


@dataclass(frozen=True, eq=False)
class Recognition:
    """What decisions depended on when they were certified.

    Attributes
    ----------
    how : engine and solver
    ordinary : name and value of each ordinary parameter
    values : for each key its set value, or None
    probes : contexts at which the models are known again; None without any
    """

    how: tuple[object, object]
    ordinary: list[tuple[str, Array | None]]
    values: list[UncertaintySet | None]
    probes: Probes | None

    def changed(self, rule: DecisionRule, riders: Riders | None = None) -> str | None:
        """What is no longer as it was, in words; None if all is.

        Parameters
        ----------
        rule : what decisions depend on
        riders : probes that were asked along with contexts
        """
        if rule.how != self.how:
            return "engine or solver was changed"
        pairs = zip(self.ordinary, rule.ordinary, strict=True)
        for (name, before), (_, after) in pairs:
            if not _equal(before, after):
                return f"the parameter {name!r} was given another value"
        sets = zip(self.values, set_values(rule.keys), strict=True)
        if any(before is not after for before, after in sets):
            return "a set value was replaced"
        probes = self.probes
        other = None if probes is None else probes.stranger(rule.keys, riders)
        return None if other is None else f"the model of {other[0]!r} {other[1]}"


def recognise(rule: DecisionRule, X: Table | None) -> Recognition:
    """Write down what a policy's decisions depend on."""
    probes = None if X is None else probe(rule.keys, X)
    return Recognition(rule.how, rule.ordinary, set_values(rule.keys), probes)


def set_values(keys: Sequence[UncertainKey]) -> list[UncertaintySet | None]:
    """For each key its set value, or None."""
    sources = [key.source for key in keys]
    return [s if isinstance(s, UncertaintySet) else None for s in sources]


def _equal(before: Array | None, after: Array | None) -> bool:
    if before is None or after is None:
        return before is after
    return np.array_equal(before, after)
