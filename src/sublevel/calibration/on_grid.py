"""Levels of a guarantee, rounded up to those at which decisions were looked at.

An envelope score says that decisions keep their word at the levels of the grid from
there on. Between two of them nothing was looked at: a guarantee may name a level there
(a mean of two scores, say), and only the next one up is known to be safe.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from math import isinf

import numpy as np

from ..checks import Array
from ..guarantees import Calibrated, Certificate
from ..predictions import Table
from .levels import Levels


@dataclass(frozen=True, eq=False)
class OnGrid:
    """A calibration whose levels are rounded up to the grid.

    Attributes
    ----------
    inner : a guarantee's calibration on envelope scores
    levels : the grid
    floor : the lowest level that was looked at
    certificate : what is promised
    """

    inner: Calibrated
    levels: Levels
    floor: float
    certificate: Certificate

    @property
    def budget(self) -> float | dict[Hashable, float]:
        """The level, or one for each group."""
        own = self.inner.budget
        if isinstance(own, Mapping):
            return {group: self.up(level) for group, level in own.items()}
        return self.up(float(own))

    def at(self, X: Table | None, n: int) -> Array:
        """The level at each of the n rows of X, shape (n,)."""
        values, where = np.unique(self.inner.at(X, n), return_inverse=True)
        return np.array([self.up(value) for value in values.tolist()])[where]

    def up(self, level: float) -> float:
        """The first level of the grid that is no less; inf as it is."""
        return level if isinf(level) else self.levels.up(max(level, self.floor))

    def with_certificate(self, certificate: Certificate) -> OnGrid:
        """The same under another certificate, its levels rounded up as well."""
        groups = tuple(
            (name, replace(each, budget=self.up(each.budget)))
            for name, each in certificate.groups
        )
        rounded = replace(
            certificate, budget=self.up(certificate.budget), groups=groups
        )
        return replace(self, certificate=rounded)
