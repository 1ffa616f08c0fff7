"""LossSet: the estimator where a model, its loss and a guarantee meet."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from . import guarantees, losses
from .checks import Array, require_level
from .cross_calibration import cross_calibrate
from .efficiency import mean_width
from .errors import InvalidParameter, NotCalibrated
from .fingerprint import fingerprint
from .fitting import as_model, fit_model, out_of_fold
from .predictions import (
    AnyPrediction,
    Outcomes,
    column_names,
    count_rows,
    is_fitted,
    outcomes_of,
    predict,
    predict_point,
    take_rows,
)
from .set_batch import SetBatch, UnionBatch, predict_batch
from .tags import copy_tags


def _model_has(name: str) -> Any:
    def check(sets: LossSet) -> bool:
        return hasattr(getattr(sets, "model_", sets.model), name)

    return check


class LossSet(BaseEstimator):  # type: ignore[misc]
    """Calibrated uncertainty sets from any model and its loss.

    The set at covariates X holds the outcomes whose loss, given the model's
    prediction, is at most a budget; the budget is calibrated on data so that the next
    outcome falls outside with probability at most alpha (Bertsimas & Boucher).

    Parameters
    ----------
    model : estimator, torch module, callable, or a list of these
        A list holds one model a column of Y (see ModelBlocks for wider blocks). A
        callable or torch module maps X to predictions, or to (location, scale).
    loss : str, loss object or callable, default "squared"
        A name in `sl.losses.NAMES`, a loss, or a function of (y, location) that
        returns a convex CVXPY expression.

    Attributes
    ----------
    model_, loss_ : the fitted model and the loss with its learned parameters
    budget_ : float, or dict by group: the loss level
    radius_ : float, or dict by group, or None: norm radius where the loss is a norm
    certificate_ : Certificate: what is promised, and under which assumptions
    scores_ : array of shape (n_calibration,): the calibration losses

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> Y = X[:, :2] + 0.1 * rng.normal(size=(600, 2))
    >>> sets = LossSet(LinearRegression()).fit(X[:300], Y[:300])
    >>> batch = sets.calibrate(X[300:], Y[300:], alpha=0.1).predict_set(X[:5])
    >>> len(batch), batch[0].dim, bool(sets.radius_ < 0.3)
    (5, 2, True)
    """

    folds_: Any
    _seen: Any

    def __init__(self, model: Any, loss: Any = "squared") -> None:
        self.model = model
        self.loss = loss

    def fit(self, X: Any, y: Any) -> LossSet:
        """Train the model; a fitted one (or a FrozenEstimator) is left alone.

        Open parameters of the loss (Combined weights, a Mahalanobis covariance) are
        set here: from out-of-fold predictions if the model is trained here, from
        predictions on X otherwise.

        Parameters
        ----------
        X : covariates, handed to the model as they come
        y : array or DataFrame of shape (n,) or (n, m): numbers, or labels
        """
        model = as_model(self.model)
        loss = losses.get(self.loss)
        self._forget()
        self.model_ = fit_model(model, X, y)
        trained_here = not is_fitted(model)
        said = predict(self.model_, X, loss.needs) if loss.is_open else None
        if said is not None:
            outcome = outcomes_of(self.model_, said).encode(y, "LossSet.fit")
            if trained_here:
                said = out_of_fold(model, X, y, loss.needs, self.model_)
            loss = loss.learn(said, outcome)
        self.loss_ = loss
        if trained_here or said is not None:
            self._seen = fingerprint(X, y)
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self.model_, name):
                setattr(self, name, getattr(self.model_, name))
        return self

    def calibrate(
        self, X: Any, Y: Any, alpha: float = 0.1, guarantee: Any = "marginal"
    ) -> LossSet:
        """Choose the budget so that outcomes fall outside with probability <= alpha.

        Parameters
        ----------
        X, Y : data that played no part in training the model or choosing the loss
        alpha : float in (0, 1), the violation level
        guarantee : "marginal", "pac" or an object of `sl.guarantees`
        """
        require_level("LossSet.calibrate", alpha=alpha)
        promise = guarantees.get(guarantee)
        if isinstance(promise, guarantees.CVPlus):
            return self._cross_calibrate(X, Y, alpha, promise)
        said, outcomes, vectors = self._meet(X, Y)
        if getattr(self, "_seen", None) == fingerprint(X, Y):
            raise InvalidParameter(
                "LossSet.calibrate(X, Y) must use data the model was not trained on, "
                "got the training data: the promise would be void. Hold some rows "
                "back, or use guarantee=sl.guarantees.CVPlus()."
            )
        self.scores_ = np.asarray(self.loss_.score(said, vectors))
        self.names_ = outcomes.names(column_names(Y))
        self.folds_ = None
        return self._keep(promise.calibrate(self.scores_, alpha, X), alpha, promise)

    def scores(self, X: Any, Y: Any) -> Array:
        """Loss of each outcome given the model's prediction, shape (n,)."""
        said, _, vectors = self._meet(X, Y)
        return np.asarray(self.loss_.score(said, vectors))

    def predict_set(self, X: Any, budget: Any = None) -> Any:
        """The uncertainty set at every row of X, as a sequence of set values.

        Parameters
        ----------
        X : covariates of n contexts
        budget : float or array of shape (n,), optional
            Overrides the calibrated budget; the certificate does not speak of it.
        """
        if not hasattr(self, "calibration_") and budget is None:
            raise NotCalibrated(
                "LossSet.predict_set() needs a budget: call calibrate(X_cal, Y_cal, "
                "alpha=0.1) first, on data the model was not trained on."
            )
        n = count_rows(X)
        if budget is None:
            budgets = self.calibration_.at(X, n)
        else:
            budgets = np.array(np.broadcast_to(budget, n), dtype=float)
        self._ready()
        names = getattr(self, "names_", None)
        pairs = getattr(self, "folds_", None) or [(self.model_, self.loss_)]
        parts = [predict_batch(m, loss, X, budgets, names) for m, loss in pairs]
        return parts[0] if len(parts) == 1 else UnionBatch(tuple(parts))

    def predict(self, X: Any) -> Any:
        """The model's point prediction: numbers, or the likeliest labels."""
        self._ready()
        return predict_point(self.model_, X, self.loss_.needs)

    @available_if(_model_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """The classifier's probabilities."""
        self._ready()
        return self.model_.predict_proba(X)

    @available_if(_model_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """The classifier's margins."""
        self._ready()
        return self.model_.decision_function(X)

    def score(self, X: Any, y: Any) -> float:
        """Minus the mean width of 90 % sets, in standard deviations of y.

        Comparable across models and losses, so GridSearchCV can choose both: the
        budget is the 90 % quantile of the losses on (X, y), and the width is averaged
        over contexts and random directions.
        """
        said, outcomes, vectors = self._meet(X, y)
        budget = np.quantile(self.loss_.score(said, vectors), 0.9, method="higher")
        names = outcomes.names(column_names(y))
        budgets = np.full(len(vectors), budget)
        batch = SetBatch(self.loss_, said, budgets, outcomes, names)
        return -mean_width(batch, vectors)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        return copy_tags(super().__sklearn_tags__(), self.model)

    # -- stages -------------------------------------------------------------------

    def _ready(self) -> None:
        """A model fitted elsewhere needs no fit; its loss must have no open ends."""
        if hasattr(self, "model_"):
            return
        model = as_model(self.model)
        if not is_fitted(model):
            raise NotCalibrated(
                f"This LossSet is not fitted yet: {type(model).__name__} has not been "
                "trained. Call fit(X_train, Y_train) first."
            )
        self.model_, self.loss_ = model, losses.get(self.loss)

    def _forget(self) -> None:
        """A new model voids the calibration of the old one."""
        for name in ("calibration_", "budget_", "radius_", "certificate_", "scores_"):
            if hasattr(self, name):
                delattr(self, name)
        self.folds_ = None
        self._seen = None

    def _meet(self, X: Any, Y: Any) -> tuple[AnyPrediction, Outcomes, Array]:
        """Predictions and outcomes, row by row, checked against each other."""
        self._ready()
        said = predict(self.model_, X, self.loss_.needs)
        self.loss_.check(said)
        outcomes = outcomes_of(self.model_, said)
        vectors = outcomes.encode(Y, "LossSet")
        if len(vectors) != len(said):
            raise InvalidParameter(
                f"LossSet: X and Y must have as many rows, got {len(said)} and "
                f"{len(vectors)}."
            )
        return said, outcomes, vectors

    def _cross_calibrate(self, X: Any, Y: Any, alpha: float, promise: Any) -> LossSet:
        loss = losses.get(self.loss)
        folds, scores = cross_calibrate(as_model(self.model), loss, X, Y, promise)
        if not hasattr(self, "model_"):
            self.fit(X, Y)
        self.folds_, self.scores_ = folds, scores
        model, loss = folds[0]
        first = predict_batch(model, loss, take_rows(X, [0]), np.zeros(1))
        self.names_ = first.outcomes.names(column_names(Y))
        return self._keep(promise.calibrate(scores, alpha), alpha, promise)

    def _keep(self, calibration: Any, alpha: float, promise: Any) -> LossSet:
        self.calibration_ = calibration
        self.alpha_, self.guarantee_ = alpha, promise
        self.budget_ = calibration.budget
        self.certificate_ = calibration.certificate
        if isinstance(self.budget_, dict):
            self.radius_ = {g: self.loss_.radius(b) for g, b in self.budget_.items()}
        else:
            self.radius_ = self.loss_.radius(self.budget_)
        return self
