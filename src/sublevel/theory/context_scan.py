"""Where residuals are not what they are elsewhere: stretches of contexts, one by one.

A forest that predicts residuals sees what is large or frequent. A bias on one context
in fifty, or a spread of 1.3 where it should be 1, it averages away. So every stretch of
every column is looked at (2 % of the rows and more), every value of a column that has
few, every cell of two columns, and stretches of the order of rows, which is time where
they came one after another.

Residuals go by their ranks, as normal scores. If they do not depend on contexts, the
rows of a cell are a sample of all rows without replacement: mean and variance of a sum
of scores are known exactly, the sum is all but normal, and Bonferroni's bound is paid
for the number of cells. A cell whose own scores vary more than that is given its own
standard error, so that a spread is not taken for a bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, log, sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtri_exp

from ..checks import Array
from .residual_checks import Fact, normal_scores, varies

#: Shares of the rows that a stretch has, each moved on by half of itself.
SHARES = (0.02, 0.05, 0.1, 0.25, 0.5)
#: The fewest rows of a cell.
FEWEST_IN_CELL = 8
#: Columns that are looked at, and those of which pairs are.
MOST_COLUMNS, MOST_PAIRED = 60, 8
#: Values that a column may have to be looked at one by one; cells a side of a pair.
MOST_VALUES, SIDE = 20, 7
#: What the order of the rows is called among the columns.
ORDER = "the order of rows"


@dataclass(frozen=True, eq=False)
class Cells:
    """Some cells of rows, all of one kind.

    Attributes
    ----------
    rows : rows in an order in which each cell is one stretch, shape (n,)
    starts, stops : where each cell begins and ends, shape (cells,)
    columns : positions of the columns that make them
    """

    rows: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    stops: npt.NDArray[np.intp]
    columns: tuple[int, ...]

    def sums(self, values: Array) -> Array:
        """The sum of values (n, c) over each cell, shape (cells, c)."""
        total = np.vstack([np.zeros(values.shape[1]), values[self.rows].cumsum(axis=0)])
        return np.asarray(total[self.stops] - total[self.starts])


@dataclass(frozen=True, eq=False)
class Strange:
    """The cell that is least like the rest.

    Attributes
    ----------
    surprise : standard errors from zero, after Bonferroni's bound
    rows : its rows
    column : of the values
    where : the cell in words
    """

    surprise: float
    rows: npt.NDArray[np.intp]
    column: int
    where: str


def look_for_bias(errors: Array, contexts: Array, names: list[str]) -> Fact:
    """The mean residual, in spreads, of the contexts in which it is least likely zero.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 2))
    >>> errors = rng.normal(size=(1000, 1)) + 2 * (X[:, :1] > 0.98)
    >>> fact = look_for_bias(errors, X, ["load", "wind"])
    >>> fact.surprise > 4, fact.value > 1.5
    (True, True)
    >>> print(fact.sentence.format(fact.value))  # doctest: +ELLIPSIS
    Residuals are 2... spreads from those elsewhere in 2 % of contexts (load from 0.98
    to 0.99...): the same bias at every context cannot be.
    """
    errors = np.where(varies(errors), errors, 0.0)
    strange = scan(normal_scores(errors), contexts, names)
    value, where = 0.0, "none"
    if strange is not None:
        inside = np.zeros(len(errors), dtype=bool)
        inside[strange.rows] = True
        column = errors[:, strange.column]
        spread = float(column.std()) or inf
        value = float(column[inside].mean() - column[~inside].mean()) / spread
        where = strange.where
    return Fact(
        value,
        0.0 if strange is None else strange.surprise,
        f"Residuals are {{:.2f}} spreads from those elsewhere in {where}: the same "
        "bias at every context cannot be.",
        where,
    )


def look_for_spread(errors: Array, contexts: Array, names: list[str]) -> Fact:
    """How much wider residuals are where they differ most, less 1."""
    errors = np.where(varies(errors), errors, 0.0)
    sizes = np.abs(errors - np.median(errors, axis=0))
    total = np.sqrt((sizes**2).sum(axis=1, keepdims=True))
    looked = np.hstack([sizes, total]) if errors.shape[1] > 1 else sizes
    strange = scan(normal_scores(looked), contexts, names)
    value, where = 0.0, "none"
    if strange is not None:
        inside = np.zeros(len(errors), dtype=bool)
        inside[strange.rows] = True
        squares = looked[:, strange.column] ** 2
        elsewhere = float(squares[~inside].mean())
        value = (
            sqrt(float(squares[inside].mean()) / elsewhere) - 1 if elsewhere else inf
        )
        where = strange.where
    return Fact(
        value,
        0.0 if strange is None else strange.surprise,
        f"Residuals are wider by a share of {{:.2f}} in {where}: the same spread at "
        "every context cannot be.",
        where,
    )


def scan(values: Array, contexts: Array, names: list[str]) -> Strange | None:
    """The cell of contexts in which the mean of values is least like that of all.

    Parameters
    ----------
    values : shape (n, c), of mean zero by column, as normal scores are
    contexts : shape (n, p)
    names : of the p columns
    """
    size = len(values)
    spread = values.std(axis=0)
    spread = np.where(spread > 0, spread, inf)
    order = np.arange(float(size))[:, None]
    table = np.hstack([contexts[:, :MOST_COLUMNS], order])
    named = [*names[: table.shape[1] - 1], ORDER]
    best: tuple[float, Cells | None, int, int] = (-inf, None, 0, 0)
    looked = 0
    for cells in _all_cells(table):
        counts = (cells.stops - cells.starts).astype(float)[:, None]
        means, squares = cells.sums(values) / counts, cells.sums(values**2) / counts
        own = np.sqrt(np.maximum(squares - means**2, 0.0) * counts / (counts - 1))
        # A sample without replacement, of a known variance.
        error = np.maximum(spread, own) * np.sqrt(1 / counts - 1 / size)
        surprises = np.abs(means) / np.where(error > 0, error, inf)
        looked += surprises.size
        at = np.unravel_index(int(np.argmax(surprises)), surprises.shape)
        if surprises[at] > best[0]:
            best = (float(surprises[at]), cells, int(at[0]), int(at[1]))
    surprise, chosen, cell, column = best
    if chosen is None:
        return None
    rows = chosen.rows[chosen.starts[cell] : chosen.stops[cell]]
    # Of both sides, and of all that was looked at.
    log_p = min(log(2 * looked) + float(log_ndtr(-surprise)), log(0.5))
    where = _in_words(table, named, chosen.columns, rows)
    return Strange(float(-ndtri_exp(log_p)), rows, column, where)


def _all_cells(table: Array) -> Iterator[Cells]:
    size, width = table.shape
    binned = []
    for column in range(width):
        order = np.argsort(table[:, column], kind="stable")
        values = table[order, column]
        edges = np.flatnonzero(np.diff(values)) + 1
        if not edges.size:
            continue
        if len(edges) < MOST_VALUES:
            yield from _of_bins(
                np.searchsorted(edges, np.arange(size), "right"), order, (column,)
            )
        else:
            yield from _stretches(order, column)
        if column < min(width - 1, MOST_PAIRED):
            # Equal values are in one bin.
            first = np.searchsorted(values, table[:, column])
            binned.append((column, first * SIDE // size))
    for at, (one, first) in enumerate(binned):
        for two, second in binned[at + 1 :]:
            bins = first * SIDE + second
            order = np.argsort(bins, kind="stable")
            yield from _of_bins(bins[order], order, (one, two))


def _stretches(order: npt.NDArray[np.intp], column: int) -> Iterator[Cells]:
    """Overlapping stretches of one column, of several lengths."""
    size = len(order)
    for share in SHARES:
        long = round(share * size)
        if long < FEWEST_IN_CELL:
            continue
        starts = np.arange(0, size - long + 1, max(long // 2, 1))
        # The last one ends where the rows do.
        starts = np.unique(np.append(starts, size - long))
        yield Cells(order, starts, starts + long, (column,))


def _of_bins(
    bins: npt.NDArray[np.intp], order: npt.NDArray[np.intp], columns: tuple[int, ...]
) -> Iterator[Cells]:
    """One cell a bin, of rows that are in the order of their bins."""
    edges = np.flatnonzero(np.diff(bins)) + 1
    starts, stops = np.append(0, edges), np.append(edges, len(bins))
    enough = (stops - starts >= FEWEST_IN_CELL) & (stops - starts < len(bins))
    if enough.any():
        yield Cells(order, starts[enough], stops[enough], columns)


def _in_words(
    table: Array, names: list[str], columns: tuple[int, ...], rows: npt.NDArray[np.intp]
) -> str:
    parts = []
    for column in columns:
        low, high = table[rows, column].min(), table[rows, column].max()
        what = f"{low:.4g}" if low == high else f"from {low:.4g} to {high:.4g}"
        parts.append(f"{names[column]} {what}")
    return f"{len(rows) / len(table):.0%} of contexts ({', '.join(parts)})".replace(
        "%", " %"
    )
