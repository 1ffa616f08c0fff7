"""Networks for a mean, for mean and spread, and for class probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from ...checks import Array, require_nonnegative
from ...errors import InvalidParameter
from ...predictions import Table
from ..rows import RandomState
from .base import NetworkEstimator, Targets, labels, numbers, row_of
from .weights import spread

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from .plans import Plan
    from .training import Fitted


class NetworkRegressor(RegressorMixin, NetworkEstimator):  # type: ignore[misc]
    """A small network trained by squared error.

    One hidden layer of rectified linear units; the weights are those of lowest
    validation loss. Covariates and outcomes are standardised inside. Each network is
    trained by Levenberg-Marquardt steps, from several random starts.

    Parameters
    ----------
    hidden_units : int, default 5
    n_restarts : int, default 3
        Random starts; the one of lowest validation loss is kept.
    patience : int, default 10
        Epochs without improvement of the validation loss after which training stops.
    validation_fraction : float, default 0.3
        Share of the rows set aside, at random, to decide when to stop.
    max_epochs : int, default 200
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    coefs_ : list of arrays of shape (p, hidden_units) and (hidden_units, m)
    intercepts_ : list of arrays of shape (hidden_units,) and (m,)
        In the units of the data: the prediction is
        max(X @ coefs_[0] + intercepts_[0], 0) @ coefs_[1] + intercepts_[1].
    n_epochs_ : int, over all starts
    validation_loss_ : float
        Half the mean squared error at the validation rows, of standardised outcomes.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> network = NetworkRegressor(random_state=0).fit(X, np.abs(X[:, 0]))
    >>> round(network.score(X, np.abs(X[:, 0])), 3)
    1.0
    """

    def predict(self, X: Table) -> Array:
        """Predicted outcomes, of shape (n,) or (n, m) as in training."""
        return self.point_from(self._outputs(X))

    def point_from(self, outputs: Array) -> Array:
        """The prediction, from the outputs of the network."""
        return self._squeezed(outputs)

    def targets_of(self, X: Array, Y: npt.NDArray[Any]) -> Targets:
        """What the network is trained to give, from outcomes."""
        del X
        return numbers(Y)

    def plan_for(self, targets: Targets) -> Plan:
        """How the network is trained for its targets."""
        from .plans import squared_plan

        del targets
        return squared_plan()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


TRAININGS = ("warm-up", "joint", "separate")


class GaussianNetworkRegressor(RegressorMixin, NetworkEstimator):  # type: ignore[misc]
    """A small network that predicts a mean and a standard deviation.

    Trained by the Gaussian likelihood (y - mean)^2 / (2 s^2) + log s.

    Parameters
    ----------
    training : {"warm-up", "joint", "separate"}, default "warm-up"
        "warm-up": squared error first, then the likelihood, with one hidden layer for
        mean and spread. "joint": the likelihood from the start. "separate": a hidden
        layer of `hidden_units` each; mean, spread of its residuals, mean weighted by
        1 / s^2, spread again.
    beta : float in [0, 1], default 0
        Residuals count with weight s^(2 beta - 2) in the mean: 0 is the likelihood, 1
        squared error. Values between keep the mean accurate where the spread is large.
    hidden_units, n_restarts, patience, validation_fraction, max_epochs, random_state
        As in `NetworkRegressor`.

    Attributes
    ----------
    coefs_, intercepts_ : lists of arrays
        Outputs are the m means, then m raw spreads u.
    spread_unit_ : array of shape (m,)
        The standard deviation is spread_unit_ * (log(1 + exp(u)) + 0.001).
    n_epochs_ : int, over all starts and stages
    validation_loss_ : float
        Mean likelihood loss at the validation rows, of standardised outcomes.

    References
    ----------
    Nix & Weigend (1994); Skafte, Jorgensen & Hauberg (2019); Seitzer, Tavakoli,
    Antic & Martius (2022) for beta; Sluijterman, Cator & Heskes (2023) for the warm-up.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(2000, 1))
    >>> y = X[:, 0] + (0.1 + np.abs(X[:, 0])) * rng.normal(size=2000)
    >>> network = GaussianNetworkRegressor(random_state=0).fit(X, y)
    >>> mean, std = network.predict([[-1.0], [0.0], [1.0]], return_std=True)
    >>> bool(std[0] > 4 * std[1]), bool(std[2] > 4 * std[1])
    (True, True)
    """

    def __init__(
        self,
        *,
        training: str = "warm-up",
        beta: float = 0.0,
        hidden_units: int = 5,
        n_restarts: int = 3,
        patience: int = 10,
        validation_fraction: float = 0.3,
        max_epochs: int = 200,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            hidden_units=hidden_units,
            n_restarts=n_restarts,
            patience=patience,
            validation_fraction=validation_fraction,
            max_epochs=max_epochs,
            random_state=random_state,
        )
        self.training = training
        self.beta = beta

    def predict(self, X: Table, return_std: bool = False) -> Any:
        """Means of shape (n,) or (n, m); with `return_std`, a pair with the spreads."""
        outputs = self._outputs(X)
        if return_std:
            return self.point_from(outputs), self.spread_from(outputs)
        return self.point_from(outputs)

    def point_from(self, outputs: Array) -> Array:
        """The prediction, from the outputs of the network."""
        return self._squeezed(outputs[..., : outputs.shape[-1] // 2])

    def spread_from(self, outputs: Array) -> Array:
        """The predicted spread, from the outputs of the network."""
        raw = outputs[..., outputs.shape[-1] // 2 :]
        return self._squeezed(spread(raw) * self.spread_unit_)

    def take_over(self, fitted: Fitted, which: int | slice, targets: Targets) -> None:
        """Take over the weights of one fitted network, or of several."""
        super().take_over(fitted, which, targets)
        self.spread_unit_ = row_of(fitted.units, which)

    def targets_of(self, X: Array, Y: npt.NDArray[Any]) -> Targets:
        """What the network is trained to give, from outcomes."""
        del X
        return numbers(Y)

    def plan_for(self, targets: Targets) -> Plan:
        """How the network is trained for its targets."""
        from .plans import GaussianPlan

        del targets
        return GaussianPlan(self.training, self.beta)

    def check_settings(self) -> None:
        """Raise InvalidParameter if a setting makes no sense."""
        super().check_settings()
        owner = type(self).__name__
        require_nonnegative(owner, beta=self.beta)
        if self.beta > 1:
            raise InvalidParameter(
                f"{owner}(beta=...) must be at most 1, got {self.beta!r}. 0 is the "
                "likelihood, 1 squared error."
            )
        if self.training not in TRAININGS:
            raise InvalidParameter(
                f"{owner}(training=...) must be one of {', '.join(TRAININGS)}, got "
                f"{self.training!r}."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class NetworkClassifier(ClassifierMixin, NetworkEstimator):  # type: ignore[misc]
    """A small network trained by cross-entropy.

    Parameters are those of `NetworkRegressor`. The validation rows are drawn class by
    class, so that the training rows have every class.

    Attributes
    ----------
    classes_ : array of shape (K,)
    coefs_, intercepts_ : lists of arrays
        Two classes: one output, the log-odds of the second. More: one a class.
    n_epochs_ : int, over all starts
    validation_loss_ : float, mean cross-entropy at the validation rows

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> side = np.where(X[:, 0] * X[:, 1] > 0, "same", "different")
    >>> network = NetworkClassifier(random_state=0).fit(X, side)
    >>> network.predict([[2.0, 2.0], [-2.0, 2.0]])
    array(['same', 'different'], dtype='<U9')
    """

    several_outcomes = False

    def predict(self, X: Table) -> Any:
        """The likeliest class of each row, shape (n,)."""
        return self.point_from(self._outputs(X))

    def predict_proba(self, X: Table) -> Array:
        """Class probabilities, shape (n, K), in the order of `classes_`."""
        return self.chances_from(self._outputs(X))

    def chances_from(self, outputs: Array) -> Array:
        """Class probabilities, from the outputs of the network."""
        if len(self.classes_) > 2:
            chances: Array = softmax(outputs, axis=-1)
            return chances
        second = expit(outputs)
        return np.concatenate([expit(-outputs), second], axis=-1)

    def point_from(self, outputs: Array) -> Any:
        """The prediction, from the outputs of the network."""
        return self.classes_[self.chances_from(outputs).argmax(axis=-1)]

    def targets_of(self, X: Array, Y: npt.NDArray[Any]) -> Targets:
        """What the network is trained to give, from outcomes."""
        del X
        owner = type(self).__name__
        try:
            check_classification_targets(Y.ravel())
        except ValueError as error:
            raise InvalidParameter(f"{owner}.fit(y): {error}") from error
        return labels(owner, Y)

    def plan_for(self, targets: Targets) -> Plan:
        """How the network is trained for its targets."""
        from .plans import label_plan

        return label_plan(targets.n_classes)
