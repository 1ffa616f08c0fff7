"""How far candidates are behind the best of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_choice(choice: Any, ax: Axes | None = None) -> Axes:
    """Candidates from best to worst: what each costs more, with its 95 % interval.

    Parameters
    ----------
    choice : Choice, as `sl.choose` returns it
    ax : Axes, optional

    Returns
    -------
    Axes
        Its facts are `choice.to_pandas()`.
    """
    ax = axes_or_new(ax)
    table = choice.to_pandas()
    places = range(len(table))
    ends = [table["behind"] - table["low"], table["high"] - table["behind"]]
    ax.errorbar(table["behind"], places, xerr=ends, fmt="o", capsize=3)
    ax.axvline(0.0, color="0.7", linewidth=1)
    ax.set_yticks(list(places), [str(name) for name in table.index])
    ax.invert_yaxis()
    ax.set_xlabel(f"{choice.by} objective behind {choice.best}")
    ax.set_title(f"After calibration to alpha = {choice.alpha:g}")
    return ax
