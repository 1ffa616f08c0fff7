"""Mondrian coverage: the promise kept within each group of contexts.

An average over all contexts may hide a group that is violated far more often. With one
budget per group, each read from that group's own scores, every group has the promise.

Groups may overlap. Within a group calibration scores and a new one are exchangeable, so
the new one exceeds the group's own budget with probability at most alpha; a context in
several groups is given the largest of their budgets, and exceeds that no more often.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy.typing as npt

from ..checks import Array
from ..errors import InvalidParameter
from ..predictions import Table
from .calibration import GroupedCalibration, warn_if_infinite
from .certificate import Certificate
from .choice import get
from .exact import exact
from .faces import Settled
from .groups import Groups, read_membership, require_groups
from .marginal import Marginal
from .order_statistic import OrderStatistic
from .pac import PAC
from .scores import as_scores, require_no_nan

_NAMES_SHOWN = 5


@dataclass(frozen=True)
class Mondrian:
    """A promise for every group of contexts, each with a budget of its own.

    Parameters
    ----------
    groups : callable, str or int, or a list or dict of these
        A function from X of n rows to n labels, the name of a column of a table, or
        the position of a column: every context is in one group. For groups that may
        overlap, a function from X to a table of booleans, shape (n, groups), named by
        its columns if it is a DataFrame; or a list or dict of functions and columns,
        each of which gives n booleans. Fixed before the calibration outcomes are seen.
    guarantee : Marginal, PAC, "marginal" or "pac"
        What is promised to each group.
    at_once : bool, default False
        PAC spends its delta on each group separately: all G groups have their promise
        at once with confidence 1 - G delta. With `at_once` each is given delta / G,
        and all have it at once with confidence 1 - delta.

    Notes
    -----
    A context in several groups has the largest of their budgets. One in no group, or in
    a group too small, has an infinite budget: nothing can be promised there. To have a
    promise everywhere, add a group of all contexts.

    References
    ----------
    Vovk, Lindsay, Nouretdinov and Gammerman (2003), Mondrian confidence machine.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import Mondrian
    >>> X = np.array([[0.1], [0.2], [0.3], [7.0], [8.0], [9.0]])
    >>> high = Mondrian(groups=lambda X: X[:, 0] > 1)
    >>> high.calibrate([1, 2, 3, 10, 20, 30], alpha=0.25, X=X).budget
    {False: 3.0, True: 30.0}
    >>> high.promise([1, 2, 3, 10, 20, 30], budget=30, X=X).alpha
    0.25
    >>> high.minimum_sample_size(0.1)  # in each group
    9

    >>> groups = {"all": lambda X: X[:, 0] > 0, "high": lambda X: X[:, 0] > 1}
    >>> overlap = Mondrian(groups)
    >>> calibration = overlap.calibrate([1, 2, 3, 10, 20, 30], alpha=0.5, X=X)
    >>> calibration.budget
    {'all': 10.0, 'high': 20.0}
    >>> calibration.at(np.array([[0.5], [2.0], [-1.0]]), 3)
    array([10., 20., inf])
    """

    groups: Groups
    guarantee: Any = field(default_factory=Marginal)
    at_once: bool = False

    def __post_init__(self) -> None:
        require_groups("Mondrian", self.groups)
        inner = get(self.guarantee)
        if not isinstance(inner, OrderStatistic) or not inner.beta_law:
            raise InvalidParameter(
                f"Mondrian(guarantee=...) must be Marginal or PAC, got {inner!r}. An "
                "OrderStatistic of your own will do where scores are independent."
            )
        if self.at_once and not isinstance(inner, PAC):
            raise InvalidParameter(
                f"Mondrian(at_once=True) must come with PAC, which has a confidence to "
                f"share, got {inner!r}."
            )

    def calibrate(
        self, scores: npt.ArrayLike, alpha: float, X: Table | None = None
    ) -> GroupedCalibration:
        """One budget for each group in X, read from that group's scores.

        Parameters
        ----------
        scores : array of shape (N,)
            Loss of each calibration outcome, from a model that has not seen it.
        alpha : float
            Violation level within each group, strictly between 0 and 1.
        X : array or table of N rows
            The contexts the groups are read from.
        """
        vector = _as_vector(scores)
        membership = read_membership("Mondrian", self.groups, X, vector.size)
        parts = membership.rows("Mondrian")
        inner = self._inner(len(parts))
        certificates = {
            name: inner.certify(vector[rows], alpha)
            if rows.size
            else inner.without_budget(0, alpha)
            for name, rows in parts.items()
        }
        lead = f"{_infinite(certificates)} {_outside(membership.outside)}".strip()
        together = _together(certificates, lead, self._confidence())
        warn_if_infinite(together)
        budgets = {name: each.budget for name, each in certificates.items()}
        return GroupedCalibration(self.groups, budgets, certificates, together)

    def settling(
        self, sample_size: int, alpha: float, X: Table | None = None
    ) -> Settled:
        """Scores settle the budgets once they settle that of every group."""
        membership = read_membership("Mondrian", self.groups, X, sample_size)
        parts = membership.rows("Mondrian")
        inner = self._inner(len(parts))
        each = [(rows, inner.settling(rows.size, alpha)) for rows in parts.values()]
        return lambda scores, floor: all(
            settled(scores[rows], floor) for rows, settled in each
        )

    def promise(
        self,
        scores: npt.ArrayLike,
        budget: float | Mapping[Hashable, float],
        X: Table | None = None,
    ) -> Certificate:
        """What budgets fixed in advance promise to the group worst off.

        Parameters
        ----------
        scores, X
            As for `calibrate`.
        budget : float or mapping from group to float
            One loss level for all, or one for each; a group left out has no limit. A
            context in several groups is given the largest.
        """
        vector = _as_vector(scores)
        membership = read_membership("Mondrian", self.groups, X, vector.size)
        parts, certificates = membership.rows("Mondrian"), {}
        inner = self._inner(len(parts))
        for name, rows in parts.items():
            own = budget.get(name, inf) if isinstance(budget, Mapping) else budget
            if not rows.size:
                raise InvalidParameter(
                    f"Mondrian.promise() needs scores in every group to judge it by, "
                    f"got none in {name!r}."
                )
            certificates[name] = inner.promise(vector[rows], own)
        return _together(certificates, inner.fixed_in_advance(), self._confidence())

    def minimum_sample_size(self, alpha: float) -> int:
        """The fewest calibration scores in a group that give it a finite budget.

        With `at_once` that depends on the number of groups, which a list or dict
        shows; where a function reads them, this is for a group on its own.
        """
        several = isinstance(self.groups, list | tuple | Mapping)
        count = len(self.groups) if several else 1  # type: ignore[arg-type]
        return self._inner(count).minimum_sample_size(alpha)

    def _inner(self, count: int) -> OrderStatistic:
        """What each of so many groups is promised."""
        inner: Any = get(self.guarantee)
        shared: OrderStatistic = (
            replace(inner, delta=inner.delta / max(1, count)) if self.at_once else inner
        )
        return shared

    def _confidence(self) -> float | None:
        """The confidence for all groups at once, where it was asked for."""
        if not self.at_once:
            return None
        inner: Any = get(self.guarantee)
        return float(1 - exact(inner.delta))


def _as_vector(scores: npt.ArrayLike) -> Array:
    vector = as_scores("Mondrian", scores)
    require_no_nan("Mondrian", vector)
    return vector


def _together(
    certificates: Mapping[Hashable, Certificate], lead: str, at_once: float | None
) -> Certificate:
    """The certificate of all groups at once: that of the group worst off."""
    worst = max(certificates.values(), key=lambda each: each.alpha)
    return replace(
        worst,
        guarantee="Mondrian",
        confidence=worst.confidence if at_once is None else at_once,
        budget=max(each.budget for each in certificates.values()),
        sample_size=min(each.sample_size for each in certificates.values()),
        rank=None,
        random=_within(worst.random),
        assumptions=(
            *map(_within, worst.assumptions),
            "The groups were fixed before the calibration outcomes were seen.",
        ),
        reference=(
            f"Vovk, Lindsay, Nouretdinov and Gammerman (2003); {worst.reference}"
        ),
        note=f"{lead} {_note(len(certificates), worst, at_once)}".strip(),
        groups=tuple(certificates.items()),
    )


def _within(sentence: str) -> str:
    return f"Within each group: {sentence[0].lower()}{sentence[1:]}"


def _note(count: int, worst: Certificate, at_once: float | None) -> str:
    """What the promise is to each group, and to all of them."""
    promise = (
        f"{worst.guarantee} promise to each of {count} groups; the budget and the "
        f"sample size shown are the largest budget and the smallest group."
    )
    if worst.confidence is None:
        return promise
    if at_once is not None:
        return (
            f"{promise} The confidence is that of all groups at once; each has it with "
            f"confidence {worst.confidence:g}."
        )
    together = max(0.0, 1 - count * (1 - worst.confidence))
    return (
        f"{promise} The confidence is that of each group separately; all groups at "
        f"once have it with confidence {together:g}."
    )


def _outside(count: int) -> str:
    """What becomes of contexts in no group; empty if there are none."""
    if not count:
        return ""
    return (
        f"{count} calibration contexts are in no group. Nothing is promised of such "
        f"contexts, and their budget is infinite: add a group of all contexts."
    )


def _infinite(certificates: Mapping[Hashable, Certificate]) -> str:
    """Which groups have no finite budget, and the way out; empty if all have one."""
    shown = [
        f"{label!r} ({each.sample_size} scores)"
        for label, each in certificates.items()
        if not each.is_finite
    ]
    if not shown:
        return ""
    more = len(shown) - _NAMES_SHOWN
    names = ", ".join(shown[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
    needed = next(iter(certificates.values()))
    return (
        f"Mondrian: the budget is infinite for these groups: {names}. A group needs at "
        f"least {needed.minimum_sample_size} calibration scores at "
        f"alpha={needed.alpha:g}. Merge groups, add calibration data or raise alpha."
    )
