"""Violations in each group of contexts, and which groups are above what was promised.

A group is above alpha if it violates more often than chance explains. In a group of n
contexts that violate with probability at most alpha, k violations or more are seen with
probability at most

    p = P(Bin(n, alpha) >= k),

exactly. Groups are looked at together, so p is adjusted for their number by Holm's
(1979) method, which needs no independence: groups may overlap. If all are at alpha or
below, any of them is called above with probability at most 5 %.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincinv

from ..checks import Array, briefly
from ..errors import GroupsAbove, InvalidParameter
from ..guarantees.groups import (
    Groups,
    Labels,
    Rows,
    read_membership,
    require_groups,
)
from ..predictions import Table, is_frame, require_aligned

if TYPE_CHECKING:
    import pandas as pd

#: Probability with which a group is called above alpha though none is.
FALSE_ALARM = 0.05
_SHOWN = 4


class Seen(Protocol):
    """What was seen of a policy: violations and decisions, by context."""

    @property
    def violated(self) -> npt.NDArray[np.bool_]: ...
    @property
    def decided(self) -> npt.NDArray[np.bool_]: ...
    @property
    def groups(self) -> tuple[tuple[Hashable, Rows], ...]: ...
    @property
    def alpha(self) -> float | None: ...
    @property
    def level(self) -> float: ...


#: Groups as a guarantee reads them, or a label for each row, or a table of booleans.
LabelsOrGroups: TypeAlias = "Groups | Labels | pd.Series[Any] | pd.DataFrame"


def read_groups(
    owner: str, groups: LabelsOrGroups | None, X: Table, n: int
) -> tuple[tuple[Hashable, Rows], ...]:
    """The rows of each group; none where no groups are given.

    Contexts that are looked at have come, so their labels may be given outright. A
    guarantee needs a function or a column: it has to read contexts yet to come.
    """
    if groups is None:
        return ()
    if isinstance(groups, np.ndarray) or is_frame(groups):
        require_aligned(groups, X, owner, "groups")
        readers: Groups = partial(_as_given, groups)
    else:
        with _either_reading(owner, groups, n):
            require_groups(owner, groups, "labels of the rows as an array, ")
            readers = cast(Groups, groups)
            return tuple(read_membership(owner, readers, X, n).rows(owner).items())
    return tuple(read_membership(owner, readers, X, n).rows(owner).items())


@contextmanager
def _either_reading(owner: str, groups: object, n: int) -> Iterator[None]:
    """A list may be meant as columns or as labels, and what is wrong depends on it."""
    try:
        yield
    except InvalidParameter as error:
        plain = isinstance(groups, list | tuple) and not any(map(callable, groups))
        if not plain:
            raise
        assert isinstance(groups, list | tuple)
        raise InvalidParameter(
            f"{owner}(groups=[...]) must be a list of columns of X, or of functions, "
            f"one a group, and cannot be read so: {error} If labels are meant, they "
            "must be one a row, as an array, np.asarray(groups): there are "
            f"{n} rows, got {len(groups)} labels, {briefly(groups)}."
        ) from error


def _as_given(labels: object, X: Table) -> object:
    del X
    return labels


def exact_interval(hits: int, n: int, level: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a probability; all there is if n is 0.

    Examples
    --------
    >>> low, high = exact_interval(0, 59, 0.9)
    >>> low, round(high, 4)
    (0.0, 0.0495)
    """
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return low, high


def chance_of(hits: int, n: int, alpha: float) -> float:
    """P(Bin(n, alpha) >= hits).

    Examples
    --------
    >>> round(chance_of(2, 2, 0.1), 12), chance_of(0, 5, 0.1)
    (0.01, 1.0)
    """
    return 1.0 if hits == 0 else float(betainc(hits, n - hits + 1, alpha))


def adjust(chances: Array) -> Array:
    """Holm's adjusted p-values, shape (m,); nan where there is none.

    Examples
    --------
    >>> adjust(np.array([0.01, 0.5, np.nan, 0.03]))
    array([0.03, 0.5 , nan, 0.06])
    """
    adjusted = np.array(chances, dtype=float)
    there = np.flatnonzero(~np.isnan(adjusted))
    order = there[np.argsort(adjusted[there], kind="stable")]
    raised = adjusted[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return adjusted


def table_by_group(seen: Mapping[str, Seen]) -> pd.DataFrame:
    """Violations in each group of each policy, all looked at together.

    Parameters
    ----------
    seen : from names of policies to what was seen of them
    """
    import pandas as pd

    rows, index = [], []
    for policy, one in seen.items():
        for name, there in one.groups:
            hits, n = int(one.violated[there].sum()), len(there)
            low, high = exact_interval(hits, n, one.level)
            alpha = np.nan if one.alpha is None else one.alpha
            index.append((policy, name))
            rows.append(
                {"contexts": n, "decided": int(one.decided[there].sum())}
                | {"violation": hits / n if n else np.nan, "low": low, "high": high}
                | {"alpha": alpha}
                | {"p": np.nan if one.alpha is None else chance_of(hits, n, alpha)}
            )
    columns = ["contexts", "decided", "violation", "low", "high", "alpha", "p"]
    names = pd.MultiIndex.from_tuples(index, names=["policy", "group"])
    table = pd.DataFrame(rows, index=names, columns=columns)
    table["p"] = adjust(table["p"].to_numpy(dtype=float))
    table["above"] = table["p"] <= FALSE_ALARM
    return table


def warn_of_groups(
    owner: str,
    table: pd.DataFrame,
    promised: Sequence[str] = (),
    stacklevel: int = 3,
) -> None:
    """Name the groups above what was promised, if there are any.

    Parameters
    ----------
    promised : names of the policies that promise alpha in each group
    stacklevel : of the warning, for the caller of whoever evaluates
    """
    above = table[table["above"]]
    if above.empty:
        return
    several = table.index.get_level_values("policy").nunique() > 1
    shown = [
        f"{group!r}{f' of policy {policy!r}' if several else ''} "
        f"({row.violation:.1%} of {row.contexts} contexts, alpha {row.alpha:g})"
        for (policy, group), row in zip(
            above.index[:_SHOWN], above.itertuples(index=False), strict=False
        )
    ]
    more = len(above) - len(shown)
    names = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    kept = set(promised) >= set(above.index.get_level_values("policy"))
    way_out = (
        "That was promised in each group: see whether the data have shifted."
        if kept
        else "A promise over all contexts says nothing of groups: calibrate with "
        "guarantee=Mondrian(groups)."
    )
    warnings.warn(
        f"{owner}: violations are above alpha, by more than chance explains, in group "
        f"{names}. {way_out}",
        GroupsAbove,
        stacklevel=stacklevel,
    )
