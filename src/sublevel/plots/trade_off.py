"""What each violation level costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InvalidParameter
from .axes import axes_or_new

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..calibration.band import Band

_NAMES = {"decisions": "decisions calibrated", "sets": "sets calibrated"}


def frontier(
    frame: pd.DataFrame, value: str = "certified", ax: Axes | None = None
) -> Axes:
    """Violation against what was certified, realised or regretted.

    One line a calibration, one dot a level: the violation rate on test data, with its
    exact interval. At the same violation, a better value is a better policy; a line
    that stays far left of the levels asked for costs more than the promise needs.

    The edge of the shade is the bound, which holds for all dots of a line at once:
    with confidence 1 - delta no level violates more often. Without test data that is
    all there is to see.

    Parameters
    ----------
    frame : DataFrame, what `Policy.frontier` or `Rule.frontier` returns
    value : "certified", "realised", "regret", "budget", "radius" or "level"
        What is on the vertical axis.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "calibration": ["decisions", "sets"], "alpha": [0.1, 0.1],
    ...     "certified": [0.3, 0.1], "violation": [0.09, 0.01],
    ...     "low": [0.05, 0.0], "high": [0.15, 0.03],
    ... })
    >>> frontier(frame).get_ylabel()
    'certified'
    """
    if "calibration" not in frame:
        frame = frame.assign(calibration="rule")
    _check(frame, value)
    ax = axes_or_new(ax)
    tested, bounded = "violation" in frame, _has_bounds(frame)
    for name, rows in frame.groupby("calibration", sort=False):
        rows = rows.sort_values("alpha")
        where = rows["violation" if tested else "bound"]
        drawn = ax.errorbar(
            where,
            rows[value],
            xerr=_reach(rows) if tested else None,
            fmt="o-",
            markersize=4,
            linewidth=1,
            elinewidth=0.8,
            label=_NAMES.get(str(name), str(name)),
        )
        if bounded:
            finite = rows[rows[value].notna()]
            edge = finite["bound"]
            inner = 0 * edge if not tested else finite["violation"]
            colour = drawn.lines[0].get_color()
            ax.fill_betweenx(finite[value], inner, edge, color=colour, alpha=0.15)
    for alpha in sorted(set(frame["alpha"])):
        ax.axvline(alpha, color="0.9", linewidth=1, zorder=0)
    seen = "violation on test data" if tested else "violation, at most"
    ax.set_xlabel(f"{seen} (grey: levels asked for)")
    ax.set_ylabel(value)
    ax.legend(frameon=False)
    return ax


def plot_band(band: Band, ax: Axes | None = None) -> Axes:
    """How often decisions violate at most, at every level at once.

    The step is the bound at each level, with confidence 1 - delta for all of them; the
    thin one below it the share of calibration points beyond. Any level may be chosen
    by looking at this picture. The facts are `band.to_pandas()`.

    Parameters
    ----------
    band : Band, `policy.band_` after `Policy.frontier`, or `Rule.band()`
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.calibration.band import band_of
    >>> ax = plot_band(band_of(np.arange(100.0), widest=0.3, delta=0.05))
    >>> ax.get_xlabel(), ax.get_legend_handles_labels()[1][0]
    ('level', 'at most, with confidence 0.95 for all levels at once')
    """
    ax = axes_or_new(ax)
    table = band.to_pandas()
    table = table[table["level"] < float("inf")].drop_duplicates("level", keep="last")
    sure = f"at most, with confidence {1 - band.delta:g} for all levels at once"
    at = table["level"]
    ax.step(at, table["bound"], where="post", color="tab:blue", label=sure)
    share = "calibration points beyond"
    ax.step(at, table["beyond"], where="post", color="0.5", linewidth=0.8, label=share)
    ax.fill_between(
        at, table["beyond"], table["bound"], step="post", color="tab:blue", alpha=0.15
    )
    ax.set_ylim(bottom=0)
    ax.set_xlabel("level")
    ax.set_ylabel("violation")
    ax.legend(frameon=False)
    return ax


def _has_bounds(frame: pd.DataFrame) -> bool:
    return "bound" in frame and bool(frame["bound"].notna().all())


def _reach(rows: pd.DataFrame) -> list[Any]:
    """Lengths of the bars on both sides, never negative by rounding."""
    reach = [rows["violation"] - rows["low"], rows["high"] - rows["violation"]]
    return [part.clip(lower=0.0).to_numpy() for part in reach]


def _check(frame: pd.DataFrame, value: str) -> None:
    rate = ("violation", "low", "high") if "violation" in frame else ("bound",)
    needed = ["alpha", *rate, value]
    missing = [name for name in needed if name not in frame]
    if missing:
        raise InvalidParameter(
            f"frontier(frame, value={value!r}) must have the columns {needed}, got "
            f"none called {missing[0]!r}. Pass what Policy.frontier returns."
        )
