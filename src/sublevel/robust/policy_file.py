"""Policies in files: arrays and JSON in one zip, nothing that runs when it is read."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InvalidParameter
from ..guarantees import Certificate
from ..sets import from_dict
from ..sets.as_dict import loss_from_dict, loss_to_dict
from .compiling import Compiled
from .cone_program import ConeProgram
from .decisions import Named
from .row_check import RowCheck

#: What the file calls itself, and the version of its layout.
FORMAT, VERSION = "sublevel policy", 1

_TABLES = ("P", "q", "A", "b")


def save_recipe(path: Any, recipe: Any, sources: list[Any], losses: list[Any]) -> None:
    """Write a recipe; `sources` are the keys' LossSets or set values."""
    compiled = recipe.compiled
    about = {
        "format": FORMAT,
        "version": VERSION,
        "program": _about_program(compiled.program),
        "parts": compiled.parts,
        "variables": [
            {"name": v.name, "shape": v.shape, "columns": np.asarray(c).tolist()}
            for v, c in recipe.variables.items()
        ],
        "keys": [
            _about_key(key, source, parts)
            for key, source, parts in zip(recipe.keys, sources, losses, strict=True)
        ],
        "rows": [
            {"part": row.part, "keys": sorted(row.slopes)} for row in compiled.rows
        ],
    }
    arrays = {"fixed": recipe.fixed, **_program_arrays(compiled.program)}
    for number, nonneg in enumerate(compiled.nonneg):
        arrays[f"nonneg.{number}"] = nonneg
    for number, row in enumerate(compiled.rows):
        arrays |= _row_arrays(number, row)
    text = json.dumps(about, allow_nan=False).encode()
    arrays["about"] = np.frombuffer(text, dtype=np.uint8)
    with Path(path).open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_recipe(path: Any) -> tuple[dict[str, Any], Compiled, Any]:
    """What was written: description, compiled program and slot vector."""
    arrays = _arrays(path)
    try:
        about = json.loads(arrays["about"].tobytes())
        if about["format"] != FORMAT:
            raise KeyError("format")
    except (KeyError, ValueError) as error:
        raise _foreign(path, "it is not a policy") from error
    if about["version"] != VERSION:
        raise _foreign(
            path, f"its layout is version {about['version']}, this reads {VERSION}"
        )
    try:
        return about, _compiled(about, arrays), arrays["fixed"]
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise _foreign(path, f"something is missing or broken ({error})") from error


def _about_program(program: ConeProgram) -> dict[str, Any]:
    return {
        "cones": [[kind, size] for kind, size in program.cones],
        "sign": program.sign,
        "slots": {name: [s.start, s.stop] for name, s in program.slots.items()},
        "shapes": {name: getattr(program, name).shape for name in _TABLES},
    }


def _about_key(key: Any, source: Any, losses: Any) -> dict[str, Any]:
    named = [{"name": part.name, "shape": part.shape} for part in key]
    if losses is None:
        return {"parameters": named, "set": source.to_dict()}
    budget = getattr(source, "budget_", None)
    certificate = getattr(source, "certificate_", None)
    single = len(losses) == 1 and isinstance(budget, float) and np.isfinite(budget)
    return {
        "parameters": named,
        "losses": [loss_to_dict(loss) for loss in losses],
        "budget": budget if single else None,
        "certificate": None if certificate is None else certificate.to_dict(),
    }


def _program_arrays(program: ConeProgram) -> dict[str, Any]:
    found = {
        "indices": program.indices,
        "indptr": program.indptr,
        "P_where": program.P_where,
    }
    for name in _TABLES:
        found |= _sparse_arrays(name, getattr(program, name))
    return found


def _row_arrays(number: int, row: RowCheck) -> dict[str, Any]:
    found = {
        f"row.{number}.columns": row.columns,
        f"row.{number}.certain": row.certain,
    }
    for key, matrix in row.slopes.items():
        found |= _sparse_arrays(f"row.{number}.{key}", matrix)
        found[f"row.{number}.{key}.entries"] = row.entries[key]
    return found


def _sparse_arrays(name: str, matrix: Any) -> dict[str, Any]:
    table = sp.csr_array(matrix)
    return {
        f"{name}.data": table.data,
        f"{name}.indices": table.indices,
        f"{name}.indptr": table.indptr,
    }


def _sparse(arrays: dict[str, Any], name: str, width: int) -> Any:
    parts = [arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr")]
    found = sp.csr_array(tuple(parts), shape=(len(parts[2]) - 1, width))
    found.check_format(full_check=True)
    return found


def _compiled(about: dict[str, Any], arrays: dict[str, Any]) -> Compiled:
    said = about["program"]
    size = len(arrays["fixed"])
    tables = {name: _sparse(arrays, name, size) for name in _TABLES}
    variables = {k: np.array(v["columns"]) for k, v in enumerate(about["variables"])}
    program = ConeProgram(
        tuple((kind, extent) for kind, extent in said["cones"]),
        float(said["sign"]),
        arrays["indices"],
        arrays["indptr"],
        arrays["P_where"],
        **tables,
        slots={name: slice(*ends) for name, ends in said["slots"].items()},
        variables=variables,
    )
    rows = tuple(_row(k, row, arrays) for k, row in enumerate(about["rows"]))
    regions = tuple(
        from_dict(key["set"]) if "set" in key else None for key in about["keys"]
    )
    nonneg = tuple(arrays[f"nonneg.{k}"] for k in range(len(regions)))
    return Compiled(program, rows, int(about["parts"]), regions, nonneg)


def _row(number: int, said: dict[str, Any], arrays: dict[str, Any]) -> RowCheck:
    columns = arrays[f"row.{number}.columns"]
    width = len(columns) + 1
    return RowCheck(
        int(said["part"]),
        columns,
        arrays[f"row.{number}.certain"],
        {k: _sparse(arrays, f"row.{number}.{k}", width) for k in said["keys"]},
        {k: arrays[f"row.{number}.{k}.entries"] for k in said["keys"]},
    )


def described(about: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Names of variables and keys, and the losses of each key."""
    variables = {
        Named(k, v["name"], tuple(v["shape"])): np.array(v["columns"])
        for k, v in enumerate(about["variables"])
    }
    count = len(variables)
    keys = []
    for key in about["keys"]:
        names = [(p["name"], tuple(p["shape"])) for p in key["parameters"]]
        keys.append(tuple(Named(count + i, *name) for i, name in enumerate(names)))
        count += len(names)
    losses = [
        tuple(loss_from_dict(loss) for loss in key["losses"])
        if "losses" in key
        else None
        for key in about["keys"]
    ]
    return variables, tuple(keys), losses


def read_certificate(key: dict[str, Any]) -> Any:
    """The certificate written for a key, or None."""
    said = key.get("certificate")
    return None if said is None else Certificate.from_dict(said)


def _arrays(path: Any) -> dict[str, Any]:
    try:
        with np.load(Path(path), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, AttributeError) as error:
        raise _foreign(path, f"it cannot be read ({error})") from error


def _foreign(path: Any, why: str) -> InvalidParameter:
    return InvalidParameter(
        f"load_policy({str(path)!r}) must be a file written by Policy.save, and {why}."
    )
