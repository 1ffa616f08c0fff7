"""What gives sets at contexts: the door through which a RobustProblem takes them.

`LossSet` is one such source. Anything else with these members can take its place in
`RobustProblem(objective, constraints, {key: source})`; no base class is needed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy.typing as npt

from ..checks import Array
from ..guarantees import Certificate
from ..losses import Loss
from .batch import Batch
from .marks import Hashes

if TYPE_CHECKING:
    from ..predictions import Table


@runtime_checkable
class SetSource(Protocol):
    """Uncertainty sets at any context, and what is promised of them.

    Attributes
    ----------
    losses_ : tuple of Loss
        The loss of each batch `predict_set` unites: one, or one a fold of CV+.
    budget_ : float, mapping from group to float, or None
        The loss level of the sets.
    certificate_ : Certificate or None
        What the level promises; None if nothing.
    training_marks, calibration_marks : arrays of hashes, or None
        Marks (`mark_rows`) of the rows the source was trained and calibrated on, by
        which rows used twice are recognised; None where there are none, or where they
        are not known.

    Notes
    -----
    A LossSet has a budget and a certificate once it is calibrated, as scikit-learn's
    estimators have what they learned: before, ask `certificate_of`, which is None then.

    Examples
    --------
    >>> import numpy as np
    >>> import sublevel as sl
    >>> from sublevel.loss_set import SetSource
    >>> X = np.arange(20.0)[:, None]
    >>> sets = sl.LossSet(lambda X: X).calibrate(X, X + 1.0)
    >>> isinstance(sets, SetSource), isinstance(sl.sets.Box([0.0], [1.0]), SetSource)
    (True, False)
    """

    @property
    def losses_(self) -> tuple[Loss, ...]: ...

    @property
    def budget_(self) -> float | Mapping[Hashable, float] | None: ...

    @property
    def certificate_(self) -> Certificate | None: ...

    @property
    def training_marks(self) -> Hashes | None: ...

    @property
    def calibration_marks(self) -> Hashes | None: ...

    def predict_set(self, X: Table, budget: npt.ArrayLike | None = None) -> Batch:
        """The set at every row of X: at the source's own budget, or at another.

        Parameters
        ----------
        X : covariates of n contexts
        budget : float or array of shape (n,), optional
            In place of the calibrated budget; the certificate does not speak of it.
        """
        ...


def certificate_of(source: SetSource) -> Certificate | None:
    """What a source promises; None if nothing, or if it is not calibrated yet.

    Examples
    --------
    >>> import sublevel as sl
    >>> certificate_of(sl.LossSet(lambda X: X)) is None
    True
    """
    certificate: Certificate | None = getattr(source, "certificate_", None)
    return certificate


def budget_of(source: object) -> float | Mapping[Hashable, float] | None:
    """The loss level of a source's sets; None if it has none, or is not calibrated.

    Examples
    --------
    >>> import sublevel as sl
    >>> budget_of(sl.LossSet(lambda X: X)) is None
    True
    """
    budget: float | Mapping[Hashable, float] | None = getattr(source, "budget_", None)
    return budget


@runtime_checkable
class RemembersTraining(Protocol):
    """A source that can tell how large losses were where it was trained."""

    def training_scores(self) -> Array | None:
        """Losses of some rows it was trained on, shape (n,); None without any."""


@runtime_checkable
class PredictsSets(Protocol):
    """What is asked of a source before it is calibrated: sets at contexts."""

    def predict_set(self, X: Table, budget: npt.ArrayLike | None = None) -> Batch: ...
