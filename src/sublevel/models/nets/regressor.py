"""A network for the mean: squared error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import RegressorMixin

from ...checks import Array
from .base import NetworkEstimator
from .targets import Targets, numbers

if TYPE_CHECKING:
    from .plans import Plan


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

    def predict(self, X: Any) -> Array:
        """Predicted outcomes, of shape (n,) or (n, m) as in training."""
        return self._point(self._outputs(X))

    def _point(self, outputs: Array) -> Array:
        return self._squeezed(outputs)

    def _targets(self, X: Array, Y: Any) -> Targets:
        del X
        return numbers(Y)

    def _plan(self, targets: Targets) -> Plan:
        from .plans import squared_plan

        del targets
        return squared_plan()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
