"""What the network estimators share: settings, checks, training, the forward pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ...checks import Array, require_level
from ...errors import InvalidParameter, MissingExtra, UnseenClass
from ...predictions import Table
from ..rows import RandomState
from .draws import seed_of
from .weights import network_outputs

if TYPE_CHECKING:
    from .plans import Plan
    from .training import Fitted, Task


@dataclass(frozen=True)
class Targets:
    """Outcomes of B networks.

    Parameters
    ----------
    values : array of shape (B, N, m): numbers, or labels coded one-hot (0/1 if two)
    squeeze : bool
        Whether a prediction drops its last axis, of length one.
    labels : array of shape (B, N), or None: class numbers
    classes : array of shape (K,), or None
    own_covariates : bool
        Whether each component has covariates of its own, and all share one network.
    """

    values: Array
    squeeze: bool = False
    labels: npt.NDArray[np.int_] | None = None
    classes: npt.NDArray[Any] | None = None
    own_covariates: bool = False

    @property
    def n_classes(self) -> int:
        """How many classes there are; 0 where outcomes are numbers."""
        return 0 if self.classes is None else len(self.classes)


def numbers(Y: Array) -> Targets:
    """Outcomes of shape (B, N) or (B, N, m)."""
    if Y.ndim == 2:
        return Targets(Y[..., None], squeeze=True)
    return Targets(Y)


def labels(owner: str, Y: npt.NDArray[Any]) -> Targets:
    """Labels of shape (B, N); every network must see every class.

    Examples
    --------
    >>> targets = labels("NetworkClassifier", np.array([["b", "a", "c"]]))
    >>> targets.classes.tolist(), targets.labels.tolist(), targets.values.shape
    (['a', 'b', 'c'], [[1, 0, 2]], (1, 3, 3))
    """
    classes, codes = np.unique(Y, return_inverse=True)
    codes = codes.reshape(Y.shape)
    if len(classes) < 2:
        raise InvalidParameter(
            f"{owner}.fit(y) must have at least two classes, got one class: "
            f"{classes.tolist()}."
        )
    seen = (codes[:, :, None] == np.arange(len(classes))).any(axis=1)
    if not seen.all():
        network, missing = np.argwhere(~seen)[0]
        raise UnseenClass(
            f"fit_many(Y=...) must show every network every class, got none of class "
            f"{classes[missing]!r} for network {network}. Fit that network alone, or "
            "drop the class."
        )
    one_hot = (codes[..., None] == np.arange(len(classes))).astype(float)
    values = one_hot[..., 1:] if len(classes) == 2 else one_hot
    return Targets(values, labels=codes, classes=classes)


#: Rows below which a validation part makes no sense.
LEAST_ROWS = 4


class NetworkEstimator(BaseEstimator):  # type: ignore[misc]
    """One hidden layer of rectified linear units, stopped early.

    Subclasses say how outcomes are read (`_targets`), what is minimised (`_plan`) and
    what the outputs stand for.
    """

    #: Whether y may have several columns.
    several_outcomes = True

    def __init__(
        self,
        *,
        hidden_units: int = 5,
        n_restarts: int = 3,
        patience: int = 10,
        validation_fraction: float = 0.3,
        max_epochs: int = 200,
        random_state: RandomState = None,
    ) -> None:
        self.hidden_units = hidden_units
        self.n_restarts = n_restarts
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.max_epochs = max_epochs
        self.random_state = random_state

    def fit(self, X: Table, y: Table) -> Self:
        """Train on X of shape (n, p) and y of shape (n,) or (n, m)."""
        X, y = self._read_training(X, y)
        targets = self.targets_of(X[None], y[None])
        seeds = [seed_of(self.random_state)]
        self.take_over(self.train_all(X[None], targets, seeds), 0, targets)
        return self

    def train_all(self, X: Array, targets: Targets, seeds: list[int]) -> Fitted:
        """Train a network for each seed; X has shape (B or 1, N, ..., p)."""
        self.check_settings()
        _require_torch(type(self).__name__)
        from .training import train

        return train(self._task(X, targets, seeds), self.plan_for(targets))

    def _task(self, X: Array, targets: Targets, seeds: list[int]) -> Task:
        from .epochs import Rules
        from .training import Task

        return Task(
            X=X,
            Y=targets.values,
            labels=targets.labels,
            seeds=seeds,
            hidden_units=self.hidden_units,
            n_restarts=self.n_restarts,
            n_validation=self._n_validation(targets),
            rules=Rules(self.patience, self.max_epochs),
        )

    def take_over(self, fitted: Fitted, which: int | slice, targets: Targets) -> None:
        """Take over the weights of one network, or of all of them (a slice)."""
        weights = fitted.weights
        self.coefs_ = [part[which] for part in weights.coefs]
        self.intercepts_ = [row_of(part, which) for part in weights.intercepts]
        self.n_epochs_ = fitted.epochs[which]
        self.validation_loss_ = fitted.losses[which]
        self._squeeze = targets.squeeze
        if targets.classes is not None:
            self.classes_ = targets.classes

    def _outputs(self, X: Table) -> Array:
        check_is_fitted(self, "coefs_")
        return network_outputs(self.read_covariates(X), self.coefs_, self.intercepts_)

    def _squeezed(self, values: Array) -> Array:
        return values[..., 0] if self._squeeze else values

    def read_covariates(self, X: Table) -> Array:
        """Covariates to predict from, as a checked array."""
        covariates: Array = self._validated("predict", X, reset=False)
        return covariates

    def _read_training(self, X: Table, y: Table) -> tuple[Array, npt.NDArray[Any]]:
        """Covariates and outcomes to learn from, as checked arrays."""
        several = self.several_outcomes
        covariates, outcomes = self._validated(
            "fit",
            X,
            y=y,
            multi_output=several,
            y_numeric=several,
            ensure_min_samples=LEAST_ROWS,
        )
        return covariates, outcomes

    def _validated(self, method: str, X: Table, **options: object) -> Any:
        try:
            return validate_data(self, X, dtype=np.float64, **options, **self._shapes())
        except ValueError as error:
            raise InvalidParameter(
                f"{type(self).__name__}.{method}: {error}"
            ) from error

    def _shapes(self) -> dict[str, bool]:
        """Options of scikit-learn's validation about the shape of X."""
        return {}

    def targets_of(self, X: Array, Y: npt.NDArray[Any]) -> Targets:
        """Outcomes (B, N, ...) as numbers, given covariates (B or 1, N, ..., p)."""
        raise NotImplementedError

    def plan_for(self, targets: Targets) -> Plan:
        """How to train for these outcomes."""
        raise NotImplementedError

    def _n_validation(self, targets: Targets) -> int:
        n = targets.values.shape[1]
        held = max(1, int(self.validation_fraction * n))
        least = targets.n_classes or 2
        if n - held < least:
            raise InvalidParameter(
                f"{type(self).__name__}.fit needs at least {least} rows to train on, "
                f"got {n - held} of {n} with validation_fraction="
                f"{self.validation_fraction}. Add rows or lower the fraction."
            )
        return held

    def check_settings(self) -> None:
        """Raise InvalidParameter if a setting makes no sense."""
        owner = type(self).__name__
        require_level(owner, validation_fraction=self.validation_fraction)
        settings = self.get_params(deep=False)
        for name in ("hidden_units", "n_restarts", "patience", "max_epochs"):
            value = settings[name]
            if not isinstance(value, int | np.integer) or value < 1:
                raise InvalidParameter(
                    f"{owner}({name}=...) must be a whole number of at least 1, "
                    f"got {value!r}."
                )


def row_of(values: Array, which: int | slice) -> Array:
    """Of values (B, 1, k): one network's, shape (k,), or a slice as it is."""
    row: Array = values[which, 0] if isinstance(which, int) else values[which]
    return row


def _require_torch(owner: str) -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            f"{owner}.fit needs torch, which is not installed. Install it with "
            "`pip install 'sublevel[torch]'`. A fitted network predicts without it."
        ) from error
