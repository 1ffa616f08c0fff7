"""A cone program and audited rows as arrays and plain data, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..auditing.row_check import RowCheck
from ..modelling.cone_program import ConeProgram, rows_of

_TABLES = ("P", "q", "A", "b")
_KINDS = ("zero", "nonneg", "soc", "psd", "exp", "power")

Plain = dict[str, Any]


def require(holds: bool, what: str) -> None:
    """Raise ValueError unless something read from a file can be true."""
    if not holds:
        raise ValueError(f"{what} out of range")


def program_to(program: ConeProgram) -> tuple[Plain, Plain]:
    """Description and arrays of a program."""
    about = {
        "cones": [[kind, float(size)] for kind, size in program.cones],
        "sign": program.sign,
        "slots": {name: [s.start, s.stop] for name, s in program.slots.items()},
    }
    arrays = {
        "indices": program.indices,
        "indptr": program.indptr,
        "P_where": program.P_where,
    }
    for name in _TABLES:
        arrays |= _sparse_to(name, getattr(program, name))
    return about, arrays


def program_from(about: Plain, arrays: Plain, size: int) -> ConeProgram:
    """The program; variables are known by the names that the policy gives them."""
    tables = {name: _sparse_from(arrays, name, size) for name in _TABLES}
    found = ConeProgram(
        tuple((str(kind), float(extent)) for kind, extent in about["cones"]),
        float(about["sign"]),
        arrays["indices"],
        arrays["indptr"],
        arrays["P_where"],
        **tables,
        slots={name: slice(*ends) for name, ends in about["slots"].items()},
        variables={},
    )
    _check_program(found)
    return found


def _check_program(program: ConeProgram) -> None:
    rows, width = program.b.shape[0], program.width
    kinds, sizes = zip(*program.cones, strict=True) if program.cones else ((), ())
    require(set(kinds) <= set(_KINDS) and min(sizes, default=1) > 0, "cones")
    require(sum(rows_of(k, s) for k, s in program.cones) == rows, "rows of the cones")
    require(program.sign in (1.0, -1.0), "sense")
    require(program.q.shape[0] == width + 1, "objective")
    require(program.A.shape[0] == len(program.indices), "matrix")
    pattern = np.zeros(len(program.indices)), program.indices, program.indptr
    sp.csc_array(pattern, shape=(rows, width)).check_format(full_check=True)
    require(_within(program.P_where, width**2), "quadratic part")
    require(program.P.shape[0] == len(program.P_where), "quadratic part")
    for slot in program.slots.values():
        require(0 <= slot.start < slot.stop < program.size, "slots")


def row_to(number: int, row: RowCheck) -> tuple[Plain, Plain]:
    """Description and arrays of an audited row."""
    about = {
        "part": row.part,
        "keys": sorted(row.slopes),
        "equal": row.equal,
        "defines": row.defines,
        "unit": row.unit,
    }
    name = f"row.{number}"
    arrays = {f"{name}.columns": row.columns, **_sparse_to(name, row.certain)}
    for key, matrix in row.slopes.items():
        arrays |= _sparse_to(f"{name}.{key}", matrix)
        arrays[f"{name}.{key}.entries"] = row.entries[key]
    return about, arrays


def row_from(
    number: int,
    said: Plain,
    arrays: Plain,
    program: ConeProgram,
    dims: list[int],
    parts: int,
) -> RowCheck:
    """An audited row, checked against the program and the keys' dimensions."""
    name = f"row.{number}"
    columns, keys = arrays[f"{name}.columns"], said["keys"]
    width = len(columns) + 1
    found = RowCheck(
        int(said["part"]),
        columns,
        _sparse_from(arrays, name, program.size),
        {k: _sparse_from(arrays, f"{name}.{k}", width) for k in keys},
        {k: arrays[f"{name}.{k}.entries"] for k in keys},
        bool(said["equal"]),
        int(said["defines"]),
        int(said["unit"]),
    )
    require(-1 <= found.part < parts, "constraint")
    require(_within(columns + 1, program.width + 1), "columns of a row")
    require(-1 <= found.defines < program.width, "columns of a row")
    require(found.certain.shape[0] == width, "a row")
    for key in keys:
        entries = found.entries[key]
        require(0 <= key < len(dims) and _within(entries, dims[key]), "entries")
        require(found.slopes[key].shape[0] == len(entries), "slopes")
    return found


def _sparse_to(name: str, matrix: Any) -> Plain:
    table = sp.csr_array(matrix)
    return {
        f"{name}.data": table.data,
        f"{name}.indices": table.indices,
        f"{name}.indptr": table.indptr,
    }


def _sparse_from(arrays: Plain, name: str, width: int) -> Any:
    parts = [arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr")]
    found = sp.csr_array(tuple(parts), shape=(len(parts[2]) - 1, width))
    found.check_format(full_check=True)
    return found


def _within(numbers: Any, end: int) -> bool:
    return bool(((numbers >= 0) & (numbers < end)).all())
