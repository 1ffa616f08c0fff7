"""What the sets of a chunk of contexts answer: slots to fill, and worst outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array
from ..losses.separable import SeparableLoss
from ..sets import Box, UncertaintySet
from ..sets.emptiness import is_empty


@dataclass(frozen=True)
class FixedOracle:
    """One set for all contexts."""

    region: UncertaintySet

    @property
    def dim(self) -> int:
        """Number of entries of an outcome."""
        return self.region.dim

    def worst_case(self, directions: Array) -> Array:
        """The set's worst outcome in each direction, shape (n, dim)."""
        found = [self.region.worst_case(direction) for direction in directions]
        return np.reshape(found, directions.shape)


@dataclass(frozen=True)
class BatchOracle:
    """The sets of a batch, with what is known of the signs of outcomes.

    Attributes
    ----------
    batch : SetBatch or UnionBatch
    nonneg : which entries are not negative, shape (dim,)
    """

    batch: Any
    nonneg: Array

    @property
    def dim(self) -> int:
        """Number of entries of an outcome."""
        return len(self.nonneg)

    def worst_case(self, directions: Array) -> Array:
        """Each set's worst outcome in its direction, shape (n, dim)."""
        found = np.array(self.batch.worst_case(directions))
        # An outcome that is worst without regard to signs, and has the right ones, is
        # worst with them; the others are asked for one by one.
        wrong = (found[:, self.nonneg] < 0).any(axis=1)
        for i in np.flatnonzero(wrong).tolist():
            found[i] = self.signed(i).worst_case(directions[i])
        return found

    def signed(self, i: int) -> Any:
        """Set i and the signs."""
        floor = np.where(self.nonneg, 0.0, -np.inf)
        return self.batch[i] & Box(floor, np.full(self.dim, np.inf))

    def trouble(self) -> Any:
        """Why a context has no worst case, or "": strings of shape (n,)."""
        parts = parts_of(self.batch)
        n = len(self.batch)
        endless = np.any([~np.isfinite(part._budgets()) for part in parts], axis=0)
        found = np.where(endless, "unbounded_set", "").astype("<U13")
        if self.nonneg.any():
            empty = np.all([self._empty(part) for part in parts], axis=0)
            found[empty & ~endless] = "empty_set"
        return found if n else found[:0]

    def _empty(self, part: Any) -> Any:
        """Whether no outcome of each set has the right signs."""
        nearest = np.where(self.nonneg, np.maximum(part._point(), 0.0), part._point())
        score = part.loss.score(part.prediction, nearest)
        far = score > part._budgets()
        if not isinstance(part.loss, SeparableLoss):
            # What costs least is known by component only where the loss is.
            for i in np.flatnonzero(far).tolist():
                far[i] = is_empty(self.signed(i))
        return far


def parts_of(batch: Any) -> tuple[Any, ...]:
    """The batches a union is made of, or the batch itself."""
    return tuple(getattr(batch, "parts", (batch,)))
