"""Run jobs one after another or on joblib's workers, with a bar on request."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from joblib import Parallel, delayed

Job = tuple[Callable[..., Any], tuple[Any, ...]]

#: Seconds between two drawings of the bar.
PAUSE = 0.2


def each(
    jobs: Iterable[Job], count: int, n_jobs: int | None, progress: bool, unit: str
) -> list[Any]:
    """Results in order. Jobs are made as workers become free, not before.

    Threads unless `joblib.parallel_config` names another backend: a solver's time is
    spent outside the interpreter, and threads start at once.
    """
    if n_jobs in (None, 1):
        found: Iterable[Any] = (function(*given) for function, given in jobs)
    else:
        run = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        found = run(delayed(function)(*given) for function, given in jobs)
    return list(_bar(found, count, unit) if progress else found)


def _bar(results: Iterable[Any], count: int, unit: str) -> Iterator[Any]:
    """Draw how far things are, how long they took and will take."""
    begun, drawn, done = time.monotonic(), -PAUSE, 0
    for result in results:
        done += 1
        passed = time.monotonic() - begun
        if passed - drawn >= PAUSE or done == count:
            drawn = passed
            left = passed / done * (count - done)
            filled = "#" * round(20 * done / count)
            line = f"\r[{filled:<20}] {done}/{count} {unit}, {left:.0f} s left "
            sys.stderr.write(line)
            sys.stderr.flush()
        yield result
    if done:
        sys.stderr.write("\n")
