"""Rows that had a part in what a policy is: what they say of it is too good."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidParameter
from ..loss_set.marks import Hashes, count_seen
from ..predictions import Table
from .keys import UncertainKey
from .labelled import Outcome, outcomes_of_key

#: Number of a key, and marks of its rows that were used.
Used = tuple[int, Hashes | None]


def refuse_chosen_by(
    used: Sequence[Used],
    keys: tuple[UncertainKey, ...],
    X: Table,
    Y: Outcome,
    owner: str,
) -> None:
    """A rule that was chosen by these rows looks better on them than it is."""
    for number, marks in used:
        given = outcomes_of_key(Y, keys[number], keys, owner)
        seen = count_seen(marks, X, given)
        if seen is not None and seen[0]:
            raise InvalidParameter(
                f"{owner}(X, Y) must use other rows than the policy was chosen by, "
                f"got {seen[0]} of {seen[1]} of them: too much would be "
                "promised. Hold some rows back, or say sl.choose(..., delta=0.05)."
            )


def refuse_calibrated_on(
    marks: Sequence[Hashes | None],
    keys: tuple[UncertainKey, ...],
    X: Table,
    Y: Outcome,
    owner: str,
) -> None:
    """Rows that chose the policy's own budget cannot judge it.

    Parameters
    ----------
    marks : for each key marks of the rows that were used; none without a calibration
    """
    for key, before in zip(keys, marks, strict=False):
        seen = count_seen(before, X, outcomes_of_key(Y, key, keys, owner))
        if seen is not None and seen[0]:
            raise InvalidParameter(
                f"{owner}(X, Y) must use other rows than the policy was calibrated "
                f"on, got {seen[0]} of {seen[1]} of them: too much would "
                "be promised. Hold some rows back."
            )


def refuse_same_fold(
    keys: tuple[UncertainKey, ...], X: Table, Y: Outcome, owner: str
) -> None:
    """Units read off the same rows would void what is read off them here."""
    calibrated = [key for key in keys if key.predicted is not None]
    if len(calibrated) < 2:
        return
    for key in calibrated:
        assert key.predicted is not None
        given = outcomes_of_key(Y, key, keys, owner)
        seen = count_seen(key.predicted.calibration_marks, X, given)
        if seen is not None and seen[0]:
            raise InvalidParameter(
                f"{owner}(X, Y) must use other rows than the LossSet for "
                f"{key.name!r} was calibrated on, got {seen[0]} of {seen[1]} of "
                "them: several LossSets are scaled together by their budgets, "
                "which must not come from the same data. Split the data in two."
            )
