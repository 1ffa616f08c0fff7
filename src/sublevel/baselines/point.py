"""Predict, then optimise: the prediction taken for the truth.

The set at X is the single outcome predicted there. Nothing protects the decision; the
certified objective is the predicted one.

Smart predict, then optimise, has predictions trained for the decisions they lead to: a
small network predicts the costs of a linear problem and is trained by SPO+, a convex
bound of the regret of the decision that the predicted costs call for (Elmachtoub &
Grigas 2022). It needs the extra `sublevel[torch]`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_classifier

from ..checks import Array
from ..errors import NotCalibrated
from ..guarantees import Certificate
from ..loss_set.batch import SetBatch
from ..loss_set.fitting import check_outcomes, fit_model
from ..loss_set.marks import mark_rows
from ..losses import Squared
from ..predictions import (
    AnyPrediction,
    Outcomes,
    Prediction,
    Table,
    as_model,
    count_rows,
    frame_columns,
    index_of,
    is_fitted,
    outcomes_of,
    predict,
)
from .source import FittedSource, heuristic, require_rows

if TYPE_CHECKING:
    from ..models.nets import SPOPlusRegressor
    from ..models.nets.oracles import Oracle


class PointPrediction(FittedSource):
    """A model's prediction as the only outcome there is.

    For a classifier the point is the vector of class probabilities, which is what a
    cost linear in one-hot labels asks for. `Policy.calibrate` grows a ball around the
    point until decisions keep their promise.

    Parameters
    ----------
    model : estimator, torch module, callable, or a list of these
        As for LossSet. A fitted one needs no `fit`.

    Examples
    --------
    >>> X = np.arange(4.0)[:, None]
    >>> points = PointPrediction(lambda X: 2 * X).predict_set(X)
    >>> points.worst_case([1.0]).ravel()
    array([0., 2., 4., 6.])
    """

    loss_ = Squared()
    budget_ = 0.0
    _columns: tuple[str, ...] | None = None

    def __init__(self, model: object) -> None:
        self.model = model

    def fit(self, X: Table, Y: Table) -> PointPrediction:
        """Train the model; a fitted one is left alone."""
        require_rows(X, Y, "PointPrediction.fit")
        model = as_model(self.model)
        needs = "labels" if is_classifier(model) else "location"
        check_outcomes(X, Y, needs, "PointPrediction.fit")
        self.training_marks = None if is_fitted(model) else mark_rows(X, Y)
        self.model_ = fit_model(model, X, Y)
        self._columns = frame_columns(Y)
        return self

    @property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """Nothing is promised."""
        return heuristic(
            self,
            1.0,
            0,
            reference="Elmachtoub and Grigas (2022), for the name",
            note="The set is one point. A new outcome is almost surely another.",
        )

    def predict_set(self, X: Table, budget: npt.ArrayLike | None = None) -> SetBatch:
        """The point at every row of X; at a positive budget, the ball around it."""
        self._require_fitted("predict_set")
        points, outcomes = self._ask(X)
        columns = self._columns or tuple(f"y{k}" for k in range(outcomes.columns))
        names = outcomes.names(list(columns))
        budgets = self._budgets(0.0 if budget is None else budget, count_rows(X))
        return SetBatch(self.loss_, points, budgets, outcomes, names, index_of(X))

    def _say(self, X: Table) -> Prediction:
        return self._ask(X)[0]

    def _ask(self, X: Table) -> tuple[Prediction, Outcomes]:
        """The point at every row, and what its components stand for."""
        model = vars(self).get("model_") or as_model(self.model)
        labels = hasattr(model, "__sklearn_tags__") and is_classifier(model)
        prediction = predict(model, X, "labels" if labels else "location")
        outcomes = replace(outcomes_of(model, prediction), column_names=self._columns)
        return _point(prediction), outcomes

    def _require_fitted(self, what: str) -> None:
        if "model_" not in vars(self) and not is_fitted(as_model(self.model)):
            raise NotCalibrated(
                f"PointPrediction.{what} needs a trained model: call "
                "fit(X_train, Y_train) first."
            )


def _point(prediction: AnyPrediction) -> Prediction:
    """Numbers as they are, probabilities side by side."""
    if isinstance(prediction, Prediction):
        return Prediction(prediction.location)
    return Prediction(np.concatenate(prediction.probabilities, axis=1))  # type: ignore[union-attr, arg-type]


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

    def __init__(
        self,
        oracle: Oracle,
        rewards: bool = False,
        network: SPOPlusRegressor | None = None,
    ) -> None:
        self.oracle = oracle
        self.rewards = rewards
        self.network = network

    def fit(self, X: Table, Y: Table) -> SmartPrediction:
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
        if "model_" not in vars(self):
            raise NotCalibrated(
                f"SmartPrediction.{what} needs a trained network: call "
                "fit(X_train, Y_train) first."
            )


class _Signed(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A network's costs, as the rewards they stand for."""

    def __init__(self, network: SPOPlusRegressor, sign: float) -> None:
        self.network, self.sign = network, sign

    def predict(self, X: Table) -> Array:
        """Outcomes predicted, shape (n, m)."""
        return np.asarray(self.sign * self.network.predict(X))
