"""Contexts that lie elsewhere: a lazy table in, a lazy table of decisions out.

A worker gets what decides, arrays and the models, once, and then a part of the table at
a time. So no part of it ever passes through here, memory is bounded by a part on each
worker, and a part that is lost with its worker is decided again by another one.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import Array, briefly
from ..conic.batched.choice import LEAST_CONTEXTS
from ..errors import InvalidParameter, MissingExtra
from ..losses import Loss
from ..predictions import frame_columns, is_frame
from .contexts import contexts_to_decide
from .deciding import decide_chunks
from .decisions import Decisions
from .fallback import fall_back
from .keys import UncertainKey
from .probes import Probes
from .solve.chunk import ChunkTask

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd


@dataclass(frozen=True, eq=False)
class WorkerPolicy:
    """What decides at a worker: arrays and models, nothing of CVXPY's.

    Attributes
    ----------
    task : the compiled program
    keys : the uncertain keys
    losses : for each key the losses it was compiled for, or None
    fallback : what is done where there is no decision, or None
    examples : contexts at which the models are sure to predict, or None
    """

    task: ChunkTask
    keys: tuple[UncertainKey, ...]
    losses: tuple[tuple[Loss, ...] | None, ...]
    fallback: Array | None
    examples: Any

    def __call__(self, part: pd.DataFrame) -> pd.DataFrame:
        """The decisions at one part of the contexts, as a table."""
        if not len(part):
            return self.nothing(part)
        # The models saw arrays: names of columns would be something else to them.
        framed = self.examples is None or is_frame(self.examples)
        X = part if framed else part.to_numpy()
        sets = contexts_to_decide("decide_lazily", self.keys, self.losses, X, None)
        # A part may be all bad, while others are not. And it may be of a few rows only:
        # what solves them must not depend on how the table is cut.
        sets = replace(sets, hopeful=self.examples is not None, among=LEAST_CONTEXTS)
        arrays = decide_chunks(self.task, sets, n_jobs=1)
        return self._table(fall_back(arrays, self.fallback), part)

    def nothing(self, part: pd.DataFrame) -> pd.DataFrame:
        """A table without rows, which shows the columns."""
        return self._table(self.task.layout.room(np.zeros(0, dtype=str)), part)

    def _table(self, arrays: Any, part: pd.DataFrame) -> pd.DataFrame:
        return Decisions(arrays, self.task.layout, None, part.index).to_pandas()


class Parcel:
    """A policy on its way to workers, opened by the task that needs it.

    What Dask unpacks itself, it unpacks as it reads a message. A worker that lacks the
    module of a model would fail there, lose its connection and be shut down, as would
    the next one: the caller would wait for ever, and not learn why. In a task it is an
    error like any other. Where nothing is sent, nothing is packed.

    Parameters
    ----------
    policy : what is sent, or None if it comes packed
    packed : the policy as bytes, or None if it was not sent yet
    """

    def __init__(
        self, policy: WorkerPolicy | None = None, packed: bytes | None = None
    ) -> None:
        self._policy = policy
        self._packed = packed

    def open(self) -> WorkerPolicy:
        """The policy. Threads that come at once may each unpack one; either will do."""
        if self._policy is None:
            assert self._packed is not None
            self._policy = pickle.loads(self._packed)
        return self._policy

    def __reduce__(self) -> tuple[Callable[..., Parcel], tuple[None, bytes]]:
        if self._packed is None:
            # Models may be functions of a notebook, which only this can pack.
            import cloudpickle

            self._packed = cloudpickle.dumps(self._policy)
        return Parcel, (None, self._packed)


def decide_lazily(
    owner: str,
    X: dd.DataFrame,
    task: ChunkTask,
    keys: Sequence[UncertainKey],
    losses: tuple[tuple[Loss, ...] | None, ...],
    fallback: Array | None,
    probes: Probes | None,
) -> dd.DataFrame:
    """Decisions at the rows of a Dask DataFrame, when they are asked for."""
    try:
        import dask
        import dask.dataframe as dd
    except ImportError as error:
        raise MissingExtra(
            f"{owner}(X) needs Dask's DataFrames. Install them with "
            "`pip install 'sublevel[dask]'`."
        ) from error
    if not isinstance(X, dd.DataFrame):
        raise InvalidParameter(
            f"{owner}(X) must be a Dask DataFrame, got {briefly(X)}. Say "
            "dask.dataframe.from_pandas(X, npartitions=...), or decide(X)."
        )
    examples = None if probes is None else probes.X
    _require_columns(owner, X, examples)
    bare = tuple(UncertainKey(key.parts, key.nonneg, key.source) for key in keys)
    # What is prepared for many contexts goes along: workers need not do it again.
    task.for_contexts(LEAST_CONTEXTS)
    policy = WorkerPolicy(task, bare, losses, fallback, examples)
    # One object for all parts: it goes to a worker once.
    there = dask.delayed(Parcel(policy), pure=False, traverse=False)
    return X.map_partitions(_decide_part, there, meta=policy.nothing(X._meta))


def _decide_part(part: pd.DataFrame, parcel: Parcel) -> pd.DataFrame:
    return parcel.open()(part)


def _require_columns(owner: str, X: dd.DataFrame, examples: Any) -> None:
    """The columns the models were calibrated with, if there are examples."""
    if examples is None:
        return
    names = tuple(map(str, X.columns))
    wanted = frame_columns(examples)
    fits = names == wanted if wanted is not None else len(names) == examples.shape[1]
    if not fits:
        what = list(wanted) if wanted is not None else f"{examples.shape[1]} columns"
        raise InvalidParameter(
            f"{owner}(X) must have the columns the policy was calibrated with, {what}, "
            f"got {list(names)}. Say X[[...]] to choose them."
        )
