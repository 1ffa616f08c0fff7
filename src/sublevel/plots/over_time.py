"""A policy over time: what was certified, what came, and where promises were missed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..checks import briefly, is_whole
from ..errors import InvalidParameter
from .axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..evaluation import Evaluation


def over_time_table(
    evaluation: Evaluation, index: Any = None, window: int = 50
) -> pd.DataFrame:
    """Row after row what a policy certified, what came, and the rate of misses so far.

    Parameters
    ----------
    evaluation : what `Policy.evaluate` returns, of rows in the order of time
    index : labels of the rows, such as dates; their numbers if left out
    window : rows over which the rate of violations is averaged

    Returns
    -------
    DataFrame
        Columns `certified`, `realised`, `violated`, and `rate`, the share of the last
        `window` rows that were violated; nan before there are so many.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> missed = np.array([True, False, False])
    >>> seen = SimpleNamespace(violated=missed, certified=0 * missed, realised=missed)
    >>> over_time_table(seen, window=2)["rate"].tolist()
    [nan, 0.5, 0.0]
    """
    if not is_whole(window, least=1):
        raise InvalidParameter(
            "over_time_table(window=...) must be a whole number of at least 1, got "
            f"{briefly(window)}."
        )
    table = pd.DataFrame(
        {
            "certified": np.asarray(evaluation.certified, dtype=float),
            "realised": np.asarray(evaluation.realised, dtype=float),
            "violated": np.asarray(evaluation.violated, dtype=bool),
        },
        index=index,
    )
    table["rate"] = table["violated"].astype(float).rolling(window).mean()
    return table


def plot_over_time(
    evaluation: Evaluation,
    alpha: float | None = None,
    index: Any = None,
    window: int = 50,
    ax: Axes | None = None,
) -> Axes:
    """The rate of violations over the last rows, with a mark at each violation.

    Parameters
    ----------
    evaluation : what `Policy.evaluate` returns, of rows in the order of time
    alpha : float, optional
        Violation level that was promised: a line.
    index : labels of the rows, such as dates; their numbers if left out
    window : rows over which the rate is averaged
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> missed = np.arange(60) % 10 == 0
    >>> seen = SimpleNamespace(violated=missed, certified=0 * missed, realised=missed)
    >>> ax = plot_over_time(seen, alpha=0.1, window=20)
    >>> ax.get_legend_handles_labels()[1]
    ['promised', 'last 20 rows', 'violation']
    """
    table = over_time_table(evaluation, index, window)
    ax = axes_or_new(ax)
    if alpha is not None:
        ax.axhline(alpha, color="0.7", linewidth=1, label="promised")
    ax.plot(table.index, table["rate"], label=f"last {window} rows")
    missed = table.index[table["violated"]]
    ax.plot(missed, np.zeros(len(missed)), "|", color="tab:red", label="violation")
    ax.set_ylim(bottom=-0.01)
    ax.set_ylabel("violation rate")
    ax.legend()
    return ax
