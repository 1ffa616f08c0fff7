"""A set in two dimensions, traced through its own worst cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..checks import Array
from ..errors import InvalidParameter
from ..sets import Finite, LabelSet, Sublevel, UncertaintySet, Union
from .axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Directions in which the outline of a set is traced.
DIRECTIONS = 180


def set_table(U: UncertaintySet, components: Sequence[int] = (0, 1)) -> pd.DataFrame:
    """Outline of a set in two of its components, as points on its boundary.

    The points are worst cases of the set in directions all around the plane of the two
    components, so the outline is that of the set's projection (of its convex hull, if
    the set is not convex). A union is traced member by member; a set of labels or of
    finitely many outcomes gives the outcomes themselves.

    Parameters
    ----------
    U : UncertaintySet
        A bounded set.
    components : pair of int
        Which components are on the horizontal and the vertical axis.

    Returns
    -------
    DataFrame
        Columns `part` (which member of a union), `first` and `second` (the two
        components), `isolated` (whether the point is an outcome on its own).

    Examples
    --------
    >>> from sublevel.sets import Box
    >>> table = set_table(Box([0.0, 0.0], [1.0, 2.0]))
    >>> sorted(set(zip(table["first"].tolist(), table["second"].tolist())))
    [(0.0, 0.0), (0.0, 2.0), (1.0, 0.0), (1.0, 2.0)]
    """
    pair = _pair(U, components)
    tables = []
    for part, member in enumerate(_members(U)):
        if isinstance(member, Finite | LabelSet):
            points, isolated = _projected(member, pair), True
        else:
            points, isolated = _traced(member, pair), False
        table = pd.DataFrame(points, columns=["first", "second"])
        tables.append(table.assign(part=part, isolated=isolated))
    return pd.concat(tables, ignore_index=True)


def plot_set(
    U: UncertaintySet,
    ax: Axes | None = None,
    components: Sequence[int] = (0, 1),
    points: Any = None,
    label: str | None = None,
    names: Sequence[str] | None = None,
    equal: bool = True,
) -> Axes:
    """A set in two dimensions, around its prediction.

    Parameters
    ----------
    U : UncertaintySet
        A bounded set of at least two components.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.
    components : pair of int
        Which components are on the horizontal and the vertical axis.
    points : array of shape (dim,) or (n, dim), optional
        Outcomes to draw: dots inside the set, crosses outside. A set in more than two
        dimensions may exclude an outcome that its projection covers.
    label : str, optional
        Name of the set in a legend.
    names : sequence of str, optional
        Names of all components, for the axes: those of a batch are `batch.names`.
    equal : bool, default True
        Whether a unit is as long on both axes, so that a ball is round. False where
        components are of very different size.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sublevel.sets import Box
    >>> box, names = Box([0.0, 0.0], [1.0, 2.0]), ["bread", "milk"]
    >>> ax = plot_set(box, label="box", points=[0.5, 3.0], names=names)
    >>> ax.get_legend_handles_labels()[1], ax.get_xlabel()
    (['box'], 'bread')
    """
    table = set_table(U, components)
    ax = axes_or_new(ax)
    color = _draw(ax, table, label)
    pair = list(components)
    if isinstance(U, Sublevel):
        ax.plot(*U.prediction.point[pair], "+", color=color, markersize=9)
    if points is not None:
        outcomes = np.atleast_2d(np.asarray(points, dtype=float))
        inside = np.asarray(U.contains(outcomes))
        for rows, marker in ((inside, "."), (~inside, "x")):
            ax.plot(*outcomes[rows][:, pair].T, marker, color="0.35", markersize=5)
    if names is None:
        names = [f"component {k}" for k in range(U.dim)]
    if len(names) != U.dim:
        raise InvalidParameter(
            f"plot_set(names=...) must have a name for each of the {U.dim} components, "
            f"got {len(names)}."
        )
    ax.set_xlabel(str(names[pair[0]]))
    ax.set_ylabel(str(names[pair[1]]))
    if equal:
        # The limits give way, not the frame: nothing is cut off.
        ax.set_aspect("equal", adjustable="datalim")
    return ax


def _draw(ax: Axes, table: pd.DataFrame, label: str | None) -> Any:
    """Each part as a closed line or as dots, all of one colour, which is returned."""
    color = None
    for _, rows in table.groupby("part"):
        points = rows[["first", "second"]].to_numpy()
        if rows["isolated"].all():
            (line,) = ax.plot(*points.T, "o", color=color, label=label)
        else:
            closed = np.vstack([points, points[:1]])
            (line,) = ax.plot(*closed.T, "-", color=color, label=label)
            ax.fill(*points.T, color=line.get_color(), alpha=0.1, linewidth=0)
        color, label = line.get_color(), None
    return color


def _members(U: UncertaintySet) -> list[UncertaintySet]:
    if isinstance(U, Union):
        return [part for member in U.sets for part in _members(member)]
    return [U]


def _traced(U: UncertaintySet, pair: list[int]) -> Array:
    """Worst cases in directions all around, shape (DIRECTIONS, 2)."""
    # The directions are spread evenly around an ellipse of the set's own proportions,
    # so that a needle is traced as finely as a disc.
    lower, upper = U.bounds()
    widths = (upper - lower)[pair]
    widths = np.where((widths > 0) & np.isfinite(widths), widths, 1.0)
    angles = np.linspace(0, 2 * np.pi, DIRECTIONS, endpoint=False)
    directions = np.zeros((DIRECTIONS, U.dim))
    directions[:, pair] = np.column_stack([np.cos(angles), np.sin(angles)]) / widths
    return np.array([U.worst_case(direction)[pair] for direction in directions])


def _projected(U: Finite | LabelSet, pair: list[int]) -> Array:
    """The outcomes seen in the two components, each once, shape (n, 2)."""
    if isinstance(U, Finite):
        return np.unique(U.points[:, pair], axis=0)
    # Seen in two components a label is a corner of the unit square, and each corner
    # that is taken is the worst case along its diagonal.
    diagonals = np.zeros((4, U.dim))
    diagonals[:, pair] = [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    corners = np.array([U.worst_case(diagonal)[pair] for diagonal in diagonals])
    return np.unique(corners, axis=0)


def _pair(U: Any, components: Sequence[int]) -> list[int]:
    if not isinstance(U, UncertaintySet):
        raise InvalidParameter(
            f"plot_set(U=...) must be one uncertainty set, got {type(U).__name__}. "
            f"Draw one set of a batch: plot_set(batch[0])."
        )
    pair = list(components)
    different = len(pair) == 2 and pair[0] != pair[1]
    if not different or not all(0 <= component < U.dim for component in pair):
        raise InvalidParameter(
            f"plot_set(components=...) must be two different components of the "
            f"{U.dim} of the set, counted from 0, got {components}."
        )
    return pair
