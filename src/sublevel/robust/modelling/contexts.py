"""What the sets of a chunk of contexts answer when asked for worst outcomes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

import numpy as np

from ...checks import Array
from ...loss_set.batch import SetBatch, UnionBatch
from ...losses.separable import SeparableLoss
from ...predictions import Numbers, Outcomes, Prediction
from ...sets import Box, UncertaintySet
from ...sets.members import is_empty

#: Sets without a closed form ask CVXPY, which numbers its variables with one counter
#: for all threads and does not guard it.
_ONE_AT_A_TIME = RLock()


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
        with _ONE_AT_A_TIME:
            found = [self.region.worst_case(direction) for direction in directions]
        return np.reshape(found, directions.shape)

    def worst_on(self, entries: Any, directions: Array) -> Array:
        """Some entries of the worst outcome in directions that see only these."""
        full = _spread(entries, directions, self.dim)
        return np.asarray(self.worst_case(full)[:, entries])

    def narrowed(self, rows: Any) -> FixedOracle:
        """The same at some contexts."""
        del rows
        return self


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
        with _ONE_AT_A_TIME:
            for i in np.flatnonzero(wrong).tolist():
                found[i] = self.signed(i).worst_case(directions[i])
        return found

    def worst_on(self, entries: Any, directions: Array) -> Array:
        """Some entries of the worst outcome in directions that see only these."""
        if len(entries) < self.dim and not self.nonneg.any():
            parts = [_shadow(part, entries) for part in parts_of(self.batch)]
            if None not in parts:
                shadow = parts[0] if len(parts) == 1 else UnionBatch(tuple(parts))
                return np.asarray(shadow.worst_case(directions))
        full = _spread(entries, directions, self.dim)
        return self.worst_case(full)[:, entries]

    def narrowed(self, rows: Any) -> BatchOracle:
        """The same at some contexts."""
        return replace(self, batch=self.batch[rows])

    def signed(self, i: int) -> Any:
        """Set i and the signs."""
        floor = np.where(self.nonneg, 0.0, -np.inf)
        return self.batch[i] & Box(floor, np.full(self.dim, np.inf))

    def trouble(self) -> Any:
        """Why a context has no worst case, or "": strings of shape (n,)."""
        parts = parts_of(self.batch)
        endless = np.any(
            [~np.isfinite(part.effective_budgets) for part in parts], axis=0
        )
        found = np.where(endless, "unbounded_set", "")
        if self.nonneg.any() and not endless.all():
            ready = np.flatnonzero(~endless)
            found[ready[self.narrowed(ready)._empty()]] = "empty_set"
        return found

    def _empty(self) -> Any:
        """Whether no outcome of each set has the right signs, shape (n,)."""
        parts = parts_of(self.batch)
        far = np.all([self._far(part) for part in parts], axis=0)
        if not all(isinstance(part.loss, SeparableLoss) for part in parts):
            # What costs least is known by component only where the loss is.
            with _ONE_AT_A_TIME:
                for i in np.flatnonzero(far).tolist():
                    far[i] = is_empty(self.signed(i))
        return far

    def _far(self, part: Any) -> Any:
        """Whether the prediction, made nonnegative, is outside its set."""
        point = part.points
        nearest = np.where(self.nonneg, np.maximum(point, 0.0), point)
        return part.loss.score(part.prediction, nearest) > part.effective_budgets


def parts_of(batch: Any) -> tuple[Any, ...]:
    """The batches a union is made of, or the batch itself."""
    return tuple(getattr(batch, "parts", (batch,)))


def _spread(entries: Any, directions: Array, dim: int) -> Array:
    """The directions with zeros for the entries they do not see, shape (n, dim)."""
    if len(entries) == dim:
        return directions
    found = np.zeros((len(directions), dim))
    found[:, entries] = directions
    return found


def _shadow(part: Any, entries: Any) -> Any:
    """The sets' shadows on some entries, where these are sublevel sets; or None.

    The others then cost their least, which is the floor.
    """
    loss = part.loss.narrowed(entries)
    if loss is None:
        return None
    said = part.prediction
    scale = None if said.scale is None else said.scale[:, entries]
    narrow = Prediction(said.location[:, entries], scale)
    budgets = part.effective_budgets - part.loss.floor(said) + loss.floor(narrow)
    return SetBatch(loss, narrow, budgets, Outcomes((Numbers(len(entries)),)), ())
