"""Run jobs one after another, or on joblib's workers."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Generator
from typing import Any

from .checks import briefly, is_number, is_whole
from .errors import InvalidParameter

_LOG = logging.getLogger(__name__)

#: From the number of a job to what to call and with what.
Jobs = Callable[[int], tuple[Callable[..., Any], tuple[Any, ...]]]


def count_workers(n_jobs: int | None) -> int | None:
    """Workers as joblib counts them, not 0, negative from the end.

    Without a number joblib is asked; None where it leaves it to its backend.

    Examples
    --------
    >>> count_workers(None), count_workers(-1)
    (1, -1)
    """
    if n_jobs is None:
        if "joblib" not in sys.modules:
            # So nobody has asked it for workers.
            return 1
        from joblib.parallel import get_active_backend

        workers: int | None = get_active_backend(prefer="threads")[1]
        return workers
    whole = is_whole(n_jobs, least=1) or (is_number(n_jobs) and is_whole(-n_jobs, 1))
    if not whole:
        raise InvalidParameter(
            "n_jobs=... must be a whole number other than 0, or None, got "
            f"{briefly(n_jobs)}. -1 asks for all cores."
        )
    return n_jobs


def each(jobs: Jobs, count: int, workers: int | None) -> Generator[Any, None, None]:
    """Results in order. Jobs are made as workers become free, not before.

    Threads unless `joblib.parallel_config` names another backend: a solver's time is
    spent outside the interpreter, and threads start at once. When workers are lost for
    good, the jobs they leave are done here.
    """
    done = 0
    if workers != 1 and count > 1:
        from joblib import Parallel, delayed

        run = Parallel(n_jobs=workers, prefer="threads", return_as="generator")
        given = (jobs(k) for k in range(count))
        try:
            for result in run(delayed(what)(*with_) for what, with_ in given):
                done += 1
                yield result
        except Exception:
            # A job that is at fault itself will say so again.
            _LOG.exception("workers failed, %d of %d chunks done", done, count)
    for k in range(done, count):
        what, with_ = jobs(k)
        yield what(*with_)
