"""The outcomes that cuts are made at: which there are, and how they are handed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ....checks import Array
from ....errors import InvalidParameter
from ....sets import UncertaintySet
from ...judge.set_oracles import Region
from ...model.lifting import Lifted
from ...model.oracle import CheckedOracle
from ...model.rows import UncertainRow
from ...model.uncertain import Key, Uncertain
from ..lifted_set import LiftedSet

#: One outcome of every key.
Joint = dict[Key, Array]

#: A row and the outcomes, one a key it sees, at which it must hold.
Cut = tuple[int, Joint]


class Scenarios:
    """Outcomes a master problem knows, row by row.

    Parameters
    ----------
    rows : the uncertain rows
    sets : the set of every key
    held : number of constraints that are held against outcomes as written; they are
        numbered after the rows
    """

    def __init__(
        self, rows: Sequence[UncertainRow], sets: Mapping[Key, Region], held: int = 0
    ) -> None:
        self._rows, self._sets, self._held = rows, sets, held
        self._marks: set[tuple[int, bytes]] = set()
        self._joint: dict[bytes, Joint] = {}
        self._any: Joint = {}

    def start(self, given: Mapping[Uncertain, npt.ArrayLike] | None) -> list[Cut]:
        """Every row at two extremes of the sets, and at the scenarios given."""
        extremes = [
            {key: U.worst_case(np.full(U.dim, sign)) for key, U in self._sets.items()}
            for sign in (1.0, -1.0)
        ]
        self._any = extremes[0]
        inside = self._inside(given) if given is not None else []
        return [
            (i, {key: joint[key] for key in self._keys(i)})
            for joint in [*extremes, *inside]
            for i in range(len(self._rows) + self._held)
            if self.is_new(i, joint)
        ]

    def _keys(self, i: int) -> list[Key]:
        """The keys that a row sees; all of them for what is held as written."""
        return list(self._rows[i].slopes if i < len(self._rows) else self._sets)

    def is_new(self, i: int, outcomes: Joint) -> bool:
        """Whether row i has no cut at these outcomes yet; it has one from now on."""
        if i < len(self._rows):
            row = self._rows[i]
            seen = [outcomes[key][row.entries[key]] for key in row.slopes]
        else:
            seen = [outcomes[key] for key in self._sets if key in outcomes]
        mark = i, np.concatenate(seen).tobytes()
        if mark in self._marks:
            return False
        self._marks.add(mark)
        whole = {**self._any, **outcomes}
        self._joint[np.concatenate(list(whole.values())).tobytes()] = whole
        return True

    def by_parameter(self) -> dict[Uncertain, Array]:
        """Outcomes of each parameter, shape (n, size); row j belongs to scenario j."""
        by_parameter: dict[Uncertain, Array] = {}
        for key in self._sets:
            outcomes = [joint[key] for joint in self._joint.values()]
            table = np.reshape(outcomes, (len(outcomes), self._sets[key].dim))
            ends = np.cumsum([parameter.size for parameter in key])[:-1]
            pieces = np.split(table, ends, axis=1)
            by_parameter.update(zip(key, pieces, strict=True))
        return {p: v for p, v in by_parameter.items() if not isinstance(p, Lifted)}

    def _inside(self, given: Mapping[Uncertain, npt.ArrayLike]) -> list[Joint]:
        """The scenarios whose every outcome is in its set.

        One outside would protect against what cannot happen.
        """
        joint = {key: _outcomes(key, U, given) for key, U in self._sets.items()}
        lengths = {len(outcomes) for outcomes in joint.values()}
        if len(lengths) > 1:
            raise InvalidParameter(
                "Cuts(scenarios=...) must have as many outcomes for every parameter, "
                f"got {sorted(lengths)}."
            )
        inside = [_members(self._sets[key], joint[key]) for key in joint]
        kept = np.flatnonzero(np.all(inside, axis=0))
        return [{key: joint[key][j] for key in joint} for j in kept]


def _members(region: Region, outcomes: Array) -> npt.NDArray[np.bool_]:
    if not isinstance(region, UncertaintySet | CheckedOracle):
        return np.ones(len(outcomes), dtype=bool)
    return np.asarray(region.contains(outcomes))


def _outcomes(
    key: Key, region: Region, given: Mapping[Uncertain, npt.ArrayLike]
) -> Array:
    """Outcomes of a key; what functions say of them follows from the outcomes."""
    if not isinstance(region, LiftedSet):
        return _stacked(key, given)
    return region.joined(_stacked(region.key, given))


def _stacked(key: Key, given: Mapping[Uncertain, npt.ArrayLike]) -> Array:
    """Outcomes of a key, shape (n, dim), from those of its parameters."""
    pieces = []
    for parameter in key:
        if parameter not in given:
            raise InvalidParameter(
                f"Cuts(scenarios=...) must have outcomes of {parameter.name()!r}."
            )
        piece = np.asarray(given[parameter], dtype=float)
        if piece.ndim != 2 or piece.shape[1] != parameter.size:
            raise InvalidParameter(
                f"Cuts(scenarios=...) must be of shape (n, {parameter.size}) for "
                f"{parameter.name()!r}, got {piece.shape}."
            )
        pieces.append(piece)
    if len({len(piece) for piece in pieces}) > 1:
        raise InvalidParameter(
            "Cuts(scenarios=...) must have as many outcomes for every parameter."
        )
    return np.hstack(pieces)
