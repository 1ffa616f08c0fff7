"""A policy as arrays and plain data, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...checks import Array
from ...conic.choice import chosen
from ...errors import InvalidParameter
from ...loss_set.batch import Batch
from ...losses import Loss
from ..decisions import Layout
from ..judge.set_oracles import BatchOracle, FixedOracle, SetOracle
from ..keys import UncertainKey
from ..probes import Probes
from ..solve.arrays import Compiled
from ..solve.chunk import ChunkTask
from ..solve.slot_values import end_values, slot_values
from ..sources import AtLevel
from .packing import Packer, Plain, Unpacker, require
from .policy_file import Arrays
from .programs import program_from, program_to
from .rulers import ruler_from, ruler_to
from .saved_groups import groups_in_file
from .saved_keys import (
    SavedKey,
    budget_in_file,
    key_to,
    keys_from,
    named_to,
    names_from,
)
from .saved_probes import probe_to, probes_from
from .trial import CONTEXTS, agree, made_up, tried


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
    probed : for each key the budgets of its groups at these, or None
    """

    task: ChunkTask
    keys: tuple[SavedKey, ...]
    joint: bool
    fallback: Array | None
    probes: Probes | None
    probed: tuple[Array | None, ...]


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
        "program": program_to(compiled.program, packer),
        "ruler": ruler_to(ruler, packer),
        "outputs": packer.sparse(compiled.outputs),
        "offset": packer.array(compiled.offset),
        "slots": packer.array(task.slots),
        "ordinary": packer.array(task.ordinary),
        "variables": [named_to(name) for name in task.layout.variables],
        "keys": [
            key_to(key, parts, nonneg, void, packer)
            for key, parts, nonneg in zip(keys, losses, compiled.nonneg, strict=True)
        ],
        "joint": any(isinstance(key.source, AtLevel) for key in keys),
        "fallback": None if fallback is None else packer.array(fallback),
        "probe": probe_to(probes, keys, packer),
    }
    budgets = [budget_in_file(key) for key in keys]
    every = [groups_in_file(key.source) for key in keys]
    groups = [None if own is None else own.fingerprint() for own in every]
    about["trial"] = packer.array(tried(task, losses, budgets, fallback, groups))
    return about, packer.arrays


def from_layout(about: Plain, arrays: Arrays) -> Contents:
    """What was written, checked; any error means that it was not."""
    reader = Unpacker(arrays)
    slots = reader.finite(about["slots"])
    require(slots.size > 0 and slots[-1] == 1.0, "slots")
    program = program_from(about["program"], reader, slots.size)
    variables = names_from(about["variables"], 0)
    width = sum(name.size for name in variables)
    saved = keys_from(about["keys"], reader, len(variables))
    dims = tuple(sum(p.size for p in key.parts) for key in saved)
    ordinary = reader.finite(about["ordinary"])
    ruler = ruler_from(about["ruler"], reader, (width, dims, ordinary.size))
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
    probes, probed = probes_from(about["probe"], reader, saved)
    for key, before in zip(saved, probed, strict=True):
        groups = key.groups
        if probes is None or before is None:
            continue
        if groups is not None and groups.readers is not None:
            there = groups.at(groups.readers, probes.X)
            require(np.array_equal(there, before), "groups")
    return Contents(task, saved, about["joint"] is True, action, probes, probed)


def _try(
    task: ChunkTask, keys: Sequence[SavedKey], fallback: Array | None, before: Array
) -> None:
    """All of it once, at any numbers: what does not fit together shows."""
    losses, budgets = [k.losses for k in keys], [k.budget for k in keys]
    groups = [None if k.groups is None else k.groups.fingerprint() for k in keys]
    came_to = tried(task, losses, budgets, fallback, groups)
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
