"""Where a picture is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_new(ax: Axes | None) -> Axes:
    """The Axes given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtra(
            "sublevel.plots needs matplotlib, which is not installed. Install it with "
            "`pip install 'sublevel[plots]'`."
        ) from error
    # Names and legends have the room they need.
    return plt.subplots(layout="constrained")[1]
