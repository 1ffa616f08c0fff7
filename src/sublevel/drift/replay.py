"""A stretch of time lived again, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from ..checks import Array, is_whole
from ..errors import InvalidParameter
from ..predictions import Table, count_rows, index_of, take_rows
from ..robust.contexts import Contexts
from ..robust.decisions import Decisions
from ..robust.labelled import Outcome
from ..robust.problem import RobustProblem
from .levels import judged
from .recent import Recent, require_rows

if TYPE_CHECKING:
    import pandas as pd


class Live(Protocol):
    """What decides, and learns from outcomes."""

    @property
    def problem(self) -> RobustProblem:
        """The model it decides for."""

    def decide(self, X: Contexts, n_jobs: int | None = None) -> Decisions:
        """The decision at every row of X."""

    def update(self, X: Table, Y: Outcome, decisions: Decisions | None = None) -> Self:
        """Learn from outcomes."""


@dataclass(frozen=True, eq=False)
class Replay:
    """What was decided, and what came of it.

    Attributes
    ----------
    status : strings of shape (n,)
    decided : shape (n,), whether there was a decision to act on, a fallback included
    violated : shape (n,)
    certified : shape (n,), worst case of the objective; nan without a robust decision
    realised : shape (n,), objective at the outcome; nan without a decision
    index : labels of the rows, or None
    """

    status: npt.NDArray[np.str_]
    decided: npt.NDArray[np.bool_]
    violated: npt.NDArray[np.bool_]
    certified: Array
    realised: Array
    index: Any = None

    @property
    def violation(self) -> float:
        """Share of rows with a violation."""
        return float(np.mean(self.violated))

    def to_pandas(self) -> pd.DataFrame:
        """One row a row."""
        import pandas as pd

        columns = {n: v for n, v in vars(self).items() if n != "index"}
        return pd.DataFrame(columns, index=self.index)

    def __repr__(self) -> str:
        return (
            f"Replay({len(self.violated)} rows: violation {self.violation:.4g}, "
            f"decided {np.mean(self.decided):.1%}, realised "
            f"{np.nanmean(self.realised) if self.decided.any() else np.nan:.4g})"
        )


def replay(live: Live, X: Table, Y: Outcome, batch: int = 1) -> Replay:
    """Decide row by row, and let each decision know all outcomes before it.

    Parameters
    ----------
    live : AdaptivePolicy, SlidingPolicy, MonitoredPolicy, or the like; it is changed
    X, Y : contexts and their outcomes, in the order of time
    batch : int, default 1
        Rows that are decided together, before the outcomes of any of them come in.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, sublevel as sl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 1))
    >>> Y = X + rng.normal(size=(120, 1))
    >>> demand, stock = sl.Uncertain(name="demand"), cp.Variable(name="stock")
    >>> sets = sl.LossSet(lambda X: X, loss="absolute")
    >>> met = [stock >= demand]
    >>> problem = sl.RobustProblem(cp.Minimize(stock), met, {demand: sets})
    >>> live = sl.drift.SlidingPolicy(problem.compile(), X[:60], Y[:60], alpha=0.1)
    >>> sl.drift.replay(live, X[60:], Y[60:], batch=10)
    Replay(60 rows: violation 0.1, decided 100.0%, realised 1.327)
    """
    if not is_whole(batch, least=1):
        raise InvalidParameter(
            f"replay(batch=...) must be a whole number of at least 1, got {batch!r}."
        )
    require_rows("replay", X, Y, Recent())
    size = count_rows(X)
    parts: dict[str, list[Any]] = {
        name: [] for name in ("status", "decided", "violated", "certified", "realised")
    }
    for start in range(0, size, batch):
        rows = slice(start, start + batch)
        x = take_rows(X, rows)
        y = (
            {name: take_rows(each, rows) for name, each in Y.items()}
            if isinstance(Y, Mapping)
            else take_rows(Y, rows)
        )
        decisions = live.decide(x)
        seen = judged(live, decisions, x, y, "replay")
        live.update(x, y, decisions)
        parts["status"].append(decisions.status)
        parts["decided"].append(seen.decided)
        parts["violated"].append(seen.violated)
        parts["certified"].append(decisions.objective)
        parts["realised"].append(seen.objective)
    return Replay(
        **{name: np.concatenate(each) for name, each in parts.items()},
        index=index_of(X),
    )
