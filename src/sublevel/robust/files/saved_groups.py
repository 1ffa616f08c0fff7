"""Groups of contexts as a file has them: columns by name or position, and budgets.

A file holds nothing that runs. A column is a word or a number and is written; a
function is not, and is given again when the policy is loaded. Either way the groups are
recognised by the budgets they give to a few contexts of the calibration.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import cast

import numpy as np

from ...checks import Array
from ...errors import InvalidParameter
from ...guarantees import Certificate, GroupedCalibration
from ...guarantees.groups import (
    Groups,
    read_membership,
    readers_by_name,
    require_groups,
)
from ...predictions import Table, count_rows
from ..sources import AtLevel
from .packing import Packer, Plain, Unpacker, require

#: One column that has the label of each context, or for each group one that has flags.
Columns = str | int | dict[Hashable, str | int]


@dataclass(frozen=True, eq=False)
class SavedGroups:
    """Groups of contexts, each with its budget.

    Attributes
    ----------
    readers : the columns that tell the groups; None if functions do
    budgets : the budget of each group
    """

    readers: Columns | None
    budgets: Mapping[Hashable, float]

    def at(self, readers: Groups, X: Table) -> Array:
        """The budget at every row of X, by what tells the groups, shape (n,)."""
        membership = read_membership("SavedPolicy", readers, X, count_rows(X))
        return membership.highest(self.budgets)

    def calibration(
        self, readers: Groups, certificate: Certificate
    ) -> GroupedCalibration:
        """The same with what it promises."""
        own = dict(certificate.groups)
        return GroupedCalibration(readers, self.budgets, own, certificate)

    def fingerprint(self) -> Array:
        """Everything that a file says of the groups, as numbers."""
        words = repr((self.readers, list(self.budgets))).encode()
        return np.concatenate(
            [np.frombuffer(words, np.uint8), list(self.budgets.values())]
        )


def grouped_levels(source: object) -> GroupedCalibration | None:
    """What gives a source a budget by group; None if nothing does."""
    name = "calibration" if isinstance(source, AtLevel) else "calibration_"
    calibration = getattr(source, name, None)
    return calibration if isinstance(calibration, GroupedCalibration) else None


def groups_in_file(source: object) -> SavedGroups | None:
    """What a file holds of a source's groups; None if it has none."""
    levels = grouped_levels(source)
    if levels is None:
        return None
    unit = source.unit if isinstance(source, AtLevel) else 1.0
    budgets = {
        _label(name): level if np.isinf(level) else unit * level
        for name, level in levels.budgets.items()
    }
    return SavedGroups(_columns(levels.groups), budgets)


def budgets_at(source: object, X: Table) -> Array | None:
    """The budgets of some contexts, shape (n,); None without groups."""
    levels, own = grouped_levels(source), groups_in_file(source)
    if levels is None or own is None:
        return None
    return own.at(levels.groups, X)


def groups_to(source: object, packer: Packer) -> Plain | None:
    """Groups as plain values; None without any."""
    own = groups_in_file(source)
    if own is None:
        return None
    readers = own.readers
    several = list(map(list, readers.items())) if isinstance(readers, dict) else None
    return {
        "labels": None if several else readers,
        "flags": several,
        "names": list(own.budgets),
        "budgets": packer.array(list(own.budgets.values())),
    }


def groups_from(about: Plain | None, reader: Unpacker) -> SavedGroups | None:
    """Groups that were written, checked."""
    if about is None:
        return None
    names, label, flags = about["names"], about["labels"], about["flags"]
    require(isinstance(names, list) and all(map(_is_label, names)), "names of groups")
    require(0 < len(names) == len(set(names)), "names of groups")
    budgets = reader.numbers(about["budgets"], (len(names),))
    require(label is None or flags is None, "groups")
    several = None if flags is None else dict(flags)
    require(several is None or list(several) == names, "names of groups")
    columns = [label] if several is None else list(several.values())
    has_columns = label is not None or several is not None
    require(
        not has_columns or all(type(column) in (str, int) for column in columns),
        "a column of groups",
    )
    own = dict(zip(names, budgets.tolist(), strict=True))
    return SavedGroups(label if several is None else several, own)


def require_promised(groups: SavedGroups, promise: Certificate, unit: float) -> None:
    """The budgets are those that the certificate speaks of."""
    budgets = [
        each.budget if np.isinf(each.budget) else unit * each.budget
        for _, each in promise.groups
    ]
    names = [str(name) for name, _ in promise.groups]
    require(names == [str(name) for name in groups.budgets], "the names of groups")
    require(budgets == list(groups.budgets.values()), "the budget of a group")


def require_given(name: str, saved: SavedGroups, given: object) -> Groups:
    """What tells the groups of a key: the file's columns, or functions given again."""
    owner = "load_policy"
    if saved.readers is not None:
        if given is not None:
            raise InvalidParameter(
                f"{owner}(groups=...) must name parameters whose groups are functions, "
                f"got {name!r}, whose groups are columns of X, which are in the file."
            )
        return saved.readers
    if given is None:
        raise InvalidParameter(
            f"{owner}(groups={{{name!r}: ...}}) must be given: the groups of "
            f"{name!r} are functions of X, and a file holds nothing that runs. Give "
            "what Mondrian(groups) was given, or calibrate with a column of X."
        )
    require_groups(owner, given)
    readers = cast(Groups, given)
    several = readers_by_name(readers)
    if several is not None and set(several) != set(saved.budgets):
        raise InvalidParameter(
            f"{owner}(groups={{{name!r}: ...}}) must have the groups that were "
            f"calibrated, {list(saved.budgets)}, got {list(several)}."
        )
    return readers


def require_recognised(
    name: str, saved: SavedGroups, readers: Groups, X: Table, before: Array
) -> None:
    """Functions that were given again put contexts where they were."""
    try:
        alike = np.array_equal(saved.at(readers, X), before)
        how = "others"
    except Exception as error:
        # Whatever a function of the user's raises.
        alike, how = False, f"the error {error!r:.200}"
    if not alike:
        raise InvalidParameter(
            f"load_policy(groups={{{name!r}: ...}}) must tell the groups that were "
            f"calibrated: at contexts of the calibration, which are in the file, it "
            f"gives {how}."
        )


def _columns(groups: Groups) -> Columns | None:
    """Columns of X, by name of the group if there are several; None for functions."""
    several = readers_by_name(groups)
    if several is None:
        return groups if isinstance(groups, str | int) else None
    columns = {
        _label(name): column
        for name, column in several.items()
        if isinstance(column, str | int)
    }
    return columns if len(columns) == len(several) else None


def _label(name: Hashable) -> Hashable:
    plain = name.item() if isinstance(name, np.generic) else name
    if not _is_label(plain):
        raise InvalidParameter(
            "Policy.save() can write groups that are called by a word, a finite number "
            f"or a truth value, got {name!r} of type {type(name).__name__}. Turn it "
            "into a word before you calibrate."
        )
    return plain


def _is_label(name: object) -> bool:
    """Whether JSON gives it back as it is."""
    words_or_whole = isinstance(name, str | int)
    return words_or_whole or (isinstance(name, float) and isfinite(name))
