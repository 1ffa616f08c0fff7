"""Take rows apart: to train, to tune, to calibrate and to test.

A promise holds for what is exchangeable. Hours of a day are not, days of a season may
be: whole days then go to one part or another. Rows that come in time order and are
asked about the future are best split in that order too, with a gap where rows next to
each other know of each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..checks import as_generator, briefly, is_number, is_whole, require_choice
from ..errors import InvalidParameter
from ..predictions import Table, count_rows, require_aligned, take_rows
from .fold import Fold
from .folds import Folds
from .labels import column_of, number_labels
from .times import UNITS, label_units, read_times

if TYPE_CHECKING:
    import pandas as pd

_OWNER = "split"
_NAMES = ("train", "tune", "calibrate", "test")
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Units:
    """What is kept whole.

    Attributes
    ----------
    number : of each row the number of its unit, shape (n,): units are numbered in the
        order of time, or of their first rows
    count : how many there are
    order : rows by time, shape (n,)
    """

    number: Rows
    count: int
    order: Rows


def split(
    X: Table,
    Y: Table | Mapping[Any, Any],
    *,
    train: float | None = None,
    tune: float | None = 0,
    calibrate: float | None = 0.25,
    test: float | None = 0.25,
    order: str = "random",
    unit: str = "rows",
    groups: object = None,
    times: object = None,
    gap: object = 0,
    random_state: int | np.random.Generator | None = None,
) -> Folds:
    """Take rows apart: to train, to tune, to calibrate and to test.

    Tables keep their type: a DataFrame stays one, with its index.

    Parameters
    ----------
    X : contexts, n rows
    Y : their outcomes; a dict by name where several parameters are uncertain
    train, tune, calibrate, test : float or int, or None for what is left
        A share of all units strictly below 1, or a whole number of units; 0 for none.
        At most one is None.
    order : "random" or "time"
        "time" gives the earliest to train and the latest to test. Without times the
        rows are taken to be in that order as they come.
    unit : "rows", "hours", "days", "weeks", "months" or "years"
        What is kept whole, on the clock of the times' own zone; weeks begin on Monday.
        With rows in time order, rows of the same time stay together.
    groups : array of n labels, or name of a column of X, optional
        Units of your own, in place of `unit`.
    times : array of n times, or name of a column of X, optional
        By default the DatetimeIndex of X, where it has one.
    gap : int, or a duration such as "2D" or pd.Timedelta(hours=36), default 0
        Left out between parts in time order: so many units, or those of a later part
        that begin less than so long after the end of an earlier one.
    random_state : int, np.random.Generator or None

    Examples
    --------
    >>> import numpy as np, pandas as pd, sublevel as sl
    >>> hours = pd.date_range("2024-03-01", periods=959, freq="h", tz="Europe/Rome")
    >>> X = pd.DataFrame({"load": np.arange(959.0)}, index=hours)
    >>> folds = sl.split(X, X["load"], unit="days", order="time", gap=1)
    >>> folds
    Folds(in time order, whole days, 1 day left out between parts)
      train       456 rows    19 days  2024-03-01 00:00 to 2024-03-19 23:00
      calibrate   216 rows     9 days  2024-03-21 00:00 to 2024-03-29 23:00
      test        239 rows    10 days  2024-03-31 00:00 to 2024-04-09 23:00
      left out     48 rows
    >>> X_train, Y_train = folds.train
    >>> X_train.index[-1] < folds.calibrate.X.index[0]
    True
    """
    require_choice(_OWNER, ("random", "time"), order=order)
    require_choice(_OWNER, ("rows", *UNITS), unit=unit)
    size = count_rows(X)
    for name, values in Y.items() if isinstance(Y, Mapping) else [("Y", Y)]:
        if count_rows(values) != size:
            raise InvalidParameter(
                f"split(X, Y) must have as many rows in both, got {size} in X and "
                f"{count_rows(values)} in {name}."
            )
        require_aligned(values, X, _OWNER, str(name))
    if not size:
        raise InvalidParameter("split(X, Y) must have rows, got none.")
    when = read_times(_OWNER, X, times)
    units = _units(X, when, order, unit, groups)
    wanted = dict(zip(_NAMES, (train, tune, calibrate, test), strict=True))
    between, least = _read_gap(gap, order, when)
    counts = _counts(wanted, units.count, between, _noun(unit, groups))
    every = _parts(counts, units, order, between, random_state)
    if least is not None:
        every = _kept_apart(every, units, when, least)
    return _as_folds(X, Y, every, units, when, order, _noun(unit, groups), gap)


def _noun(unit: str, groups: object) -> str:
    return unit if groups is None else "groups"


def _units(
    X: Table, when: pd.DatetimeIndex | None, order: str, unit: str, groups: object
) -> Units:
    """Units numbered in the order of time, or of their first rows."""
    size = count_rows(X)
    by_time: Rows = np.arange(size)
    if order == "time" and when is not None:
        by_time = np.argsort(when.asi8, kind="stable")
    if groups is not None:
        labels = _read_groups(X, groups, size, unit)
    elif unit != "rows":
        labels = label_units(_OWNER, when, unit)
    elif order == "time" and when is not None:
        # Rows of the same time stay together.
        labels = when.asi8
    else:
        labels = np.arange(size)
    _, first, number = np.unique(
        labels[by_time], return_index=True, return_inverse=True
    )
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    numbered = np.empty(size, dtype=np.intp)
    numbered[by_time] = rank[number]
    if order == "time" and (np.diff(numbered[by_time]) < 0).any():
        at = int(np.flatnonzero(np.diff(numbered[by_time]) < 0)[0]) + 1
        raise InvalidParameter(
            "split(groups=..., order='time') must have each group in one stretch of "
            f"time, got that of row {by_time[at]} again after another. Use "
            "order='random', or groups that follow each other."
        )
    return Units(numbered, len(first), by_time)


def _read_groups(X: Table, groups: object, size: int, unit: str) -> Rows:
    """The group of each row, as whole numbers."""
    if unit != "rows":
        raise InvalidParameter(
            f"split(groups=...) says what is kept whole, and must not come with "
            f"unit={unit!r}. Leave one of them out."
        )
    if isinstance(groups, str):
        groups = column_of(_OWNER, "groups", X, groups)
    return number_labels(_OWNER, "groups", groups, size)


def _read_gap(
    gap: Any, order: str, when: pd.DatetimeIndex | None
) -> tuple[int, pd.Timedelta | None]:
    """Units to leave out, or the least time between parts."""
    if is_whole(gap) and gap == 0:
        return 0, None
    if order != "time":
        raise InvalidParameter(
            f"split(gap={gap!r}) must come with order='time': at random parts have "
            "neighbours everywhere. Keep larger units whole, unit='weeks', say."
        )
    if is_whole(gap):
        return int(gap), None
    import pandas as pd

    try:
        if is_number(gap):
            raise ValueError("a number that is not whole")
        least = pd.Timedelta(gap)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            "split(gap=...) must be a whole number of units of at least 0, or a "
            f"duration such as '2D', got {briefly(gap)}."
        ) from error
    if when is None or pd.isna(least) or least < pd.Timedelta(0):
        raise InvalidParameter(
            f"split(gap={gap!r}) must be a duration of at least 0 between rows whose "
            "times are known. Give X a DatetimeIndex, or times."
        )
    return 0, least


def _counts(wanted: dict[str, Any], units: int, gap: int, noun: str) -> dict[str, int]:
    """How many units each part has."""
    for name, value in wanted.items():
        share = is_number(value) and not is_whole(value) and 0 <= value < 1
        if not (value is None or is_whole(value) or share):
            raise InvalidParameter(
                f"split({name}=...) must be a share of at least 0 and below 1, a whole "
                f"number of {noun}, or None for what is left, got {briefly(value)}."
            )
    rest = [name for name, value in wanted.items() if value is None]
    if len(rest) > 1:
        raise InvalidParameter(
            f"split({rest[0]}=None, {rest[1]}=None) must leave the rest to one part "
            "only. Give one of them a size."
        )
    parts = [name for name, value in wanted.items() if value is None or value > 0]
    room = units - gap * max(len(parts) - 1, 0)
    # Shares are rounded in sum, so that shares of 1 in all leave nothing out.
    counts, total, given = {}, 0.0, 0
    for name, value in wanted.items():
        if value is None or is_whole(value):
            counts[name] = 0 if value is None else int(value)
            continue
        total += value * max(room, 0)
        counts[name] = int(np.floor(total + 0.5 - 1e-9)) - given
        given += counts[name]
    left = room - sum(counts.values())
    for name in rest:
        counts[name] = left
    empty = [name for name in parts if counts[name] <= 0]
    if left < 0 or empty:
        asked = ", ".join(f"{name}={wanted[name]}" for name in parts)
        apart = f" with {gap} left out between parts" if gap else ""
        raise InvalidParameter(
            f"split({asked}) must fit in {units} {noun}{apart}, with at least one in "
            f"each part, got {', '.join(f'{n} {counts[n]}' for n in parts)}. Ask for "
            "less, or keep smaller units whole."
        )
    return counts


def _parts(
    counts: dict[str, int],
    units: Units,
    order: str,
    gap: int,
    random_state: int | np.random.Generator | None,
) -> dict[str, Rows]:
    """The rows of each part: in time order, or as they came."""
    places = np.arange(units.count)
    if order == "random":
        places = as_generator(_OWNER, random_state).permutation(units.count)
    part_of = np.full(units.count, -1)
    start = 0
    for at, count in enumerate(counts.values()):
        part_of[places[start : start + count]] = at
        start += count + (gap if count else 0)
    of_rows = part_of[units.number[units.order]]
    return {name: units.order[of_rows == at] for at, name in enumerate(counts)}


def _kept_apart(
    every: dict[str, Rows],
    units: Units,
    when: pd.DatetimeIndex | None,
    least: pd.Timedelta,
) -> dict[str, Rows]:
    """Parts without the units that begin too soon after an earlier part."""
    assert when is not None
    end, apart = None, {}
    for name, rows in every.items():
        kept = rows
        if end is not None and rows.size:
            soon = np.asarray(when[rows] - end < least)
            kept = rows[~np.isin(units.number[rows], units.number[rows[soon]])]
            if not kept.size:
                raise InvalidParameter(
                    f"split(gap={str(least)!r}) must leave rows in every part, got "
                    f"none in {name}. Choose a shorter gap, or larger parts."
                )
        apart[name] = kept
        end = when[kept].max() if kept.size else end
    return apart


def _as_folds(
    X: Table,
    Y: Any,
    every: dict[str, Rows],
    units: Units,
    when: pd.DatetimeIndex | None,
    order: str,
    noun: str,
    gap: object,
) -> Folds:
    used = np.concatenate(list(every.values()))
    folds = {
        name: Fold(
            name,
            take_rows(X, rows),
            _take(Y, rows),
            rows,
            len(np.unique(units.number[rows])),
            None if when is None else when[rows],
        )
        for name, rows in every.items()
    }
    left_out = np.setdiff1d(np.arange(count_rows(X)), used)
    return Folds(
        **folds, left_out=left_out, order=order, unit=noun, gap=_gap(gap, noun)
    )


def _take(Y: Any, rows: Rows) -> Any:
    if isinstance(Y, Mapping):
        return {name: take_rows(values, rows) for name, values in Y.items()}
    return take_rows(Y, rows)


def _gap(gap: object, noun: str) -> str:
    """What is left out between parts, in words; empty if nothing."""
    if not is_whole(gap):
        return str(gap)
    if gap == 0 or noun == "rows":
        return str(gap or "")
    return f"{gap} {noun if gap > 1 else noun.removesuffix('s')}"
