"""A policy as arrays and plain data, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...guarantees import Certificate
from ...sets import from_dict
from ...sets.as_dict import loss_from_dict, loss_to_dict
from ..auditing.decisions import Named
from ..auditing.units import find_units
from ..compiled.compiling import Compiled
from ..compiled.program_layout import (
    program_from,
    program_to,
    require,
    row_from,
    row_to,
)
from ..modelling.sets_at import common_budget


@dataclass(frozen=True)
class Contents:
    """What a file holds.

    Attributes
    ----------
    compiled : the compiled program and its rows
    fixed : slot vector with the ordinary parameters' values
    variables : names of the variables, with their columns
    keys : names of the uncertain parameters, as they share sets
    losses : for each key its losses, or None for a set value
    budgets : for each key the budget of all contexts, or None
    certificates : for each key what its sets promise, or None
    fallback : name of a variable -> value, where there is no decision; or None
    probe : contexts, and for each key what its model said there when the policy was
        calibrated (None for a set value); or None
    """

    compiled: Compiled
    fixed: Any
    variables: dict[Named, Any]
    keys: tuple[tuple[Named, ...], ...]
    losses: list[Any]
    budgets: list[float | None]
    certificates: list[Any]
    fallback: dict[str, Any] | None
    probe: tuple[Any, list[Any]] | None


def to_layout(
    recipe: Any, sources: list[Any], losses: list[Any], fallback: Any, probe: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Description and arrays; `sources` are the keys' LossSets or set values."""
    compiled = recipe.compiled
    about, arrays = program_to(compiled.program)
    arrays["fixed"] = recipe.fixed
    for number, nonneg in enumerate(compiled.nonneg):
        arrays[f"nonneg.{number}"] = np.asarray(nonneg, dtype=bool)
    rows = []
    for number, row in enumerate(compiled.rows):
        said, held = row_to(number, row)
        rows.append(said)
        arrays |= held
    keys = zip(recipe.keys, sources, losses, strict=True)
    probed, held = _probe_to(probe)
    arrays |= held
    return {
        "program": about,
        "parts": compiled.parts,
        "rows": rows,
        "variables": [_named(v, c) for v, c in recipe.variables.items()],
        "keys": [_key(*key) for key in keys],
        "fallback": fallback and {k: v.tolist() for k, v in fallback.items()},
        "probe": probed,
    }, arrays


def from_layout(about: dict[str, Any], arrays: dict[str, Any]) -> Contents:
    """What was written, checked; any error means that it was not."""
    fixed = arrays["fixed"]
    variables = {
        Named(-1 - k, said["name"], tuple(said["shape"])): np.array(said["columns"])
        for k, said in enumerate(about["variables"])
    }
    program = program_from(about["program"], arrays, len(fixed))
    for named, columns in variables.items():
        require(columns.shape == (named.size,), f"columns of {named.name}")
        require(_within(columns, program.width), f"columns of {named.name}")
    keys = _keys(about["keys"], len(variables))
    dims = [sum(part.size for part in key) for key in keys]
    parts = int(about["parts"])
    rows = tuple(
        row_from(k, said, arrays, program, dims, parts)
        for k, said in enumerate(about["rows"])
    )
    regions = [from_dict(k["set"]) if "set" in k else None for k in about["keys"]]
    nonneg = [arrays[f"nonneg.{k}"] for k in range(len(keys))]
    for dim, signs, region in zip(dims, nonneg, regions, strict=True):
        require(signs.shape == (dim,) and signs.dtype == bool, "signs")
        require(region is None or region.dim == dim, "dimension of a set")
    compiled = Compiled(
        program, rows, parts, tuple(regions), tuple(nonneg), find_units(program)
    )
    probe = _probe_from(about["probe"], arrays, len(keys))
    return Contents(compiled, fixed, variables, keys, *_promises(about), probe)


def _named(named: Named, columns: Any = None) -> dict[str, Any]:
    found = {"name": named.name, "shape": list(named.shape)}
    return found if columns is None else {**found, "columns": columns.tolist()}


def _key(key: Any, source: Any, losses: Any) -> dict[str, Any]:
    parameters = [_named(part) for part in key]
    if losses is None:
        return {"parameters": parameters, "set": source.to_dict()}
    budget = common_budget(source)
    certificate = getattr(source, "certificate_", None)
    return {
        "parameters": parameters,
        "losses": [loss_to_dict(loss) for loss in losses],
        # JSON has no infinity.
        "budget": "inf" if budget == np.inf else budget,
        "certificate": None if certificate is None else certificate.to_dict(),
    }


def _probe_to(probe: Any) -> tuple[Any, dict[str, Any]]:
    """How many arrays each model said, and the arrays."""
    if probe is None:
        return None, {}
    contexts, said = probe
    arrays = {"probe": contexts}
    for k, blocks in enumerate(said):
        arrays |= {f"probe.{k}.{j}": block for j, block in enumerate(blocks or ())}
    return [None if blocks is None else len(blocks) for blocks in said], arrays


def _probe_from(counts: Any, arrays: dict[str, Any], keys: int) -> Any:
    if counts is None:
        return None
    require(len(counts) == keys, "probes")
    said = [
        None if count is None else [arrays[f"probe.{k}.{j}"] for j in range(count)]
        for k, count in enumerate(counts)
    ]
    return arrays["probe"], said


def _keys(said: list[Any], count: int) -> tuple[tuple[Named, ...], ...]:
    found = []
    for key in said:
        first = count
        count += len(key["parameters"])
        numbered = enumerate(key["parameters"], first)
        names = [Named(-1 - k, p["name"], tuple(p["shape"])) for k, p in numbered]
        found.append(tuple(names))
    return tuple(found)


def _promises(about: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Losses, budgets and certificates of the keys, and the fallback."""
    losses, budgets, certificates = [], [], []
    for key in about["keys"]:
        known = key.get("losses")
        losses.append(None if known is None else tuple(map(loss_from_dict, known)))
        budget = key.get("budget")
        budgets.append(None if budget is None else float(budget))
        said = key.get("certificate")
        certificates.append(None if said is None else Certificate.from_dict(said))
    fallback = about["fallback"]
    if fallback is not None:
        fallback = {name: np.array(value) for name, value in fallback.items()}
    return losses, budgets, certificates, fallback


def _within(numbers: Any, end: int) -> bool:
    return bool(((numbers >= 0) & (numbers < end)).all())
