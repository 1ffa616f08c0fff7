"""The two ends of every entry of an outcome, as parameters a set gives values to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from ...checks import Array
from ...errors import Unbounded
from .set_shape import SIDES
from .uncertain import Key, key_name


class End(cp.Parameter):  # type: ignore[misc]
    """Least or largest values of the entries of a key, shape (dim,).

    Attributes
    ----------
    key : the uncertain parameters
    side : "lower" or "upper"
    used : positions of the entries that a model asks for
    """

    def __init__(self, key: Key, side: str) -> None:
        self.key, self.side = key, side
        self.used: set[int] = set()
        size = sum(parameter.size for parameter in key)
        super().__init__(size, name=f"{side} ends of {key_name(key)}")

    def of(self, bounds: tuple[Array, Array]) -> Array:
        """Its value, given a set's bounds; zero where an end that is not used is
        infinite.
        """
        value = np.asarray(bounds[SIDES.index(self.side)])
        endless = ~np.isfinite(value)
        if endless[sorted(self.used)].any():
            raise Unbounded(
                f"The set for {key_name(self.key)!r} is unbounded, so no worst case "
                "exists. Intersect it with a bounded set such as sl.sets.Box."
            )
        return np.where(endless, 0.0, value)


class Ends:
    """The ends of all keys of a model, each made once."""

    def __init__(self) -> None:
        self._made: dict[tuple[Key, str], End] = {}

    def of(self, key: Key, side: str, entry: int) -> cp.Expression:
        """An entry of one side of a key."""
        if (key, side) not in self._made:
            self._made[key, side] = End(key, side)
        end = self._made[key, side]
        end.used.add(entry)
        return end[entry]


def ends_in(constraints: list[cp.Constraint]) -> list[End]:
    """The ends that constraints mention, each once."""
    by_id = {p.id: p for c in constraints for p in c.parameters()}
    return [p for p in by_id.values() if isinstance(p, End)]


def end_values(ends: list[End], sets: Mapping[Key, Any]) -> dict[int, Array]:
    """Parameter id -> value, of the ends whose keys have a set."""
    bounds = {key: sets[key].bounds() for key in {e.key for e in ends} if key in sets}
    return {end.id: end.of(bounds[end.key]) for end in ends if end.key in bounds}
