"""Smart predict, then optimise: predictions trained for the decisions they lead to.

A small network predicts the costs of a linear problem and is trained by SPO+, a convex
bound of the regret of the decision that the predicted costs call for (Elmachtoub &
Grigas 2022). The set is the prediction alone; nothing is promised. Needs the extra
`sublevel[torch]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone

from ..checks import Array
from ..errors import NotCalibrated
from ..predictions import frame_columns
from .point import PointPrediction


class SmartPrediction(PointPrediction):
    """SPO+ predictions as the only outcome there is.

    Parameters
    ----------
    oracle : callable
        Maps costs of shape (n, m) to decisions of shape (n, m), each row a minimiser
        of cost @ decision over the feasible set: `SimplexOracle()`,
        `GridPathOracle(5)`, `ProgramOracle(x, constraints)` of
        `sublevel.models.nets`, or your own.
    rewards : bool, default False
        Whether outcomes are rewards, to be maximised: the oracle sees minus them.
    network : SPOPlusRegressor, optional
        An untrained one, for other settings than the defaults; its oracle is used.

    Examples
    --------
    >>> from sublevel.models.nets import SimplexOracle
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> returns = np.column_stack([X[:, 0], -X[:, 0]])
    >>> points = SmartPrediction(SimplexOracle(), rewards=True).fit(X, returns)
    >>> points.predict_set([[1.0, 0.0]]).bounds()[0].argmax()
    np.int64(0)
    """

    def __init__(self, oracle: Any, rewards: bool = False, network: Any = None) -> None:
        self.oracle = oracle
        self.rewards = rewards
        self.network = network

    def fit(self, X: Any, Y: Any) -> SmartPrediction:
        """Train the network."""
        from ..models.nets import SPOPlusRegressor

        default = SPOPlusRegressor(self.oracle, random_state=0)
        network = default if self.network is None else clone(self.network)
        sign = -1.0 if self.rewards else 1.0
        costs = sign * self._learn_outcomes(X, Y)
        self.model_ = _Signed(network.fit(X, costs), sign)
        self._columns = frame_columns(Y)
        return self

    def _require_fitted(self, what: str) -> None:
        if not hasattr(self, "model_"):
            raise NotCalibrated(
                f"SmartPrediction.{what} needs a trained network: call "
                "fit(X_train, Y_train) first."
            )


class _Signed(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A network's costs, as the rewards they stand for."""

    def __init__(self, network: Any, sign: float) -> None:
        self.network, self.sign = network, sign

    def predict(self, X: Any) -> Array:
        """Outcomes predicted, shape (n, m)."""
        return np.asarray(self.sign * self.network.predict(X))
