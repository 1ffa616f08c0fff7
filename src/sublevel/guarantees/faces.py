"""What a guarantee may offer beyond `calibrate`, or ask for: each is optional.

| face           | method or attribute     | says                                      |
|----------------|-------------------------|-------------------------------------------|
| `Settling`     | `settling(n, alpha, X)` | when the scores so far settle the level |
| `CrossFitting` | `count_folds(n)`        | scores must come from so many folds       |
|                | `by_component = True`   | losses by component are wanted, not sums  |

Whoever calibrates asks for the face, never for the class, so a guarantee of your own
may have any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

from ..checks import Array
from ..predictions import Table

#: Given scores (N,) and a floor: whether the answer is the same whatever the scores at
#: or below the floor are, as long as they stay there.
Settled: TypeAlias = Callable[[Array, float], bool]


@runtime_checkable
class Settling(Protocol):
    """A guarantee that knows when the largest scores settle its answer.

    Envelope scores of decisions are computed from the top down, and each step down
    takes solves. A guarantee without this face has all of them computed.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import Marginal, Settling
    >>> isinstance(Marginal(), Settling)
    True
    >>> settled = Marginal().settling(4, alpha=0.5)  # wants the third smallest of four
    >>> settled(np.array([9.0, 5.0, 5.0, 5.0]), 5.0)
    False
    >>> settled(np.array([9.0, 7.0, 5.0, 5.0]), 5.0)
    True
    """

    def settling(
        self, sample_size: int, alpha: float, X: Table | None = None
    ) -> Settled:
        """What tells whether scores settle the answer at every context.

        Parameters
        ----------
        sample_size : int
            Number of calibration scores N.
        alpha, X
            As for `calibrate`.

        Returns
        -------
        function of scores (N,) and a floor
            True only if `calibrate` gives the same at every context, whatever the
            scores at or below the floor are lowered to.
        """


@runtime_checkable
class CrossFitting(Protocol):
    """A guarantee whose scores come from models trained without the score's fold.

    Examples
    --------
    >>> from sublevel.guarantees import CVPlus, CrossFitting
    >>> isinstance(CVPlus(), CrossFitting)
    True
    """

    def count_folds(self, sample_size: int) -> int:
        """The number of folds; an error if so many outcomes cannot be split."""


def settling(
    guarantee: object, sample_size: int, alpha: float, X: Table | None = None
) -> Settled:
    """What tells whether scores settle a guarantee's answer, with the face or without.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees.faces import settling
    >>> settled = settling(object(), 2, alpha=0.5)  # all scores are needed
    >>> settled(np.array([2.0, 1.0]), 1.0), settled(np.array([2.0, 1.0]), 0.5)
    (False, True)
    """
    if isinstance(guarantee, Settling):
        return guarantee.settling(sample_size, alpha, X)
    return lambda scores, floor: bool((scores > floor).all())


@runtime_checkable
class ByComponent(Protocol):
    """A guarantee that says whether it wants losses by component."""

    by_component: bool


def takes_components(guarantee: object) -> bool:
    """Whether a guarantee calibrates on losses by component rather than their sums."""
    return isinstance(guarantee, ByComponent) and guarantee.by_component
