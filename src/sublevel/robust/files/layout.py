"""A policy as arrays and plain data, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import Array
from ...conic.choice import chosen
from ...conic.program import ConeProgram, rows_of
from ...errors import InvalidParameter
from ...guarantees import Certificate
from ...loss_set.batch import Batch
from ...losses import Loss
from ...predictions import count_rows
from ...sets import UncertaintySet, from_dict
from ...sets.as_dict import loss_from_dict, loss_to_dict
from ..contexts import common_budget
from ..decisions import Layout, Named
from ..judge.place import TablePlace
from ..judge.ruler import Ruler
from ..judge.set_oracles import BatchOracle, FixedOracle, SetOracle
from ..judge.sum_row import BentTerm, SumRow
from ..judge.written_rows import WrittenRows
from ..keys import UncertainKey
from ..probes import Probes
from ..solve.arrays import Compiled
from ..solve.chunk import ChunkTask
from ..solve.slot_values import end_values, slot_values
from ..sources import AtLevel
from .frames import contexts_from, contexts_to
from .packing import MOST, Packer, Unpacker, as_shape, require, whole
from .policy_file import Arrays
from .tapes import Sizes, tape_from, tape_to
from .trial import CONTEXTS, KINDS, agree, made_up, tried

_TABLES = ("P", "q", "A", "b")

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
    joint : whether certificates speak of decisions, not of each key's sets
    fallback : what is done where there is no decision, or None
    probes : contexts at which the models are known again, or None
    """

    task: ChunkTask
    keys: tuple[SavedKey, ...]
    joint: bool
    fallback: Array | None
    probes: Probes | None


def to_layout(
    task: ChunkTask,
    keys: Sequence[UncertainKey],
    losses: Sequence[tuple[Loss, ...] | None],
    fallback: Array | None,
    probes: Probes | None,
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
        "joint": any(isinstance(key.source, AtLevel) for key in keys),
        "fallback": None if fallback is None else packer.array(fallback),
        "probe": _probe_to(probes, packer),
    }
    budgets = [_budget(key) for key in keys]
    about["trial"] = packer.array(tried(task, losses, budgets, fallback))
    return about, packer.arrays


def from_layout(about: Plain, arrays: Arrays) -> Contents:
    """What was written, checked; any error means that it was not."""
    reader = Unpacker(arrays)
    slots = reader.finite(about["slots"])
    require(slots.size > 0 and slots[-1] == 1.0, "slots")
    program = _program_from(about["program"], reader, slots.size)
    variables = _names_from(about["variables"], 0)
    width = sum(name.size for name in variables)
    saved = _keys_from(about["keys"], reader, len(variables))
    dims = tuple(sum(p.size for p in key.parts) for key in saved)
    ordinary = reader.finite(about["ordinary"])
    ruler = _ruler_from(about["ruler"], reader, (width, dims, ordinary.size))
    compiled = Compiled(
        program,
        ruler,
        reader.sparse(about["outputs"], width, program.width),
        reader.finite(about["offset"], width),
        tuple(key.region for key in saved),
        tuple(key.nonneg for key in saved),
    )
    layout = Layout(
        variables, tuple(key.parts for key in saved), len(ruler.uncertain), ruler.rows
    )
    task = ChunkTask(compiled, slots, ordinary, layout, chosen(program).solver)
    fallback = about["fallback"]
    action = None if fallback is None else reader.finite(fallback, width)
    _try(task, saved, action, reader.arrays[about["trial"]])
    probes = _probes_from(about["probe"], reader, saved)
    return Contents(task, saved, about["joint"] is True, action, probes)


def _try(
    task: ChunkTask, keys: Sequence[SavedKey], fallback: Array | None, before: Array
) -> None:
    """All of it once, at any numbers: what does not fit together shows."""
    losses, budgets = [k.losses for k in keys], [k.budget for k in keys]
    came_to = tried(task, losses, budgets, fallback)
    require(agree(came_to, before), "what it comes to")
    batches = [
        None if key.losses is None else made_up(task, n, key.losses, key.budget)
        for n, key in enumerate(keys)
    ]
    named = task.compiled.program.slots
    slots = {n: s for n, s in named.items() if not n.startswith("ordinary.")}
    for number, batch in enumerate(batches):
        if batch is not None:
            signs = task.compiled.nonneg[number]
            filled = slot_values(number, batch.parts)
            filled |= end_values(number, batch.parts, signs, named)
            for name, values in filled.items():
                one = slots.pop(name, None)
                fits = one is None or one.stop - one.start == values.shape[1]
                require(fits, "the size of a slot")
    open_ones = [b is None for b, k in zip(batches, keys, strict=True) if k.losses]
    if not any(open_ones):
        require(not slots, "slots of no set")
        _judge(task, batches)


def _judge(task: ChunkTask, batches: Sequence[Batch | None]) -> None:
    """Hold decisions that are made up against sets that are."""
    compiled = task.compiled
    oracles: list[SetOracle] = []
    for region, nonneg, batch in zip(
        compiled.regions, compiled.nonneg, batches, strict=True
    ):
        if batch is not None:
            oracles.append(BatchOracle(batch, nonneg))
        elif region is not None:
            oracles.append(FixedOracle(region, nonneg))
    values = compiled.values(np.ones((CONTEXTS, compiled.program.width)))
    nothing = np.full(CONTEXTS, np.nan)
    compiled.ruler.judge(values, nothing, task.ordinary, oracles)


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
        **{name: packer.sparse(vars(program)[name]) for name in _TABLES},
    }


def _program_from(about: Plain, reader: Unpacker, size: int) -> ConeProgram:
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


# -- the judge -------------------------------------------------------------------------


def _ruler_to(ruler: Ruler, packer: Packer) -> Plain:
    return {
        "uncertain": [_rows_to(rows, packer) for rows in ruler.uncertain],
        "certain": [_rows_to(rows, packer) for rows in ruler.certain],
        "objective": tape_to(ruler.objective, packer),
        "cost": None if ruler.cost is None else _rows_to(ruler.cost, packer),
        "sense": ruler.sense,
        "lower": packer.array(ruler.lower),
        "upper": packer.array(ruler.upper),
        "whole": packer.array(ruler.whole),
        "starts": packer.array(ruler.starts),
    }


def _ruler_from(about: Plain, reader: Unpacker, sizes: Sizes) -> Ruler:
    width = sizes[0]
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
        tape_from(about["objective"], reader, sizes),
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
        "residual": tape_to(rows.residual, packer),
        "free": None if rows.free is None else tape_to(rows.free, packer),
        "sides": [tape_to(side, packer) for side in rows.sides],
        "plain": places(rows.plain),
        "places": places(rows.places),
        "sums": [_sum_to(row, packer) for row in rows.sums],
    }


def _rows_from(about: Plain, reader: Unpacker, sizes: Sizes) -> WrittenRows:
    def places(some: Any) -> tuple[TablePlace, ...]:
        return tuple(_place_from(place, reader, sizes) for place in some)

    free, plain = about["free"], about["plain"]
    rows = WrittenRows(
        str(about["text"]),
        bool(about["equal"]),
        tape_from(about["residual"], reader, sizes),
        None if free is None else tape_from(free, reader, sizes),
        tuple(tape_from(side, reader, sizes) for side in about["sides"]),
        None if plain is None else places(plain),
        places(about["places"]),
        (),
        tuple(_sum_from(row, reader, sizes) for row in about["sums"]),
    )
    require(len(rows.sums) in (0, rows.size), "sums of a constraint")
    require(rows.plain is None or len(rows.plain) == rows.size, "rows of a constraint")
    return rows


def _sum_to(row: SumRow, packer: Packer) -> Plain:
    assert row.linear is None or isinstance(row.linear, TablePlace)
    return {
        "linear": None if row.linear is None else _place_to(row.linear, packer),
        "terms": [
            {
                "places": [
                    _place_to(place, packer)
                    for place in term.places
                    if isinstance(place, TablePlace)
                ],
                "is_largest": term.is_largest,
            }
            for term in row.terms
        ],
    }


def _sum_from(about: Plain, reader: Unpacker, sizes: Sizes) -> SumRow:
    linear, terms = about["linear"], []
    for term in about["terms"]:
        require(len(term["places"]) > 0, "places of a term")
        places = tuple(_place_from(place, reader, sizes) for place in term["places"])
        terms.append(BentTerm(places, term["is_largest"] is True))
    return SumRow(
        None if linear is None else _place_from(linear, reader, sizes), tuple(terms)
    )


def _place_to(place: TablePlace, packer: Packer) -> Plain:
    return {
        "columns": packer.array(place.columns),
        "constant": packer.sparse(place.constant),
        "keys": [
            [key, packer.sparse(table), packer.array(place.entries[key])]
            for key, table in place.slopes.items()
        ],
    }


def _place_from(about: Plain, reader: Unpacker, sizes: Sizes) -> TablePlace:
    width, dims, ordinary = sizes
    columns = reader.positions(about["columns"], width)
    slopes, entries = {}, {}
    for key, table, where in about["keys"]:
        entries[key] = reader.positions(where, dims[whole(key, len(dims))])
        require(bool((np.diff(entries[key]) > 0).all()), "entries of a key")
        slopes[key] = reader.sparse(table, len(entries[key]), len(columns) + 1)
    constant = reader.sparse(about["constant"], len(columns) + 1, ordinary + 1)
    return TablePlace(columns, constant, slopes, entries)


# -- names, keys and probes -----------------------------------------------------------


def _named_to(name: Named) -> Plain:
    return {"name": name.name, "shape": list(name.shape)}


def _names_from(about: list[Plain], first: int) -> tuple[Named, ...]:
    names = []
    for k, one in enumerate(about, first):
        names.append(Named(-1 - k, str(one["name"]), as_shape(one["shape"])))
    require(sum(name.size for name in names) < MOST, "a shape")
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
    source, budget = key.predicted, _budget(key)
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


def _budget(key: UncertainKey) -> float | None:
    """The budget of all contexts of a key; None where it differs, or there is none."""
    return None if key.predicted is None else common_budget(key.predicted)


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
        promise = None if certificate is None else _certificate_from(certificate)
        if promise is not None and budget is not None:
            unit = float(key["unit"])
            require(0 < unit < np.inf, "a unit")
            level = (
                promise.budget if np.isinf(promise.budget) else unit * promise.budget
            )
            require(level == budget, "a budget, which is not that of its certificate,")
        keys.append(SavedKey(parts, nonneg, None, losses, budget, promise))
    return tuple(keys)


def _probe_to(probes: Probes | None, packer: Packer) -> Any:
    """Contexts and predictions, by which the models are recognised."""
    contexts = None if probes is None else contexts_to(probes.X, packer)
    if probes is None or contexts is None:
        return None
    predictions = [
        None if blocks is None else [packer.array(block) for block in blocks]
        for blocks in probes.predictions
    ]
    return {"contexts": contexts, "predictions": predictions}


def _probes_from(
    about: Any, reader: Unpacker, keys: Sequence[SavedKey]
) -> Probes | None:
    if about is None:
        return None
    contexts = contexts_from(about["contexts"], reader)
    rows = count_rows(contexts)
    require(rows > 0, "probes")
    predictions: list[list[Array] | None] = []
    for names, key in zip(about["predictions"], keys, strict=True):
        require((names is None) == (key.losses is None), "probes")
        blocks = None if names is None else [reader.arrays[name] for name in names]
        for block in blocks or ():
            require(block.dtype == np.float64 and len(block) == rows, "probes")
        predictions.append(blocks)
    return Probes(contexts, predictions)


def _certificate_from(about: Plain) -> Certificate:
    """A certificate whose fields are of the types they are to be."""
    promise = Certificate.from_dict(about)
    for name, kinds in _FIELDS.items():
        value = vars(promise)[name]
        require(isinstance(value, kinds) and not _is_nan(value), f"{name!r}")
    for words in promise.assumptions:
        require(isinstance(words, str), "an assumption")
    require(0 < promise.alpha <= 1, "a level")
    return promise


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and np.isnan(value)


#: What the fields of a certificate are.
_FIELDS: dict[str, tuple[type, ...]] = {
    "guarantee": (str,),
    "alpha": (int, float),
    "confidence": (float, type(None)),
    "budget": (float,),
    "sample_size": (int,),
    "minimum_sample_size": (int,),
    "rank": (int, type(None)),
    "random": (str,),
    "reference": (str,),
    "heuristic": (bool,),
    "note": (str,),
    "beta_law": (bool,),
    "event": (str,),
    "holds": (str,),
    "measure": (str,),
}
