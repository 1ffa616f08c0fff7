"""Times of rows, and the days or weeks they are in.

Days and weeks are those of the clock on the wall: a day on which clocks change has 23
or 25 hours, and is one day.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..checks import briefly, require_choice
from ..errors import InvalidParameter
from ..predictions import count_rows, index_of
from .labels import column_of

if TYPE_CHECKING:
    import pandas as pd

#: What may be kept whole, and what pandas calls it. Weeks begin on Monday.
UNITS = {
    "hours": "h",
    "days": "D",
    "weeks": "W-SUN",
    "months": "M",
    "years": "Y",
}


def times_of(X: object) -> pd.DatetimeIndex | None:
    """The times that label the rows of a table; None where no times do.

    Examples
    --------
    >>> import pandas as pd
    >>> times = pd.date_range("2024-01-01", periods=2, freq="h")
    >>> times_of(pd.DataFrame({"x": [1.0, 2.0]}, index=times)).equals(times)
    True
    >>> times_of([[1.0], [2.0]]) is None
    True
    """
    index = index_of(X)
    if index is None:
        return None
    import pandas as pd

    if isinstance(index, pd.PeriodIndex):
        return index.to_timestamp()
    return index if isinstance(index, pd.DatetimeIndex) else None


def read_times(owner: str, X: object, times: Any = None) -> pd.DatetimeIndex | None:
    """The time of each row: as given, of a column of X, or the labels of its rows."""
    import pandas as pd

    if times is None:
        given = times_of(X)
    elif isinstance(times, str):
        given = _as_times(owner, column_of(owner, "times", X, times))
    else:
        given = _as_times(owner, times)
    if given is None:
        return None
    if len(given) != count_rows(X):
        raise InvalidParameter(
            f"{owner}(times=...) must have one time for each of the {count_rows(X)} "
            f"rows, got {len(given)}."
        )
    missing = np.flatnonzero(pd.isna(given))
    if missing.size:
        raise InvalidParameter(
            f"{owner}(times=...) must be times, got none at row {missing[0]} and "
            f"{missing.size - 1} others. Leave out rows without a time."
        )
    return given


def _as_times(owner: str, times: Any) -> pd.DatetimeIndex:
    import pandas as pd

    array = np.asarray(times)
    kind = array.dtype.kind
    numbers = kind in "biufc" or array.ndim != 1
    try:
        if numbers:
            raise ValueError("numbers, or more than one column")
        with warnings.catch_warnings():
            # Times in several formats are read one by one, which is no concern here.
            warnings.simplefilter("ignore", UserWarning)
            return pd.DatetimeIndex(pd.to_datetime(pd.Index(times)))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidParameter(
            f"{owner}(times=...) must be times of one time zone, got "
            f"{briefly(times)} ({error}). Say pd.to_datetime(times, utc=True)"
            ".tz_convert(zone)."
        ) from error


def label_units(
    owner: str, times: pd.DatetimeIndex | None, unit: str
) -> npt.NDArray[np.int64]:
    """Which day, week or other unit each row is in, as whole numbers of shape (n,).

    Examples
    --------
    >>> import pandas as pd
    >>> times = pd.to_datetime(["2024-01-07 23:00", "2024-01-08 01:00"])
    >>> label_units("split", times, "days").tolist()
    [19729, 19730]
    """
    require_choice(owner, UNITS, unit=unit)
    if times is None:
        raise InvalidParameter(
            f"{owner}(unit={unit!r}) must know the time of each row, got X without "
            "any. Give X a DatetimeIndex, or times."
        )
    # The clock on the wall; periods know no time zone.
    wall = times.tz_localize(None)
    return np.asarray(wall.to_period(UNITS[unit]).asi8)


def stretch_of(times: pd.DatetimeIndex) -> str:
    """From the first time to the last, in words.

    Examples
    --------
    >>> import pandas as pd
    >>> stretch_of(pd.to_datetime(["2024-03-02", "2024-01-01"]))
    '2024-01-01 to 2024-03-02'
    """
    first, last = times.min(), times.max()
    if (times.normalize() == times).all():
        return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"
