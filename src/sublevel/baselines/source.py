"""What every source of sets in this package shares.

A source learns from past outcomes and then has a set at every context: `predict_set`,
`losses_`, `budget_` and `certificate_` are what RobustProblem asks of one, and what a
LossSet has. So every method here is used, compiled, calibrated and evaluated alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from ..checks import Array, as_generator, as_numbers, briefly, require_level
from ..conic.program import Indices
from ..errors import InvalidParameter, NotCalibrated
from ..guarantees import Certificate
from ..loss_set.batch import SetBatch
from ..loss_set.marks import Hashes, mark_rows
from ..losses import Loss
from ..predictions import (
    AnyPrediction,
    Labels,
    Numbers,
    Outcomes,
    Table,
    column_names,
    count_rows,
    frame_columns,
    index_of,
    require_aligned,
    split_columns,
)
from .shapes import Shape, ShapeBatch


class FittedSource(BaseEstimator, ABC):  # type: ignore[misc]
    """An estimator with a set at every context.

    Attributes
    ----------
    loss_ : the gauge whose sublevel sets are predicted
    budget_ : float, its level
    certificate_ : Certificate: what is promised, and whether anything backs it
    """

    loss_: Loss
    budget_: float
    certificate_: Certificate
    outcomes_: Outcomes
    names_: tuple[str, ...]
    #: Marks of the rows it learned from; calibrating a policy on them again would void
    #: its promise. What it calibrates itself is no unit for others.
    training_marks: Hashes | None = None
    calibration_marks: Hashes | None = None

    @abstractmethod
    def fit(self, X: Table, Y: Table) -> Self:
        """Learn from contexts X and outcomes Y, n rows each."""

    @abstractmethod
    def _say(self, X: Table) -> AnyPrediction:
        """Where the sets are, and how large, at every row of X."""

    @property
    def losses_(self) -> tuple[Loss, ...]:
        """The gauge, as RobustProblem asks for it."""
        self._require_fitted("losses_")
        return (self.loss_,)

    @property
    def radius_(self) -> float | None:
        """Norm radius at the budget, where the gauge is a norm."""
        self._require_fitted("radius_")
        return self.loss_.radius(self.budget_)

    def predict_set(self, X: Table, budget: npt.ArrayLike | None = None) -> SetBatch:
        """The set at every row of X.

        Parameters
        ----------
        X : covariates of n contexts
        budget : float or array of shape (n,), optional
            In place of the method's own; the certificate does not speak of it.
        """
        self._require_fitted("predict_set")
        level = self.budget_ if budget is None else budget
        budgets = self._budgets(level, count_rows(X))
        kind = ShapeBatch if isinstance(self.loss_, Shape) else SetBatch
        prediction = self._say(X)
        outcomes, names = self._words(prediction)
        return kind(self.loss_, prediction, budgets, outcomes, names, index_of(X))

    def _words(self, prediction: AnyPrediction) -> tuple[Outcomes, tuple[str, ...]]:
        """What the components of an outcome stand for, and their names."""
        del prediction
        return self.outcomes_, self.names_

    def _budgets(self, budget: npt.ArrayLike, n: int) -> Array:
        owner = f"{type(self).__name__}.predict_set"
        budgets = as_numbers(owner, "budget", budget)
        if budgets.shape not in ((), (n,)) or np.isnan(budgets).any():
            raise InvalidParameter(
                f"{owner}(budget=...) must be a number or one for each of the {n} rows "
                f"of X, got {briefly(budget)}."
            )
        return np.array(np.broadcast_to(budgets, n))

    def _require_fitted(self, what: str) -> None:
        if not hasattr(self, "budget_"):
            raise NotCalibrated(
                f"{type(self).__name__}.{what} needs past outcomes: call "
                "fit(X_train, Y_train) first."
            )

    def _learn_outcomes(self, X: Table, Y: Table, labels: bool = False) -> Array:
        """Outcome vectors, shape (n, m); their columns are remembered."""
        owner = f"{type(self).__name__}.fit"
        require_rows(X, Y, owner)
        self.training_marks = mark_rows(X, Y)
        self.outcomes_ = read_outcomes(Y, labels)
        self.names_ = self.outcomes_.names(column_names(Y))
        return self.outcomes_.encode(Y, owner)


def require_rows(X: Table, Y: Table, owner: str) -> None:
    """Every context has its outcome, and there is one at least."""
    contexts, outcomes = count_rows(X), count_rows(Y)
    if contexts != outcomes or not contexts:
        raise InvalidParameter(
            f"{owner}: X and Y must have as many rows, at least one, got {contexts} "
            f"and {outcomes}."
        )
    require_aligned(Y, X, owner, "Y")


def require_full_rank(owner: str, covariance: Array, remedy: str) -> None:
    """Components that do not determine each other: the ellipsoid has a volume."""
    unit = np.sqrt(np.diag(covariance))
    # Correlations, so that components in small units do not pass for dependent ones.
    shape = covariance / np.outer(unit, unit) if unit.all() else covariance
    rank = np.linalg.matrix_rank(shape, hermitian=True)
    if rank < len(covariance):
        raise InvalidParameter(
            f"{owner} must have components that are not linearly dependent, got a "
            f"covariance of rank {rank} for {len(covariance)} components. {remedy}"
        )


def _distinct(labels: npt.ArrayLike) -> npt.NDArray[Any]:
    try:
        return np.unique(np.asarray(labels))
    except TypeError as error:
        raise InvalidParameter(
            f"Y must have labels of one kind, none missing, got {error}. Turn all into "
            "words, or all into numbers."
        ) from error


def read_outcomes(Y: Table, labels: bool = False) -> Outcomes:
    """How the columns of Y become vectors: numbers, or one column of labels.

    Examples
    --------
    >>> read_outcomes(["low", "high", "low"]).width
    2
    """
    columns = split_columns(Y)
    words = np.asarray(columns[0]).dtype.kind in "OUSb"
    if len(columns) == 1 and (labels or words):
        block: Any = Labels(_distinct(columns[0]))
    else:
        block = Numbers(len(columns))
    return Outcomes((block,), frame_columns(Y))


def heuristic(
    owner: FittedSource, alpha: float, size: int, **differing: object
) -> Certificate:
    """A certificate that says no theorem backs the level.

    Parameters
    ----------
    owner : the source of sets it is for
    alpha : level the method aims at, 1.0 if at none
    size : outcomes it learned from
    differing : reference, note and whatever else differs from the defaults
    """
    facts: dict[str, Any] = {
        "guarantee": type(owner).__name__,
        "alpha": float(alpha),
        "confidence": None,
        "budget": float(owner.budget_),
        "sample_size": size,
        "minimum_sample_size": 1,
        "rank": None,
        "random": "The past outcomes and the new one with its context.",
        "assumptions": (),
        "heuristic": True,
        "beta_law": False,
        "holds": "as an aim, not a promise",
    }
    return Certificate(**{**facts, **differing})


def split_rows(
    owner: object, X: Table, share: float, random_state: int
) -> tuple[Indices, Indices]:
    """Rows to learn from and rows set aside, in random order.

    Parameters
    ----------
    owner : who asks, for messages
    share : part of the rows set aside, strictly between 0 and 1
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> learn, aside = split_rows(None, np.zeros((10, 1)), 0.3, 0)
    >>> len(learn), len(aside), sorted([*learn, *aside]) == list(range(10))
    (7, 3, True)
    """
    name = type(owner).__name__
    require_level(name, share=share)
    n = count_rows(X)
    order = as_generator(name, random_state).permutation(n)
    aside = round(share * n)
    if not 0 < aside < n:
        raise InvalidParameter(
            f"{name}.fit(X, Y) needs rows for both parts, got {n} rows at "
            f"share={share}."
        )
    return order[aside:], order[:aside]
