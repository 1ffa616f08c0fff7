"""A network for costs, trained for the decisions they lead to: SPO+."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
from sklearn.base import RegressorMixin

from ...checks import Array
from ...errors import InvalidParameter
from ...predictions import Table
from ..rows import RandomState
from .base import NetworkEstimator, Targets, numbers
from .oracles import Oracle, ask

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from .plans import Plan
    from .training import Fitted


class SPOPlusRegressor(RegressorMixin, NetworkEstimator):  # type: ignore[misc]
    """A small network that predicts costs of a linear problem, trained by SPO+.

    SPO+ is a convex bound of the regret of the decision that the predicted costs call
    for. Training starts from the fit by squared error.

    Parameters
    ----------
    oracle : callable
        Maps costs of shape (n, m) to decisions of shape (n, m), each row a minimiser of
        cost @ decision over the feasible set: `SimplexOracle()`, `GridPathOracle(5)`,
        `ProgramOracle(x, constraints)`, or your own, which must be exact.
    hidden_units, n_restarts, patience, validation_fraction, max_epochs, random_state
        As in `NetworkRegressor`.

    Attributes
    ----------
    coefs_, intercepts_ : lists of arrays, as in `NetworkRegressor`
    n_epochs_ : int, over all starts and both stages
    validation_loss_ : float
        Mean SPO+ loss at the validation rows, in standard deviations of all costs.

    Notes
    -----
    X of shape (n, p) gives one network with m outputs. X of shape (n, m, p), covariates
    for each component, gives one network with one output that all components share.

    References
    ----------
    Elmachtoub & Grigas (2022), Smart "Predict, then Optimize".

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.models.nets import SimplexOracle
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> costs = np.column_stack([X[:, 0], -X[:, 0]])
    >>> network = SPOPlusRegressor(SimplexOracle(), random_state=0).fit(X, costs)
    >>> network.decide([[1.0, 0.0], [-1.0, 0.0]])
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(
        self,
        oracle: Oracle,
        *,
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
        self.oracle = oracle

    def predict(self, X: Table) -> Array:
        """Predicted costs, of shape (n, m)."""
        return self.point_from(self._outputs(X))

    def decide(self, X: Table) -> Array:
        """The decisions that the predicted costs call for, of shape (n, m)."""
        costs = self.predict(X)
        return ask(self.oracle, costs.reshape(len(costs), -1)).reshape(costs.shape)

    def point_from(self, outputs: Array) -> Array:
        """The prediction, from the outputs of the network."""
        return self._squeezed(outputs)

    def targets_of(self, X: Array, Y: npt.NDArray[Any]) -> Targets:
        """What the network is trained to give, from outcomes."""
        targets = numbers(Y)
        if X.ndim == 3:
            return targets
        if X.ndim != 4 or X.shape[2] != targets.values.shape[2] or targets.squeeze:
            raise InvalidParameter(
                "SPOPlusRegressor.fit(X) must be of shape (n, p), or (n, m, p) with "
                f"costs of shape (n, m), got {X.shape[1:]} with costs of shape "
                f"{Y.shape[1:]}."
            )
        return replace(targets, squeeze=True, own_covariates=True)

    def read_covariates(self, X: Table) -> Array:
        """Covariates as floats, as many columns as in training."""
        covariates = super().read_covariates(X)
        axes = 3 if self._own_covariates else 2
        if covariates.ndim != axes or covariates.shape[-1] != self.coefs_[0].shape[-2]:
            raise InvalidParameter(
                f"SPOPlusRegressor.predict(X) must have {axes} axes, the last of "
                f"length {self.coefs_[0].shape[-2]}, got shape {covariates.shape}."
            )
        return covariates

    def take_over(self, fitted: Fitted, which: int | slice, targets: Targets) -> None:
        """Take over the weights of one fitted network, or of several."""
        super().take_over(fitted, which, targets)
        self._own_covariates = targets.own_covariates

    def plan_for(self, targets: Targets) -> Plan:
        """How the network is trained for its targets."""
        from .spo_plus import SPOPlan

        del targets
        return SPOPlan(self.oracle)

    def check_settings(self) -> None:
        """Raise InvalidParameter if a setting makes no sense."""
        super().check_settings()
        if not callable(self.oracle):
            raise InvalidParameter(
                "SPOPlusRegressor(oracle=...) must be a callable that maps costs (n, "
                f"m) to decisions (n, m), got {self.oracle!r}."
            )

    def _shapes(self) -> dict[str, bool]:
        return {"allow_nd": True}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
