"""Violations in each group of contexts, at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidParameter
from .axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..evaluation import Comparison, Evaluation


def plot_groups(seen: Comparison | Evaluation, ax: Axes | None = None) -> Axes:
    """Violation rate of each group, with its exact interval, beside what was promised.

    One row a group, one colour a policy; a group that is above its alpha by more than
    chance explains has a red cross. The facts are `seen.by_group()`.

    Parameters
    ----------
    seen : Comparison or Evaluation
        What `sl.evaluate`, or `evaluate` of a policy, returns when it is given groups.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.

    Examples
    --------
    >>> import sublevel as sl
    >>> rule = sl.calibrate_rule(
    ...     lambda x, level: level, lambda d, y: y > d, range(30), range(30), 0.2, [30]
    ... )
    >>> X = np.arange(20)
    >>> seen = rule.evaluate(X, X, groups={"low": lambda X: X < 9})
    >>> ax = plot_groups(seen)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['low (9)']
    """
    table = seen.by_group()
    if table.empty:
        raise InvalidParameter(
            "plot_groups(seen) must be what evaluate(..., groups=...) returns, got no "
            "groups."
        )
    if table.index.nlevels == 1:
        table.index = [("", name) for name in table.index]
    ax = axes_or_new(ax)
    policies = list(dict.fromkeys(policy for policy, _ in table.index))
    names = list(dict.fromkeys(name for _, name in table.index))
    step = 0.6 / max(1, len(policies) - 1) if len(policies) > 1 else 0.0
    for number, policy in enumerate(policies):
        rows = table.loc[[place for place in table.index if place[0] == policy]]
        at = [names.index(name) + step * number for _, name in rows.index]
        reach = [rows["violation"] - rows["low"], rows["high"] - rows["violation"]]
        ax.errorbar(
            rows["violation"],
            at,
            xerr=[np.maximum(part.to_numpy(), 0.0) for part in reach],
            fmt="o",
            markersize=4,
            elinewidth=0.8,
            label=policy or None,
        )
        above = rows["above"].to_numpy()
        ax.plot(rows["violation"][above], np.array(at)[above], "x", color="tab:red")
    for alpha in sorted(set(table["alpha"].dropna())):
        ax.axvline(alpha, color="0.7", linewidth=1)
    sizes = {name: table["contexts"].iloc[k] for k, (_, name) in enumerate(table.index)}
    middle = 0.3 if len(policies) > 1 else 0.0
    ax.set_yticks(
        np.arange(len(names)) + middle, [f"{name} ({sizes[name]})" for name in names]
    )
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.set_xlabel("violation rate (line: promised)")
    if len(policies) > 1:
        ax.legend(frameon=False)
    return ax
