"""What `sl.diagnose` has to say, at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..diagnosis import Findings


def plot_findings(findings: Findings, ax: Axes | None = None) -> Axes:
    """How far residuals are from what strong assertions need, in standard errors.

    A bar beyond the line is more than chance. What was not looked at has no bar. The
    facts are `findings.to_pandas()`.

    Parameters
    ----------
    findings : Findings, what `sl.diagnose` returns
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.

    Examples
    --------
    >>> import sublevel as sl
    >>> X, Y = np.random.default_rng(0).normal(size=(2, 100, 2))
    >>> ax = plot_findings(sl.diagnose(sl.LossSet(lambda X: 0 * X), X, Y))
    >>> [label.get_text() for label in ax.get_yticklabels()][:2]
    ['bias -0.13', 'skewness 0.2']
    """
    table = findings.to_pandas().dropna(subset="surprise").reset_index(drop=True)
    ax = axes_or_new(ax)
    colours = np.where(table["alarming"], "tab:red", "0.6")
    ax.barh(table.index, np.maximum(table["surprise"], 0.0), color=colours, height=0.6)
    if np.isfinite(findings.limit):
        ax.axvline(findings.limit, color="0.3", linewidth=1, linestyle="--")
    labels = [
        f"{row['check']} {row['value']:.2g}" for row in table.to_dict(orient="records")
    ]
    ax.set_yticks(table.index, labels)
    ax.invert_yaxis()
    ax.set_xlabel("standard errors from zero")
    return ax
