"""What calibrating returns: a budget, its certificate, and the budget at each context.

Every calibration answers to the same three names: `budget`, `certificate` and
`at(X, n)`, so whoever builds the sets need not know which guarantee was asked for.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..caller import warn_caller
from ..checks import Array
from ..errors import InfiniteBudget
from ..predictions import Table
from .certificate import Certificate
from .groups import Groups, read_membership


@runtime_checkable
class Calibrated(Protocol):
    """What every calibration offers.

    Examples
    --------
    >>> from sublevel.guarantees import Calibrated, Marginal
    >>> isinstance(Marginal().calibrate([1.0, 2.0], alpha=0.5), Calibrated)
    True
    """

    @property
    def budget(self) -> float | Mapping[Hashable, float]:
        """The loss level, or one for each group."""

    @property
    def certificate(self) -> Certificate:
        """What the budget promises."""

    def at(self, X: Table | None, n: int) -> Array:
        """The budget at each of the n rows of X, shape (n,)."""


@runtime_checkable
class Guarantee(Protocol):
    """What every guarantee offers.

    Examples
    --------
    >>> from sublevel.guarantees import PAC, Guarantee
    >>> isinstance(PAC(), Guarantee)
    True
    """

    def calibrate(
        self, scores: npt.ArrayLike, alpha: float, X: Table | None = None
    ) -> Calibrated:
        """The budget that a new score exceeds with probability at most alpha."""

    def promise(
        self, scores: npt.ArrayLike, budget: Any, X: Table | None = None
    ) -> Certificate:
        """What a budget chosen otherwise promises, judged on these scores."""

    def minimum_sample_size(self, alpha: float) -> int:
        """The fewest calibration scores that give a finite budget."""


@dataclass(frozen=True)
class Calibration:
    """One budget for every context.

    Parameters
    ----------
    budget : float
        Loss level; inf if the calibration sample was too small.
    certificate : Certificate
        What the budget promises.

    Examples
    --------
    >>> from sublevel.guarantees import Marginal
    >>> calibration = Marginal().calibrate([3.0, 1.0, 2.0], alpha=0.25)
    >>> calibration.budget
    3.0
    >>> calibration.at(None, 2)
    array([3., 3.])
    """

    budget: float
    certificate: Certificate

    def at(self, X: Table | None, n: int) -> Array:
        """The budget at each of the n rows of X: the same for all, shape (n,)."""
        del X
        return np.full(n, self.budget)


@dataclass(frozen=True)
class GroupedCalibration:
    """One budget for each group of contexts, which may overlap.

    Parameters
    ----------
    groups : callable, str or int, or a list or dict of these
        How a context's groups are read from X; see `Mondrian`.
    budgets : mapping from group to float
        Loss level of each group.
    certificates : mapping from group to Certificate
        What each of them promises.
    certificate : Certificate
        What they promise together: its budget is the largest of them, its sample size
        that of the smallest group.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import Mondrian
    >>> X = np.array([[0], [0], [0], [1], [1], [1]])
    >>> calibration = Mondrian(groups=0).calibrate([1, 2, 3, 10, 20, 30], 0.25, X)
    >>> calibration.budget
    {0: 3.0, 1: 30.0}
    >>> calibration.at(np.array([[1], [0], [7]]), 3)
    array([30.,  3., inf])
    """

    groups: Groups
    budgets: Mapping[Hashable, float]
    certificates: Mapping[Hashable, Certificate]
    certificate: Certificate

    @property
    def budget(self) -> dict[Hashable, float]:
        """The budget of each group."""
        return dict(self.budgets)

    def at(self, X: Table | None, n: int) -> Array:
        """The largest budget of each row's groups, shape (n,).

        A context in no group, or in one without calibration scores, has no promise but
        the trivial one, and an infinite budget is the only one that keeps it.
        """
        membership = read_membership("GroupedCalibration", self.groups, X, n)
        return membership.highest(self.budgets)


def warn_if_infinite(certificate: Certificate) -> None:
    """Tell whoever called the library that the budget is infinite."""
    if not certificate.is_finite:
        warn_caller(certificate.note, InfiniteBudget)
