"""Results of chunks put together, under the user's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import Array
from ..auditing.decisions import Audits, Decisions, Named
from ..compiled.chunk import ChunkResult, no_decisions


def named(part: Any) -> Named:
    """The name and shape of a CVXPY variable or parameter."""
    return Named(part.id, part.name(), tuple(part.shape))


class Gathering:
    """Room for the decisions of n contexts, filled as chunks come in.

    Only the answers are kept, so that the memory needed does not depend on the number
    of chunks.

    Parameters
    ----------
    rows : number of contexts
    variables : the model's variables, in the order of the results' columns
    keys : uncertain parameters, as they share sets
    parts : number of uncertain constraints
    """

    def __init__(
        self,
        rows: int,
        variables: Sequence[Named],
        keys: Sequence[tuple[Named, ...]],
        parts: int,
    ) -> None:
        self.variables, self.keys, self.parts = tuple(variables), tuple(keys), parts
        # A context that no result speaks of would be seen.
        self.found = self.like(np.full(rows, "lost"))

    def __len__(self) -> int:
        return len(self.found)

    @property
    def status(self) -> Any:
        """Status of each context, to be written to."""
        return self.found.status

    def like(self, status: Any) -> ChunkResult:
        """An empty result of contexts with these statuses."""
        width = sum(v.size for v in self.variables)
        dims = [sum(p.size for p in key) for key in self.keys]
        return no_decisions(status, width, self.parts, dims)

    def put(self, rows: Any, result: ChunkResult) -> None:
        """Write the results of some contexts."""
        found = self.found
        found.status[rows], found.values[rows] = result.status, result.values
        found.objective[rows], found.gap[rows] = result.objective, result.gap
        found.violations[rows] = result.violations
        found.binding[rows] = result.binding
        for key, outcomes in result.outcomes.items():
            found.outcomes[key][rows] = outcomes

    def decisions(self, certificates: Any, index: Any) -> Decisions:
        """All contexts' decisions."""
        found = self.found
        passed = found.status == "optimal"
        audit = Audits(
            found.objective, found.gap, found.violations, found.binding, passed
        )
        outcomes: dict[Named, Array] = {}
        for number, key in enumerate(self.keys):
            outcomes |= _split(found.outcomes[number], key)
        values = _split(found.values, self.variables)
        return Decisions(
            found.status, found.objective, audit, certificates, index, values, outcomes
        )


def _split(flat: Array, names: Sequence[Named]) -> dict[Named, Array]:
    """Columns of an array, given to names one after another."""
    found, start = {}, 0
    for name in names:
        found[name] = _shaped(flat[:, start : start + name.size], name.shape)
        start += name.size
    return found


def _shaped(flat: Array, shape: tuple[int, ...]) -> Array:
    """Rows read column by column into arrays of a shape."""
    turned = flat.reshape((len(flat), *shape[::-1]))
    return turned.transpose(0, *range(len(shape), 0, -1))
