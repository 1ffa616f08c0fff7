"""The judge of decisions that are held against many weighted outcomes at once.

Constraints are looked at in every scenario, as they are written, or on average; the
objective on average. The tapes are those of the model's own judge: each is run with the
scenarios of all contexts side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...checks import Array, BoolArray
from .ruler import Ruler
from .tape import Leaves, Shape, Tape
from .written_rows import Extremes, Held, WrittenRows

#: Most numbers of decisions and outcomes that a tape is run with in one go.
MOST_NUMBERS = 2_000_000


@dataclass(frozen=True, eq=False)
class ScenarioTape(Tape):
    """An expression in every scenario: its rows, scenario after scenario.

    The outcomes of a context are those of all scenarios, then their weights.

    Attributes
    ----------
    count : number of scenarios
    entries : rows in each; an expression of one entry is there for all of them
    """

    count: int
    entries: int

    @property
    def shape(self) -> Shape:
        """Rows of all scenarios."""
        return (self.count * self.entries,)

    def run(self, leaves: Leaves) -> Array:
        """The rows of all scenarios, shape (n, rows)."""
        return self.joined(leaves, self._each(leaves, Tape(self.steps).rows))

    def rows(self, leaves: Leaves) -> Array:
        """The same."""
        return self.run(leaves)

    def position(self, other: Tape) -> None:
        """Steps of one scenario are not those of all."""
        del other

    def gross(
        self, leaves: Leaves, floor: Array, whole: BoolArray | bool = False
    ) -> Array:
        """Size of what each row adds up: (n, rows)."""
        inner = Tape(self.steps)

        def sizes(part: Leaves) -> Array:
            each = np.repeat(floor, len(part) // len(floor), axis=0)
            return inner.gross(part, each, whole)

        return self.joined(leaves, self._each(leaves, sizes))

    def joined(self, leaves: Leaves, each: Array) -> Array:
        """What becomes of scenarios, shape (n, scenarios, entries): all stay."""
        return each.reshape(len(leaves), -1)

    def _each(self, leaves: Leaves, function: Callable[[Leaves], Array]) -> Array:
        """A function of leaves in every scenario, shape (n, scenarios, entries)."""
        n, width = leaves.values.shape
        scenarios = leaves.outcomes[0].reshape(n, self.count, -1)
        numbers = n * (width + scenarios.shape[2])
        step = max(1, MOST_NUMBERS // max(1, numbers))
        parts = []
        for start in range(0, self.count, step):
            some = scenarios[:, start : start + step]
            wide = Leaves(
                np.repeat(leaves.values, some.shape[1], axis=0),
                [some.reshape(n * some.shape[1], -1)],
                leaves.ordinary,
            )
            rows = function(wide).reshape(n, some.shape[1], -1)
            parts.append(np.broadcast_to(rows, (*rows.shape[:2], self.entries)))
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True, eq=False)
class AverageTape(ScenarioTape):
    """An expression on average over the scenarios, by their weights."""

    @property
    def shape(self) -> Shape:
        """Rows of one scenario."""
        return (self.entries,)

    def joined(self, leaves: Leaves, each: Array) -> Array:
        """Their mean, shape (n, entries)."""
        return np.asarray(np.einsum("nk,nkr->nr", leaves.outcomes[1], each))


class ScenarioRows(WrittenRows):
    """Rows at outcomes that are what they are: there is no worse one to look for."""

    def worst(self, held: Held) -> Extremes:
        """The rows at the only outcomes."""
        n = len(held)
        outcomes = {
            key: oracle.worst_case(np.zeros((n, oracle.dim)))
            for key, oracle in enumerate(held.oracles)
        }
        leaves = held.leaves(outcomes)
        value, size = self.at(leaves)
        return Extremes(value, size, (outcomes,), np.zeros(value.shape, dtype=int))


def scenario_ruler(ruler: Ruler, count: int, averaged: bool) -> Ruler:
    """The judge of a model over `count` weighted scenarios, from that of the model.

    Parameters
    ----------
    averaged : whether uncertain constraints are looked at on average
    """
    kind = AverageTape if averaged else ScenarioTape

    def rows(part: WrittenRows, tape: type[ScenarioTape]) -> ScenarioRows:
        residual = tape(part.residual.steps, count, part.size)
        sides = tuple(tape(side.steps, count, part.size) for side in part.sides)
        return ScenarioRows(part.text, part.equal, residual, None, sides, None)

    cost = None if ruler.cost is None else rows(ruler.cost, AverageTape)
    objective: Tape = ruler.objective
    if cost is not None:
        objective = AverageTape(ruler.objective.steps, count, 1)
    return replace(
        ruler,
        uncertain=tuple(rows(part, kind) for part in ruler.uncertain),
        objective=objective,
        cost=cost,
    )
