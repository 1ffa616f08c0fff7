"""Policies side by side: what they lose, and how often they break their promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..intervals import mean_interval
from .axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..evaluation import Comparison


def comparison_table(comparison: Comparison, level: float = 0.95) -> pd.DataFrame:
    """Mean regret and violation rate of each policy, with intervals.

    Parameters
    ----------
    comparison : Comparison, what `sl.evaluate` returns
    level : float in (0, 1)
        Confidence of the regret's interval, as `Comparison.paired` has it; that of
        the violation rate is its own.

    Returns
    -------
    DataFrame
        One row a policy: `regret`, `regret low`, `regret high`, `violation`,
        `violation low`, `violation high`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> one = SimpleNamespace(
    ...     regret=np.arange(20.0), violation=0.5, interval=(0.0, 1.0)
    ... )
    >>> shown = comparison_table(SimpleNamespace(evaluations={"one": one}), 0.5)
    >>> bool(shown.loc["one", "regret low"] < 9.5 < shown.loc["one", "regret high"])
    True
    """
    rows = {}
    for name, evaluation in comparison.evaluations.items():
        regret = evaluation.regret[np.isfinite(evaluation.regret)]
        low, high = mean_interval(regret, level)
        mean = float(regret.mean()) if regret.size else float("nan")
        rows[name] = {"regret": mean, "regret low": low, "regret high": high}
        rows[name] |= {"violation": evaluation.violation}
        below, above = evaluation.interval
        rows[name] |= {"violation low": below, "violation high": above}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")


def plot_comparison(
    comparison: Comparison, alpha: float | None = None, ax: Axes | None = None
) -> Axes:
    """Mean regret against violation rate, a cross of intervals for each policy.

    Down and to the left is better; left of the line at alpha the promise was kept. A
    bar is left out where the interval has no end.

    Parameters
    ----------
    comparison : Comparison, what `sl.evaluate` returns
    alpha : float, optional
        Violation level that was promised: a vertical line.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> one = SimpleNamespace(
    ...     regret=np.array([0.0, 2.0]), violation=0.5, interval=(0.0, 1.0)
    ... )
    >>> ax = plot_comparison(SimpleNamespace(evaluations={"one": one}), alpha=0.1)
    >>> ax.get_xlabel(), ax.get_legend_handles_labels()[1]
    ('violation rate', ['promised', 'one'])
    """
    table = comparison_table(comparison)
    ax = axes_or_new(ax)
    if alpha is not None:
        ax.axvline(alpha, color="0.7", linewidth=1, label="promised")
    for name, row in table.iterrows():
        ax.errorbar(
            row["violation"],
            row["regret"],
            xerr=_bars(row, "violation"),
            yerr=_bars(row, "regret"),
            fmt="o",
            markersize=4,
            label=str(name),
        )
    ax.set_xlim(left=0)
    ax.set_xlabel("violation rate")
    ax.set_ylabel("mean regret")
    ax.legend()
    return ax


def _bars(row: pd.Series, name: str) -> list[list[float]]:
    """Lengths of the bars on both sides, never negative by rounding; nan for none."""
    ends = row[name] - row[f"{name} low"], row[f"{name} high"] - row[name]
    return [[max(end, 0.0) if np.isfinite(end) else np.nan] for end in ends]
