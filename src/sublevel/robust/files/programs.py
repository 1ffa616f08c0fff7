"""A cone program as arrays and plain values, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...conic.program import ConeProgram, rows_of
from .packing import MOST, Packer, Plain, Unpacker, require, whole
from .trial import KINDS

_TABLES = ("P", "q", "A", "b")


def program_to(program: ConeProgram, packer: Packer) -> Plain:
    """A program as plain values, its matrices by name."""
    return {
        "cones": [[kind, float(size)] for kind, size in program.cones],
        "sign": program.sign,
        "slots": {name: [s.start, s.stop] for name, s in program.slots.items()},
        "indices": packer.array(program.indices),
        "indptr": packer.array(program.indptr),
        "P_where": packer.array(program.P_where),
        "width": program.width,
        "height": program.height,
        **{name: packer.sparse(vars(program)[name]) for name in _TABLES},
    }


def program_from(about: Plain, reader: Unpacker, size: int) -> ConeProgram:
    """The program that was written, of so many slots; ValueError if it cannot be."""
    width, height = whole(about["width"], MOST), whole(about["height"], MOST)
    cones = tuple((kind, float(extent)) for kind, extent in about["cones"])
    require(all(_is_cone(*cone) for cone in cones), "cones")
    require(sum(rows_of(k, s) for k, s in cones) == height, "rows of the cones")
    indices = reader.positions(about["indices"], height)
    indptr = reader.pointers(about["indptr"], width, len(indices))
    require(_is_sorted(indices, indptr), "the pattern of a program")
    P_where = reader.positions(about["P_where"], width**2)
    require(bool((np.diff(P_where) > 0).all()), "quadratic part")
    sign = float(about["sign"])
    require(sign in (1.0, -1.0), "sense")
    return ConeProgram(
        cones,
        sign,
        indices,
        indptr,
        P_where,
        reader.sparse(about["P"], len(P_where), size),
        reader.sparse(about["q"], width + 1, size),
        reader.sparse(about["A"], len(indices), size),
        reader.sparse(about["b"], height, size),
        _slots_from(about["slots"], size - 1),
        {},
    )


def _slots_from(about: Plain, size: int) -> dict[str, slice]:
    """Names of slots, which leave none out and share none."""
    slots = {
        name: slice(whole(start, size + 1), whole(stop, size + 1))
        for name, (start, stop) in about.items()
    }
    at = 0
    for one in sorted(slots.values(), key=lambda s: (s.start, s.stop)):
        require(one.start == at and one.stop > at, "slots")
        at = one.stop
    require(at == size, "slots")
    return slots


def _is_cone(kind: str, size: float) -> bool:
    if kind == "power":
        return 0 < size < 1
    fits = kind in KINDS and 0 < size < MOST and size == int(size)
    return fits and (kind != "exp" or size == 3)


def _is_sorted(indices: Any, indptr: Any) -> bool:
    """Whether rows go up within every column."""
    steps = np.diff(indices)
    first = np.zeros(len(indices), dtype=bool)
    first[indptr[:-1][indptr[:-1] < len(indices)]] = True
    return bool((steps[~first[1:]] > 0).all()) if len(indices) > 1 else True
