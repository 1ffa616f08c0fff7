"""All contexts of a call: in chunks here or on workers, or one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.chunk import ChunkTask
from .gathering import Gathering
from .one_by_one import as_result, decide_one
from .parallel import each
from .predicting import Sets
from .progress import Bar

#: Contexts that are predicted in one go before they are solved one by one.
AHEAD = 100


def decide_chunks(
    task: ChunkTask, sets: Sets, found: Gathering, step: int, n_jobs: Any, bar: Bar
) -> None:
    """Chunk after chunk. Models predict here, workers solve."""
    rows = len(found)
    good: dict[int, Any] = {}

    def job(k: int) -> Any:
        batches, good[k] = sets.where_possible(_span(k, step, rows))
        return (task.decide, (batches, len(good[k]))) if good[k].size else (_none, ())

    for k, result in enumerate(each(job, -(-rows // step), n_jobs)):
        span = _span(k, step, rows)
        found.status[np.setdiff1d(span, good[k])] = "invalid_prediction"
        if result is not None:
            found.put(good[k], result)
        bar.advance(len(span))


def decide_each(
    problem: Any, sets: Sets, found: Gathering, engine: Any, solver: Any, bar: Bar
) -> None:
    """One context after another."""
    rows = len(found)
    for start in range(-(-rows // AHEAD)):
        span = _span(start, AHEAD, rows)
        batches, good = sets.where_possible(span)
        bad = np.setdiff1d(span, good)
        found.status[bad] = "invalid_prediction"
        bar.advance(len(bad))
        for k, i in enumerate(good.tolist()):
            given = [
                source if batch is None else batch[k]
                for source, batch in zip(sets.sources, batches, strict=True)
            ]
            decision = decide_one(problem, given, engine, solver)
            found.put([i], as_result(decision, found))
            bar.advance(1)


def _span(k: int, step: int, rows: int) -> Any:
    return np.arange(k * step, min((k + 1) * step, rows))


def _none() -> None:
    """No context of the chunk can be predicted."""
