"""A policy as arrays and plain data, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import Array
from ...conic.program import ConeProgram, rows_of
from ...conic.solver import Clarabel
from ...errors import InvalidParameter
from ...guarantees import Certificate
from ...losses import Loss
from ...sets import UncertaintySet, from_dict
from ...sets.as_dict import loss_from_dict, loss_to_dict
from ..contexts import common_budget
from ..decisions import Layout, Named
from ..judge.places import TablePlace
from ..judge.ruler import Ruler
from ..judge.tape import OPERATIONS, Leaves, Step, Tape
from ..judge.written_rows import WrittenRows
from ..keys import UncertainKey
from ..recognition import Recognition
from ..solve.chunk import ChunkTask
from ..solve.compiled import Compiled
from ..sources import AtLevel
from .frames import contexts_from, contexts_to
from .packing import Packer, Unpacker, require
from .policy_file import Arrays

_TABLES = ("P", "q", "A", "b")
_KINDS = ("zero", "nonneg", "soc", "psd", "exp", "power")
_LEAVES = ("variable", "outcome", "ordinary", "constant")

Plain = dict[str, Any]


@dataclass(frozen=True)
class SavedKey:
    """A key as a file has it.

    Attributes
    ----------
    parts : the uncertain parameters
    nonneg : declared signs
    region : its set, if that is a value
    losses : its losses otherwise
    budget : the budget of all contexts, or None
    certificate : what its sets promise, or None
    """

    parts: tuple[Named, ...]
    nonneg: np.ndarray[Any, Any]
    region: UncertaintySet | None
    losses: tuple[Loss, ...] | None
    budget: float | None
    certificate: Certificate | None


@dataclass(frozen=True)
class Contents:
    """What a file holds.

    Attributes
    ----------
    task : what decides
    keys : the uncertain keys
    fallback : what is done where there is no decision, or None
    probe : contexts, and for each key what its model predicted there when the policy
        was calibrated (None for a set value); or None
    """

    task: ChunkTask
    keys: tuple[SavedKey, ...]
    fallback: Array | None
    probe: tuple[Any, list[list[Array] | None]] | None


def to_layout(
    task: ChunkTask,
    keys: Sequence[UncertainKey],
    losses: Sequence[tuple[Loss, ...] | None],
    fallback: Array | None,
    recognition: Recognition | None,
    void: bool,
) -> tuple[Plain, Arrays]:
    """Description and arrays; without certificates where these are `void`."""
    ruler = task.compiled.ruler
    for rows in (
        *ruler.uncertain,
        *ruler.certain,
        *([ruler.cost] if ruler.cost else []),
    ):
        if rows.storable is not None:
            raise InvalidParameter(
                f"Policy.save() cannot write {rows.storable} of {rows.text}: its audit "
                "needs CVXPY. Decide in the process that compiled the policy."
            )
    packer = Packer()
    compiled = task.compiled
    about = {
        "program": _program_to(compiled.program, packer),
        "ruler": _ruler_to(ruler, packer),
        "outputs": packer.sparse(compiled.outputs),
        "offset": packer.array(compiled.offset),
        "slots": packer.array(task.slots),
        "ordinary": packer.array(task.ordinary),
        "variables": [_named_to(name) for name in task.layout.variables],
        "keys": [
            _key_to(key, parts, nonneg, void, packer)
            for key, parts, nonneg in zip(keys, losses, compiled.nonneg, strict=True)
        ],
        "fallback": None if fallback is None else packer.array(fallback),
        "probe": _probe_to(recognition, packer),
    }
    return about, packer.arrays


def from_layout(about: Plain, arrays: Arrays) -> Contents:
    """What was written, checked; any error means that it was not."""
    reader = Unpacker(arrays)
    slots = reader.numbers(about["slots"])
    require(slots.ndim == 1 and slots.size > 0 and np.isfinite(slots).all(), "slots")
    program = _program_from(about["program"], reader, slots.size)
    variables = _names_from(about["variables"], 0)
    width = sum(name.size for name in variables)
    saved = _keys_from(about["keys"], reader, len(variables))
    dims = tuple(sum(p.size for p in key.parts) for key in saved)
    ordinary = reader.numbers(about["ordinary"])
    require(ordinary.ndim == 1, "ordinary parameters")
    ruler = _ruler_from(about["ruler"], reader, width, dims, ordinary.size)
    compiled = Compiled(
        program,
        ruler,
        reader.sparse(about["outputs"], width, program.width),
        reader.numbers(about["offset"], (width,)),
        tuple(key.region for key in saved),
        tuple(key.nonneg for key in saved),
    )
    layout = Layout(
        variables, tuple(key.parts for key in saved), len(ruler.uncertain), ruler.rows
    )
    task = ChunkTask(compiled, slots, ordinary, layout, Clarabel())
    _dry_run(ruler, width, dims, ordinary)
    fallback = about["fallback"]
    return Contents(
        task,
        saved,
        None if fallback is None else reader.numbers(fallback, (width,)),
        _probe_from(about["probe"], reader, len(saved)),
    )


# -- the cone program -----------------------------------------------------------------


def _program_to(program: ConeProgram, packer: Packer) -> Plain:
    return {
        "cones": [[kind, float(size)] for kind, size in program.cones],
        "sign": program.sign,
        "slots": {name: [s.start, s.stop] for name, s in program.slots.items()},
        "indices": packer.array(program.indices),
        "indptr": packer.array(program.indptr),
        "P_where": packer.array(program.P_where),
        "width": program.width,
        "height": program.height,
        **{name: packer.sparse(getattr(program, name)) for name in _TABLES},
    }


def _program_from(about: Plain, reader: Unpacker, size: int) -> ConeProgram:
    width, height = about["width"], about["height"]
    for number in (width, height):
        require(
            isinstance(number, int) and 0 <= number < 2**31, "the size of a program"
        )
    cones = tuple((str(kind), float(extent)) for kind, extent in about["cones"])
    require(all(k in _KINDS and 0 < s < 2**31 for k, s in cones), "cones")
    require(all(0 < s < 1 for k, s in cones if k == "power"), "cones")
    require(all(s == int(s) for k, s in cones if k != "power"), "cones")
    require(sum(rows_of(k, s) for k, s in cones) == height, "rows of the cones")
    indices = reader.positions(about["indices"], height)
    indptr = reader.pointers(about["indptr"], width, len(indices))
    require(_is_sorted(indices, indptr), "the pattern of a program")
    P_where = reader.positions(about["P_where"], width**2)
    require(bool((np.diff(P_where) > 0).all()), "quadratic part")
    sign = float(about["sign"])
    require(sign in (1.0, -1.0), "sense")
    slots = {}
    for name, (start, stop) in about["slots"].items():
        require(0 <= int(start) < int(stop) < size, "slots")
        slots[str(name)] = slice(int(start), int(stop))
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
        slots,
        {},
    )


def _is_sorted(indices: Any, indptr: Any) -> bool:
    """Whether rows go up within every column."""
    steps = np.diff(indices)
    first = np.zeros(len(indices), dtype=bool)
    first[indptr[:-1][indptr[:-1] < len(indices)]] = True
    return bool((steps[~first[1:]] > 0).all()) if len(indices) > 1 else True


# -- the judge -------------------------------------------------------------------------


def _ruler_to(ruler: Ruler, packer: Packer) -> Plain:
    return {
        "uncertain": [_rows_to(rows, packer) for rows in ruler.uncertain],
        "certain": [_rows_to(rows, packer) for rows in ruler.certain],
        "objective": _tape_to(ruler.objective, packer),
        "cost": None if ruler.cost is None else _rows_to(ruler.cost, packer),
        "sense": ruler.sense,
        "lower": packer.array(ruler.lower),
        "upper": packer.array(ruler.upper),
        "whole": packer.array(ruler.whole),
        "starts": packer.array(ruler.starts),
    }


def _ruler_from(
    about: Plain, reader: Unpacker, width: int, dims: tuple[int, ...], ordinary: int
) -> Ruler:
    sizes = (width, dims, ordinary)
    lower = reader.numbers(about["lower"], (width,))
    upper = reader.numbers(about["upper"], (width,))
    require(bool((lower <= upper).all()), "bounds of the variables")
    starts = reader.positions(about["starts"], max(width, 1))
    require(bool((np.diff(starts) > 0).all()), "starts of the variables")
    sense = float(about["sense"])
    require(sense in (1.0, -1.0), "sense")
    cost = about["cost"]
    return Ruler(
        tuple(_rows_from(rows, reader, sizes) for rows in about["uncertain"]),
        tuple(_rows_from(rows, reader, sizes) for rows in about["certain"]),
        _tape_from(about["objective"], reader, sizes),
        None if cost is None else _rows_from(cost, reader, sizes),
        sense,
        lower,
        upper,
        reader.flags(about["whole"], width),
        starts,
    )


def _rows_to(rows: WrittenRows, packer: Packer) -> Plain:
    def places(some: Any) -> Any:
        return None if some is None else [_place_to(place, packer) for place in some]

    return {
        "text": rows.text,
        "equal": rows.equal,
        "residual": _tape_to(rows.residual, packer),
        "free": None if rows.free is None else _tape_to(rows.free, packer),
        "sides": [_tape_to(side, packer) for side in rows.sides],
        "plain": places(rows.plain),
        "places": places(rows.places),
    }


def _rows_from(about: Plain, reader: Unpacker, sizes: Any) -> WrittenRows:
    def places(some: Any) -> tuple[TablePlace, ...]:
        return tuple(_place_from(place, reader, sizes) for place in some)

    free, plain = about["free"], about["plain"]
    rows = WrittenRows(
        str(about["text"]),
        bool(about["equal"]),
        _tape_from(about["residual"], reader, sizes),
        None if free is None else _tape_from(free, reader, sizes),
        tuple(_tape_from(side, reader, sizes) for side in about["sides"]),
        None if plain is None else places(plain),
        places(about["places"]),
    )
    require(rows.plain is None or len(rows.plain) == rows.size, "rows of a constraint")
    return rows


def _place_to(place: TablePlace, packer: Packer) -> Plain:
    return {
        "columns": packer.array(place.columns),
        "constant": packer.sparse(place.constant),
        "keys": [
            [key, packer.sparse(table), packer.array(place.entries[key])]
            for key, table in place.slopes.items()
        ],
    }


def _place_from(about: Plain, reader: Unpacker, sizes: Any) -> TablePlace:
    width, dims, ordinary = sizes
    columns = reader.positions(about["columns"], width)
    slopes, entries = {}, {}
    for key, table, where in about["keys"]:
        require(isinstance(key, int) and 0 <= key < len(dims), "a key")
        entries[key] = reader.positions(where, dims[key])
        slopes[key] = reader.sparse(table, len(entries[key]), len(columns) + 1)
    constant = reader.sparse(about["constant"], len(columns) + 1, ordinary + 1)
    return TablePlace(columns, constant, slopes, entries)


def _tape_to(tape: Tape, packer: Packer) -> list[Any]:
    return [
        [
            step.name,
            list(step.args),
            list(step.shape),
            [_item_to(d, packer) for d in step.data],
        ]
        for step in tape.steps
    ]


def _item_to(item: Any, packer: Packer) -> Any:
    if item is None or isinstance(item, bool | int | float):
        return item
    if isinstance(item, np.integer | np.floating):
        return item.item()
    if isinstance(item, tuple | list):
        return {"axes": [int(axis) for axis in item]}
    if isinstance(item, np.ndarray):
        return {"array": packer.array(item)}
    return {"sparse": packer.sparse(item)}


def _tape_from(about: list[Any], reader: Unpacker, sizes: Any) -> Tape:
    width, dims, ordinary = sizes
    steps: list[Step] = []
    for name, args, shape, data in about:
        require(name in OPERATIONS or name in _LEAVES, "a step")
        require(all(isinstance(k, int) and 0 <= k < len(steps) for k in args), "a step")
        require(
            len(shape) <= 3
            and all(isinstance(n, int) and 0 <= n < 2**31 for n in shape),
            "a shape",
        )
        items = tuple(_item_from(item, reader) for item in data)
        size = int(np.prod(shape, dtype=object))
        require(size < 2**31, "a shape")
        ends = {"variable": width, "ordinary": ordinary}
        if name == "outcome":
            require(isinstance(items[1], int) and 0 <= items[1] < len(dims), "a key")
            ends["outcome"] = dims[items[1]]
        if name in ends:
            start = items[0]
            require(
                isinstance(start, int) and 0 <= start <= ends[name] - size, "a leaf"
            )
        if name == "constant":
            require(np.shape(items[0]) == tuple(shape), "a constant")
        if name == "gather":
            total = sum(int(np.prod(steps[k].shape)) for k in args)
            where = items[0]
            require(where.dtype.kind in "iu" and where.shape == (size,), "positions")
            require(bool(((where >= 0) & (where < total)).all()), "positions")
        steps.append(Step(str(name), tuple(args), tuple(shape), items))
    require(bool(steps), "an expression")
    return Tape(tuple(steps))


def _item_from(item: Any, reader: Unpacker) -> Any:
    if not isinstance(item, dict):
        return item
    if "axes" in item:
        return tuple(int(axis) for axis in item["axes"])
    if "array" in item:
        array = reader.arrays[item["array"]]
        require(array.dtype.kind in "biuf", "numbers")
        return array
    width = item["sparse"][0][1]
    require(isinstance(width, int) and 0 <= width < 2**31, "the shape of a matrix")
    return reader.sparse(item["sparse"], None, width)


def _dry_run(ruler: Ruler, width: int, dims: tuple[int, ...], ordinary: Array) -> None:
    """Every expression once, at any numbers: what does not fit together shows."""
    leaves = Leaves(np.ones((1, width)), [np.ones((1, dim)) for dim in dims], ordinary)
    every = [*ruler.uncertain, *ruler.certain, *([ruler.cost] if ruler.cost else [])]
    require(ruler.objective.run(leaves).shape == (1,), "the objective")
    for rows in every:
        tapes = [rows.residual, *rows.sides, *([rows.free] if rows.free else [])]
        for tape in tapes:
            require(tape.run(leaves).shape == (1, *tape.shape), "an expression")
        rows.at(leaves)
        rows.gross(leaves, np.ones((1, width)))


# -- names, keys and probes -------------------------------------------------------------


def _named_to(name: Named) -> Plain:
    return {"name": name.name, "shape": list(name.shape)}


def _names_from(about: list[Plain], first: int) -> tuple[Named, ...]:
    names = []
    for k, one in enumerate(about, first):
        shape = tuple(one["shape"])
        require(all(isinstance(n, int) and 0 < n < 2**31 for n in shape), "a shape")
        names.append(Named(-1 - k, str(one["name"]), shape))
    require(sum(name.size for name in names) < 2**31, "a shape")
    return tuple(names)


def _key_to(
    key: UncertainKey,
    losses: tuple[Loss, ...] | None,
    nonneg: np.ndarray[Any, Any],
    void: bool,
    packer: Packer,
) -> Plain:
    about: Plain = {
        "parameters": [_named_to(part) for part in key.parts],
        "nonneg": packer.array(nonneg),
    }
    if losses is None:
        assert isinstance(key.source, UncertaintySet)
        return {**about, "set": key.source.to_dict()}
    source = key.predicted
    budget = None if source is None else common_budget(source)
    if isinstance(source, AtLevel) and budget is None:
        raise InvalidParameter(
            "Policy.save() cannot write a function, and with this guarantee the budget "
            "of each context is one of its covariates. Calibrate with 'marginal' or "
            "'pac'."
        )
    certificate = None if void else key.certificate
    unit = source.unit if isinstance(source, AtLevel) else 1.0
    return {
        **about,
        "losses": [loss_to_dict(loss) for loss in losses],
        # JSON has no infinity.
        "budget": "inf" if budget == np.inf else budget,
        "unit": unit,
        "certificate": None if certificate is None else certificate.to_dict(),
    }


def _keys_from(
    about: list[Plain], reader: Unpacker, count: int
) -> tuple[SavedKey, ...]:
    keys = []
    for key in about:
        parts = _names_from(key["parameters"], count)
        count += len(parts)
        size = sum(part.size for part in parts)
        nonneg = reader.flags(key["nonneg"], size)
        if "set" in key:
            region = from_dict(key["set"])
            require(region.dim == size, "dimension of a set")
            keys.append(SavedKey(parts, nonneg, region, None, None, None))
            continue
        losses = tuple(map(loss_from_dict, key["losses"]))
        budget = None if key["budget"] is None else float(key["budget"])
        require(budget is None or not np.isnan(budget), "a budget")
        certificate = key["certificate"]
        promise = None if certificate is None else Certificate.from_dict(certificate)
        if promise is not None and budget is not None:
            unit = float(key["unit"])
            require(0 < unit < np.inf, "a unit")
            level = (
                promise.budget if np.isinf(promise.budget) else unit * promise.budget
            )
            require(level == budget, "a budget, which is not that of its certificate,")
        keys.append(SavedKey(parts, nonneg, None, losses, budget, promise))
    return tuple(keys)


def _probe_to(recognition: Recognition | None, packer: Packer) -> Any:
    """Contexts and predictions, by which the models are recognised."""
    if recognition is None or recognition.X is None:
        return None
    contexts = contexts_to(recognition.X, packer)
    if contexts is None:
        return None
    predictions = [
        None if blocks is None else [packer.array(block) for block in blocks]
        for blocks in recognition.predictions
    ]
    return {"contexts": contexts, "predictions": predictions}


def _probe_from(about: Any, reader: Unpacker, keys: int) -> Any:
    if about is None:
        return None
    require(len(about["predictions"]) == keys, "probes")
    predictions = [
        None if names is None else [np.asarray(reader.arrays[n], float) for n in names]
        for names in about["predictions"]
    ]
    return contexts_from(about["contexts"], reader), predictions
