"""What the functions of a policy come to at fixed points: tried when it is saved, and
again when it is loaded.

A file may be sound in every part and still not be what was saved: a number edited, a
matrix whose rows were swapped. So the program's data, the judge's expressions and the
sets are evaluated at a few made-up contexts and decisions, and the same is asked of
what was read. Nothing is solved, so no solver has to agree with another one's digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...checks import Array
from ...conic.program import fill
from ...loss_set.batch import Batch, SetBatch, UnionBatch
from ...losses import Loss
from ...losses.base import TRIANGLE
from ...predictions import AnyPrediction, JointPrediction, Numbers, Outcomes, Prediction
from ...sets import UncertaintySet
from ..judge.tape import Leaves
from ..judge.written_rows import WrittenRows
from ..solve.chunk import ChunkTask
from ..solve.slot_values import end_values, slot_values

#: Cones, in an order to count by.
KINDS = ("zero", "nonneg", "soc", "psd", "exp", "power")
#: Contexts that are made up.
CONTEXTS = 2
#: Relative difference that rounding explains.
ROUNDING = 1e-7
#: The same for what a set answers, which may be solved for.
SOLVED = 1e-4


@dataclass
class Sums:
    """Random sums of arrays, each with the size of what it adds up."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))
    rows: list[tuple[float, float]] = field(default_factory=list)

    def add(self, values: Array, slack: float = ROUNDING) -> None:
        """One row for the finite entries, and one for where the others are."""
        flat = np.ravel(values)
        weights = self.rng.uniform(0.5, 1.0, flat.size)
        kinds = 1.0 * (flat == np.inf) + 2.0 * (flat == -np.inf) + 4.0 * np.isnan(flat)
        for part in (np.where(kinds, 0.0, flat), kinds):
            with np.errstate(over="ignore", invalid="ignore"):
                total, size = float(part @ weights), float(np.abs(part) @ weights)
            self.rows.append((total, slack * size))


def tried(
    task: ChunkTask,
    losses: Sequence[tuple[Loss, ...] | None],
    budgets: Sequence[float | None],
    fallback: Array | None,
    groups: Sequence[Array | None],
) -> Array:
    """What a policy comes to, shape (k, 2): sums, and how far off rounding is.

    `groups` is all that is known of the groups of each key, as numbers.
    """
    sums, compiled = Sums(), task.compiled
    program, ruler = compiled.program, compiled.ruler
    width = len(compiled.offset)
    point = _positive(sums.rng, 1, program.size)[0]
    for table in (program.P, program.q, program.A, program.b):
        sums.add(table @ point)
    inner = _positive(sums.rng, 1, program.width)[0]
    totals = np.bincount(program.indices, inner[program.columns], program.height)
    sums.add(totals.astype(float))
    sums.add(compiled.outputs @ inner)
    leaves = Leaves(
        _positive(sums.rng, CONTEXTS, width),
        [_positive(sums.rng, CONTEXTS, len(signs)) for signs in compiled.nonneg],
        task.ordinary,
    )
    cones = [[KINDS.index(kind), size] for kind, size in program.cones]
    senses = [program.sign, ruler.sense, *np.ravel(cones)]
    settled = (
        senses,
        ruler.lower,
        ruler.upper,
        ruler.whole,
        ruler.starts,
        program.P_where,
    )
    actions = () if fallback is None else (fallback,)
    named = [numbers for numbers in groups if numbers is not None]
    for values in (
        task.slots,
        task.ordinary,
        compiled.offset,
        *settled,
        *actions,
        *named,
    ):
        sums.add(np.asarray(values, dtype=float))
    sums.add(ruler.objective.rows(leaves))
    every = [*ruler.uncertain, *ruler.certain, *([ruler.cost] if ruler.cost else [])]
    for rows in every:
        for values in _rows(rows, leaves):
            sums.add(values)
    filled: dict[str, Array] = {}
    for number, parts in enumerate(losses):
        outcome, region = leaves.outcomes[number], compiled.regions[number]
        sums.add(compiled.nonneg[number].astype(float))
        if region is not None:
            sums.add(_support(region, outcome[0]), SOLVED)
        if parts is not None:
            batch = made_up(task, number, parts, budgets[number])
            signs = compiled.nonneg[number]
            if batch is not None:
                filled |= slot_values(number, batch.parts)
                filled |= end_values(number, batch.parts, signs, program.slots)
            for part in () if batch is None else batch.parts:
                sums.add(part.loss.score(part.prediction, outcome))
                sums.add(part.effective_budgets)
    filled = {name: v for name, v in filled.items() if name in program.slots}
    data = fill(program, task.slots, filled, CONTEXTS)
    for block in (data.P, data.q, data.A, data.b):
        sums.add(block.rows())
    return np.array(sums.rows)


def agree(after: Array, before: Array) -> bool:
    """Whether a trial came to what a file says it came to before."""
    if after.shape != before.shape or before.dtype != np.float64:
        return False
    with np.errstate(invalid="ignore"):
        close = np.abs(after[:, 0] - before[:, 0]) <= after[:, 1]
    # A sum beyond all numbers is close to anything.
    close &= np.isfinite(after).all(axis=1)
    return bool((close | (after == before).all(axis=1)).all())


def made_up(
    task: ChunkTask, number: int, losses: tuple[Loss, ...], budget: float | None
) -> Batch | None:
    """Sets of a key at made-up contexts; None where the widths of blocks are open."""
    rng = np.random.default_rng(number)
    dim = len(task.compiled.nonneg[number])
    level = 1.0 if budget is None or np.isinf(budget) else budget
    parts = []
    for k, loss in enumerate(losses):
        widths = (
            [dim] if isinstance(loss.needs, str) else _widths(task, number, k, loss)
        )
        if sum(widths) != dim:
            return None
        # Of one block, or numbered ones.
        many = () if isinstance(loss.needs, str) else range(len(widths))
        names = [f"{number}.{k}.{j}." for j in many] or [f"{number}.{k}."]
        turned = [name + TRIANGLE in task.compiled.program.slots for name in names]
        blocks = [
            _prediction(rng, *shape) for shape in zip(widths, turned, strict=True)
        ]
        prediction: AnyPrediction = (
            blocks[0] if isinstance(loss.needs, str) else JointPrediction(tuple(blocks))
        )
        outcomes = Outcomes((Numbers(dim),))
        loss = loss.settled(prediction)
        parts.append(SetBatch(loss, prediction, np.full(CONTEXTS, level), outcomes, ()))
    return parts[0] if len(parts) == 1 else UnionBatch(tuple(parts))


def _support(region: UncertaintySet, direction: Array) -> Array:
    """How far a set goes in a direction; nan where it does not say."""
    try:
        return np.array([region.support(direction)])
    except Exception:
        # Empty, unbounded, or the solver failed: the same when it is tried again.
        return np.array([np.nan])


def _widths(task: ChunkTask, number: int, part: int, loss: Loss) -> list[int]:
    """Widths of the blocks of a Combined loss, as the program has them."""
    slots = task.compiled.program.slots
    names = [f"{number}.{part}.{k}.location" for k in range(len(loss.needs))]
    return [slots[n].stop - slots[n].start for n in names if n in slots]


def _prediction(rng: np.random.Generator, width: int, turned: bool) -> Prediction:
    location, scale = _positive(rng, CONTEXTS, width), _positive(rng, CONTEXTS, width)
    if not turned:
        return Prediction(location, scale)
    return Prediction(location, factor=np.tril(scale[:, :, None] + scale[:, None, :]))


def _positive(rng: np.random.Generator, n: int, width: int) -> Array:
    return rng.uniform(0.5, 1.5, (n, width))


def _rows(rows: WrittenRows, leaves: Leaves) -> Iterator[Array]:
    """All that is evaluated of a constraint."""
    yield rows.residual.rows(leaves)
    if rows.free is not None:
        yield rows.free.rows(leaves)
    for side in rows.sides:
        yield side.rows(leaves)
    summed = [place for row in rows.sums for place in row.places]
    for row in rows.sums:
        yield np.array([[len(t.places), float(t.is_largest)] for t in row.terms])
    for place in (*(rows.plain or ()), *rows.places, *summed):
        yield place.certain(leaves.values, leaves.ordinary)
        yield from place.directions(leaves.values, leaves.ordinary).values()
        for entries in place.entries.values():
            yield np.asarray(entries, dtype=float)
    yield from rows.at(leaves)
    yield rows.gross(leaves, np.ones_like(leaves.values))
    yield np.array([float(rows.equal)])
