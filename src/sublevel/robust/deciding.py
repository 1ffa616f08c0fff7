"""All contexts of a call: in chunks here or on workers, or one by one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..checks import Array, briefly, is_whole
from ..conic.program import Indices
from ..errors import InvalidParameter
from ..loss_set.batch import Batch
from ..parallel import count_workers, each
from ..progress import Bar
from .decisions import DecisionArrays, Layout
from .judge.statuses import has_failed
from .keys import UncertainKey
from .solve.chunk import ChunkTask

if TYPE_CHECKING:
    # It needs CVXPY, which a policy from a file does without.
    from .solve.engine import Engine

_LOG = logging.getLogger(__name__)

#: Contexts that are predicted in one go before they are solved one by one.
AHEAD = 100
#: Most contexts that are decided in one go.
MOST_CONTEXTS = 1000
#: The same where there is nobody to share them with.
MOST_ALONE = 4000

#: Decide one context, given each key's set.
DecideOne = Callable[[Sequence[Any]], tuple[DecisionArrays, Mapping[Any, Array]]]
#: The same for what chunks could not decide; None where nothing can be done.
Rescue = Callable[[Sequence[Any]], "tuple[DecisionArrays, Mapping[Any, Array]] | None"]


class Sets(Protocol):
    """The sets of all contexts of a call."""

    @property
    def keys(self) -> tuple[UncertainKey, ...]:
        """The uncertain keys."""

    @property
    def rows(self) -> int:
        """Number of contexts."""

    @property
    def total(self) -> int:
        """Number of contexts by which a solver is chosen: of this call and its like."""

    def where_possible(self, rows: Indices) -> tuple[list[Batch | None], Indices]:
        """The batches at those rows that have sets, and these rows."""

    def first(self) -> list[Batch | None]:
        """The batches at some contexts, to see how wide predictions are."""


def decide_sets(
    engine: Engine,
    layout: Layout,
    sets: Sets,
    n_jobs: int | None = None,
    chunk: int | None = None,
    bar: Bar | None = None,
) -> tuple[DecisionArrays, tuple[Mapping[Any, Array], ...]]:
    """Decisions over sets, as the engine can, and what cutting planes used.

    Parameters
    ----------
    engine : what solves, or compiles
    layout : what the columns of decisions are
    sets : of all contexts
    n_jobs, chunk, bar : as for `Policy.decide`
    """
    keys = sets.keys
    task = engine.task(keys, sets.first)
    if task is None:
        return decide_each(
            lambda regions: engine.decide_one(keys, regions), layout, sets, bar
        )
    arrays = decide_chunks(
        task, sets, chunk, n_jobs, bar, lambda regions: engine.rescue(keys, regions)
    )
    return arrays, ()


def decide_chunks(
    task: ChunkTask,
    sets: Sets,
    step: int | None = None,
    n_jobs: int | None = None,
    bar: Bar | None = None,
    rescue: Rescue | None = None,
) -> DecisionArrays:
    """Chunk after chunk. Models predict here, workers solve."""
    rows, workers = sets.rows, count_workers(n_jobs)
    task = task.for_contexts(sets.total)
    if step is None:
        # As many as share the work and fit in memory together.
        most = MOST_ALONE if workers == 1 else MOST_CONTEXTS
        step = min(task.most_contexts, most)
    if rows <= step:
        return _decide_at_once(task, sets, bar, rescue)
    # A context that no result speaks of would be seen.
    decisions = task.layout.room(np.full(rows, "lost"))
    good: dict[int, Indices] = {}
    batches: dict[int, list[Batch | None]] = {}

    def job(k: int) -> Any:
        span = np.arange(k * step, min((k + 1) * step, rows))
        batches[k], good[k] = sets.where_possible(span)
        task_args = (batches[k], len(good[k]))
        return (task.decide, task_args) if good[k].size else (_none, ())

    for k, result in enumerate(each(job, -(-rows // step), workers)):
        span = np.arange(k * step, min((k + 1) * step, rows))
        every = len(good[k]) == len(span)
        if not every:
            decisions.status[np.setdiff1d(span, good[k])] = "invalid_prediction"
        if result is not None:
            if rescue is not None:
                _rescue(result, sets, batches[k], rescue)
            decisions.put(slice(span[0], span[-1] + 1) if every else good[k], result)
        del batches[k]
        if bar is not None:
            bar.advance(len(span))
    return decisions


def _decide_at_once(
    task: ChunkTask, sets: Sets, bar: Bar | None, rescue: Rescue | None
) -> DecisionArrays:
    """The only chunk: what several need to be put together is left out."""
    rows = sets.rows
    batches, good = sets.where_possible(np.arange(rows))
    decisions = None
    if good.size:
        decisions = task.decide(batches, len(good))
        if rescue is not None:
            _rescue(decisions, sets, batches, rescue)
    if bar is not None:
        bar.advance(rows)
    if decisions is not None and len(good) == rows:
        return decisions
    every = task.layout.room(np.full(rows, "invalid_prediction"))
    if decisions is not None:
        every.put(good, decisions)
    return every


def decide_each(
    decide: DecideOne, layout: Layout, sets: Sets, bar: Bar | None = None
) -> tuple[DecisionArrays, tuple[Mapping[Any, Array], ...]]:
    """One context after another, and the outcomes that cutting planes used."""
    rows = sets.rows
    decisions = layout.room(np.full(rows, "lost"))
    scenarios: list[Mapping[Any, Array]] = [{} for _ in range(rows)]
    for start in range(0, rows, AHEAD):
        span = np.arange(start, min(start + AHEAD, rows))
        batches, good = sets.where_possible(span)
        bad = np.setdiff1d(span, good)
        decisions.status[bad] = "invalid_prediction"
        if bar is not None:
            bar.advance(len(bad))
        for k, i in enumerate(good.tolist()):
            regions = _regions(sets, batches, k)
            if regions is None:
                decision = layout.room(["invalid_prediction"])
            else:
                decision, scenarios[i] = decide(regions)
            decisions.put(np.array([i]), decision)
            if bar is not None:
                bar.advance(1)
    return decisions, tuple(scenarios)


def require_chunk(owner: str, chunk: object) -> None:
    """How many contexts go together: a positive whole number, or None."""
    if chunk is not None and not is_whole(chunk, least=1):
        raise InvalidParameter(
            f"{owner}(chunk=...) must be a whole number of at least 1, got "
            f"{briefly(chunk)}."
        )


def _rescue(
    decisions: DecisionArrays,
    sets: Sets,
    batches: list[Batch | None],
    rescue: Rescue,
) -> None:
    failed = has_failed(decisions.status)
    for k in np.flatnonzero(failed).tolist() if failed.any() else ():
        regions = _regions(sets, batches, k)
        rescued = None if regions is None else rescue(regions)
        if rescued is not None:
            decisions.put(np.array([k]), rescued[0])


def _regions(sets: Sets, batches: list[Batch | None], k: int) -> list[Any] | None:
    """Each key's set at one context; None where its numbers are too large for one."""
    try:
        return [
            key.source if batch is None else batch[k]
            for key, batch in zip(sets.keys, batches, strict=True)
        ]
    except InvalidParameter as error:
        _LOG.warning("context %d of its chunk has no set: %s", k, error)
        return None


def _none() -> None:
    """No context of the chunk can be predicted."""
