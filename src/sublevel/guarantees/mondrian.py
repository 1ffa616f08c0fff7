"""Mondrian coverage: the promise kept within each group of contexts.

An average over all contexts may hide a group that is violated far more often. With one
budget per group, each read from that group's own scores, every group has the promise.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from ..checks import Array, briefly
from ..errors import InvalidParameter
from .calibration import GroupedCalibration, warn_if_infinite
from .certificate import Certificate
from .choice import get
from .groups import Groups, read_labels, split_by_label
from .marginal import Marginal
from .order_statistic import OrderStatistic
from .scores import as_scores, require_no_nan

_NAMES_SHOWN = 5


@dataclass(frozen=True)
class Mondrian:
    """A promise for every group of contexts, each with a budget of its own.

    Parameters
    ----------
    groups : callable, str or int
        A function from X of n rows to n labels, the name of a column of a table, or
        the position of a column. Fixed before the calibration outcomes are seen.
    guarantee : Marginal, PAC, "marginal" or "pac"
        What is promised to each group. PAC spends its delta on each group separately:
        all G groups have their promise at once with confidence 1 - G delta.

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
    """

    groups: Groups
    guarantee: Any = field(default_factory=Marginal)

    def __post_init__(self) -> None:
        column = isinstance(self.groups, str | int)
        if not (column or callable(self.groups)) or isinstance(self.groups, bool):
            raise InvalidParameter(
                f"Mondrian(groups=...) must be a function of X, a column name or a "
                f"column position, got {briefly(self.groups)}."
            )
        inner = get(self.guarantee)
        if not isinstance(inner, OrderStatistic) or not inner.beta_law:
            raise InvalidParameter(
                f"Mondrian(guarantee=...) must be Marginal or PAC, got {inner!r}."
            )

    def calibrate(self, scores: Any, alpha: float, X: Any = None) -> GroupedCalibration:
        """One budget for each group found in X, read from that group's scores.

        Parameters
        ----------
        scores : array of shape (N,)
            Loss of each calibration outcome, from a model that has not seen it.
        alpha : float
            Violation level within each group, strictly between 0 and 1.
        X : array or table of N rows
            The contexts the groups are read from.
        """
        inner = self._inner()
        certificates = {
            label: inner.certify(part, alpha) for label, part in self._parts(scores, X)
        }
        together = _together(certificates, lead=_infinite(certificates))
        warn_if_infinite(together)
        budgets = {label: each.budget for label, each in certificates.items()}
        return GroupedCalibration(self.groups, budgets, certificates, together)

    def promise(
        self, scores: Any, budget: float | Mapping[Hashable, float], X: Any = None
    ) -> Certificate:
        """What budgets fixed in advance promise to the group worst off.

        Parameters
        ----------
        scores, X
            As for `calibrate`.
        budget : float or mapping from group to float
            One loss level for all, or one for each; a group left out has no limit.
        """
        inner, certificates = self._inner(), {}
        for label, part in self._parts(scores, X):
            own = budget.get(label, inf) if isinstance(budget, Mapping) else budget
            certificates[label] = inner.promise(part, own)
        return _together(certificates, lead=inner.fixed_in_advance())

    def minimum_sample_size(self, alpha: float) -> int:
        """The fewest calibration scores in a group that give it a finite budget."""
        return self._inner().minimum_sample_size(alpha)

    def _inner(self) -> OrderStatistic:
        inner: Any = get(self.guarantee)
        return inner  # type: ignore[no-any-return]

    def _parts(self, scores: Any, X: Any) -> list[tuple[Hashable, Array]]:
        vector = as_scores("Mondrian", scores)
        require_no_nan("Mondrian", vector)
        labels = read_labels("Mondrian", self.groups, X, vector.size)
        rows = split_by_label("Mondrian", labels)
        return [(label, vector[index]) for label, index in rows.items()]


def _together(certificates: Mapping[Hashable, Certificate], lead: str) -> Certificate:
    """The certificate of all groups at once: that of the group worst off."""
    worst = max(certificates.values(), key=lambda each: each.alpha)
    return replace(
        worst,
        guarantee="Mondrian",
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
        note=f"{lead} {_note(len(certificates), worst)}".strip(),
    )


def _within(sentence: str) -> str:
    return f"Within each group: {sentence[0].lower()}{sentence[1:]}"


def _note(count: int, worst: Certificate) -> str:
    """What the promise is to each group, and to all of them."""
    promise = (
        f"{worst.guarantee} promise to each of {count} groups; the budget and the "
        f"sample size shown are the largest budget and the smallest group."
    )
    if worst.confidence is None:
        return promise
    together = max(0.0, 1 - count * (1 - worst.confidence))
    return (
        f"{promise} The confidence is that of each group separately; all groups at "
        f"once have it with confidence {together:g}."
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
