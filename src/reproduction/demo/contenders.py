"""The models of the demonstration, each with a loss that suits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import (
    BayesianRidge,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
)
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sublevel import losses
from sublevel.loss_set import LossSet

from .shop import PRODUCTS, Days


@dataclass(frozen=True)
class Contender:
    """A model with its loss, and what it predicts."""

    name: str
    loss: str
    sets: LossSet
    target: str

    def outcomes(self, sample: Days) -> Any:
        """The Y of a sample, as this model's users have it."""
        if self.target == "demand":
            return sample.demand
        if self.target == "busiest":
            return sample.busiest
        return sample.demand[["bread"]].assign(busiest=sample.busiest)


class MeanAndSpread(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A mean for every product, and a spread fitted to its squared residuals.

    With the mean fixed, the likelihood of Nix & Weigend (1994) is the gamma deviance of
    the squared residuals; those are out of fold, so the spread is not flattered.
    """

    def fit(self, X: Any, Y: Any) -> MeanAndSpread:
        """Fit the mean, then one spread for each column of Y."""
        squares = (Y - cross_val_predict(LinearRegression(), X, Y)) ** 2
        self.mean_ = LinearRegression().fit(X, Y)
        self.spreads_ = [
            make_pipeline(StandardScaler(), GammaRegressor(alpha=1e-3)).fit(X, column)
            for column in np.asarray(squares).T
        ]
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean, and the spread if asked, each of shape (n, columns of Y)."""
        mean = self.mean_.predict(X)
        if not return_std:
            return mean
        variances = [spread.predict(X) for spread in self.spreads_]
        return mean, np.sqrt(np.column_stack(variances))


def contenders(train: Days, seed: int) -> list[Contender]:
    """Every contender, trained."""
    forest = RandomForestRegressor(200, random_state=seed)
    voters = RandomForestClassifier(200, min_samples_leaf=10, random_state=seed)
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    both = losses.Combined(["squared", "cross_entropy"])
    table: list[tuple[str, Any, Any, str]] = [
        ("Linear", LinearRegression(), "squared", "demand"),
        ("Linear", LinearRegression(), "mahalanobis", "demand"),
        ("Random forest", forest, losses.Huber(knee=5.0), "demand"),
        ("Bayesian ridge", [BayesianRidge() for _ in PRODUCTS], "gaussian", "demand"),
        ("Mean + spread", MeanAndSpread(), "gaussian", "demand"),
        ("Mean + spread", MeanAndSpread(), "nll", "demand"),
        ("Logistic", logistic, "cross_entropy", "busiest"),
        ("Random forest", voters, "cross_entropy", "busiest"),
        ("Forest + logit", [forest, logistic], both, "bread and busiest"),
    ]
    trained = []
    for name, model, loss, target in table:
        label = loss if isinstance(loss, str) else type(loss).__name__.lower()
        contender = Contender(name, label, LossSet(model, loss), target)
        contender.sets.fit(train.X, contender.outcomes(train))
        trained.append(contender)
    return trained
