"""What each violation level costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InvalidParameter
from .axes import axes_or_new

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_NEEDED = ("calibration", "alpha", "violation", "low", "high")
_NAMES = {"decisions": "decisions calibrated", "sets": "sets calibrated"}


def frontier(
    frame: pd.DataFrame, value: str = "certified", ax: Axes | None = None
) -> Axes:
    """Realised violation against what was certified, realised or regretted.

    One line a calibration, one dot a level, with the exact interval of its violation
    rate on the test data. At the same violation, a better value is a better policy; a
    line that stays far left of the levels asked for pays for protection nobody asked
    for.

    Parameters
    ----------
    frame : DataFrame, what `Policy.frontier` returns
    value : "certified", "realised", "regret", "budget" or "radius"
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
    _check(frame, value)
    ax = axes_or_new(ax)
    for name, rows in frame.groupby("calibration", sort=False):
        rows = rows.sort_values("alpha")
        reach = [rows["violation"] - rows["low"], rows["high"] - rows["violation"]]
        ax.errorbar(
            rows["violation"],
            rows[value],
            xerr=[part.clip(lower=0.0).to_numpy() for part in reach],
            fmt="o-",
            markersize=4,
            linewidth=1,
            elinewidth=0.8,
            label=_NAMES.get(str(name), str(name)),
        )
    for alpha in sorted(set(frame["alpha"])):
        ax.axvline(alpha, color="0.9", linewidth=1, zorder=0)
    ax.set_xlabel("violation on test data (grey: levels asked for)")
    ax.set_ylabel(value)
    ax.legend(frameon=False)
    return ax


def _check(frame: pd.DataFrame, value: str) -> None:
    missing = [name for name in (*_NEEDED, value) if name not in frame]
    if missing:
        raise InvalidParameter(
            f"frontier(frame, value={value!r}) must have the columns "
            f"{[*_NEEDED, value]}, got none called {missing[0]!r}. Pass what "
            "Policy.frontier returns."
        )
