"""All contexts of a call: in chunks here or on workers, or one by one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..checks import Array, briefly, is_whole
from ..conic.program import Indices
from ..errors import InvalidParameter
from ..loss_set.batch import Batch
from ..parallel import each, is_alone
from ..progress import Bar
from .contexts import ContextSets
from .decisions import DecisionArrays, Layout
from .judge.ruler import has_failed
from .solve.chunk import ChunkTask

_LOG = logging.getLogger(__name__)

#: Contexts that are predicted in one go before they are solved one by one.
AHEAD = 100
#: Most contexts, and most numbers, that are decided in one go.
MOST_CONTEXTS, MOST_NUMBERS = 1000, 2_000_000
#: The same where there is nobody to share them with.
MOST_ALONE = 4000

#: Decide one context, given each key's set.
DecideOne = Callable[[Sequence[Any]], tuple[DecisionArrays, Mapping[Any, Array]]]
#: The same for what chunks could not decide; None where nothing can be done.
Rescue = Callable[[Sequence[Any]], "tuple[DecisionArrays, Mapping[Any, Array]] | None"]


def decide_chunks(
    task: ChunkTask,
    sets: ContextSets,
    rows: int,
    step: int | None,
    n_jobs: int | None,
    bar: Bar,
    rescue: Rescue | None = None,
) -> DecisionArrays:
    """Chunk after chunk. Models predict here, workers solve."""
    # A context that no result speaks of would be seen.
    decisions = task.layout.room(np.full(rows, "lost"))
    size = step or chunk_size(task, is_alone(n_jobs))
    good: dict[int, Indices] = {}
    batches: dict[int, list[Batch | None]] = {}

    def job(k: int) -> Any:
        batches[k], good[k] = sets.where_possible(_span(k, size, rows))
        task_args = (batches[k], len(good[k]))
        return (task.decide, task_args) if good[k].size else (_none, ())

    for k, result in enumerate(each(job, -(-rows // size), n_jobs)):
        span = _span(k, size, rows)
        decisions.status[np.setdiff1d(span, good[k])] = "invalid_prediction"
        if result is not None:
            if rescue is not None:
                _rescue(result, sets, batches[k], rescue)
            decisions.put(good[k], result)
        del batches[k]
        bar.advance(len(span))
    return decisions


def decide_each(
    decide: DecideOne, layout: Layout, sets: ContextSets, rows: int, bar: Bar
) -> tuple[DecisionArrays, tuple[Mapping[Any, Array], ...]]:
    """One context after another, and the outcomes that cutting planes used."""
    decisions = layout.room(np.full(rows, "lost"))
    scenarios: list[Mapping[Any, Array]] = [{} for _ in range(rows)]
    for start in range(-(-rows // AHEAD)):
        span = _span(start, AHEAD, rows)
        batches, good = sets.where_possible(span)
        bad = np.setdiff1d(span, good)
        decisions.status[bad] = "invalid_prediction"
        bar.advance(len(bad))
        for k, i in enumerate(good.tolist()):
            regions = _regions(sets, batches, k)
            if regions is None:
                decision = layout.room(["invalid_prediction"])
            else:
                decision, scenarios[i] = decide(regions)
            decisions.put(np.array([i]), decision)
            bar.advance(1)
    return decisions, tuple(scenarios)


def as_chunk(owner: str, chunk: int | None) -> int | None:
    """How many contexts go together: a positive whole number, or None."""
    if chunk is None:
        return None
    if not is_whole(chunk, least=1):
        raise InvalidParameter(
            f"{owner}(chunk=...) must be a whole number of at least 1, got "
            f"{briefly(chunk)}."
        )
    return int(chunk)


def chunk_size(task: ChunkTask, alone: bool) -> int:
    """Contexts that share the work and fit in memory together."""
    program = task.compiled.program
    numbers = len(program.indices) + program.height + program.width
    return int(
        np.clip(MOST_NUMBERS // numbers, 1, MOST_ALONE if alone else MOST_CONTEXTS)
    )


def _rescue(
    decisions: DecisionArrays,
    sets: ContextSets,
    batches: list[Batch | None],
    rescue: Rescue,
) -> None:
    for k in np.flatnonzero(has_failed(decisions.status)).tolist():
        regions = _regions(sets, batches, k)
        rescued = None if regions is None else rescue(regions)
        if rescued is not None:
            decisions.put(np.array([k]), rescued[0])


def _regions(
    sets: ContextSets, batches: list[Batch | None], k: int
) -> list[Any] | None:
    """Each key's set at one context; None where its numbers are too large for one."""
    try:
        return [
            key.source if batch is None else batch[k]
            for key, batch in zip(sets.keys, batches, strict=True)
        ]
    except InvalidParameter as error:
        _LOG.warning("context %d of its chunk has no set: %s", k, error)
        return None


def _span(k: int, step: int, rows: int) -> Indices:
    return np.arange(k * step, min((k + 1) * step, rows))


def _none() -> None:
    """No context of the chunk can be predicted."""
