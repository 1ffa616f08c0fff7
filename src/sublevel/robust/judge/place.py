"""A place where an expression meets the outcome: a number that is affine in it.

Arrays only, so that a saved policy has them; `places` finds them in an expression.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...checks import Array
from ...conic.program import Indices
from ...conic.sparse_table import RowMap
from .tape import Leaves, Tape

if TYPE_CHECKING:
    import scipy.sparse as sp


class Place(Protocol):
    """One number  constant(x) + sum_k slopes_k(x) @ y_k[entries_k]."""

    @property
    def entries(self) -> dict[int, Indices]:
        """Key number -> which entries of the key it sees."""

    @property
    def is_bilinear(self) -> bool:
        """Whether the slopes depend on the decision."""

    def certain(self, values: Array, ordinary: Array) -> Array:
        """The part without the outcome, shape (n,)."""

    def directions(self, values: Array, ordinary: Array) -> dict[int, Array]:
        """Key number -> slope in the entries it sees, shape (n, entries)."""


@dataclass(frozen=True, eq=False)
class TablePlace:
    """A place that is affine in the decision too.

    Attributes
    ----------
    columns : entries of the decision it depends on, shape (k,)
    constant : sparse (k + 1, ordinary + 1): the part without the outcome, by ordinary
        parameter, constants last in both ways
    slopes : key number -> sparse (entries, k + 1)
    entries : key number -> which entries of the key, shape (entries,)
    """

    columns: Indices
    constant: sp.csr_array
    slopes: dict[int, sp.csr_array]
    entries: dict[int, Indices]

    @property
    def is_bilinear(self) -> bool:
        """Whether the slopes depend on the decision."""
        last = len(self.columns)
        return any((table.indices < last).any() for table in self.slopes.values())

    def certain(self, values: Array, ordinary: Array) -> Array:
        """The part without the outcome, shape (n,)."""
        if len(ordinary):
            weights = np.asarray(self.constant @ np.append(ordinary, 1.0))
        else:
            weights = self._fixed
        if not weights.any():
            return np.zeros(len(values))
        return np.asarray(self._decision(values) @ weights)

    @cached_property
    def _fixed(self) -> Array:
        """The part without the outcome where there are no ordinary parameters."""
        return np.asarray(self.constant @ np.ones(1))

    def directions(self, values: Array, ordinary: Array) -> dict[int, Array]:
        """Key number -> slope in the entries it sees, shape (n, entries)."""
        del ordinary
        if self._picks is not None:
            return {key: pick(values) for key, pick in self._picks.items()}
        decision = self._decision(values)
        return {
            key: np.ascontiguousarray((table @ decision.T).T)
            for key, table in self.slopes.items()
        }

    @cached_property
    def _picks(self) -> dict[int, RowMap] | None:
        """Key number -> slopes that are single entries of the decision; or None."""
        last, picks = len(self.columns), {}
        for key, table in self.slopes.items():
            # The last column is a constant, not an entry of the decision.
            if (table.indices >= last).any():
                return None
            picks[key] = RowMap(table, self.columns)
            if not picks[key].is_picking:
                return None
        return picks

    def _decision(self, values: Array) -> Array:
        """What it depends on, with a one at the end: shape (n, k + 1)."""
        part = np.empty((len(values), len(self.columns) + 1))
        part[:, :-1] = values[:, self.columns]
        part[:, -1] = 1.0
        return part


@dataclass(frozen=True, eq=False)
class ProbedPlace:
    """A place whose slopes are curved in the decision: found by trying every entry.

    Attributes
    ----------
    tape : the expression it is an entry of
    row : which entry
    entries : key number -> all entries of the key
    dims : number of entries of every key of the model
    """

    tape: Tape
    row: int
    entries: dict[int, Indices]
    dims: tuple[int, ...]

    @property
    def is_bilinear(self) -> bool:
        """Yes."""
        return True

    def certain(self, values: Array, ordinary: Array) -> Array:
        """The part without the outcome, shape (n,)."""
        nothing = [np.zeros((len(values), dim)) for dim in self.dims]
        return self.tape.rows(Leaves(values, nothing, ordinary))[:, self.row]

    def directions(self, values: Array, ordinary: Array) -> dict[int, Array]:
        """Key number -> slope in the entries it sees, shape (n, entries)."""
        base = self.certain(values, ordinary)
        slopes = {}
        for key, entries in self.entries.items():
            slopes[key] = np.zeros((len(values), len(entries)))
            for entry in entries.tolist():
                outcomes = [np.zeros((len(values), dim)) for dim in self.dims]
                outcomes[key][:, entry] = 1.0
                moved = self.tape.rows(Leaves(values, outcomes, ordinary))[:, self.row]
                slopes[key][:, entry] = moved - base
        return slopes


def value_at(place: Place, leaves: Leaves) -> tuple[Array, Array]:
    """A place's part without the outcome and with it, at known outcomes: (n,) each."""
    certain = place.certain(leaves.values, leaves.ordinary)
    moved = np.zeros(len(leaves))
    for key, slope in place.directions(leaves.values, leaves.ordinary).items():
        seen = leaves.outcomes[key][:, place.entries[key]]
        moved = moved + np.sum(slope * seen, axis=1)
    return certain, moved
