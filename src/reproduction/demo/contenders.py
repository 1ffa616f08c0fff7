"""The models of the demonstration, each with a loss that suits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import (
    BayesianRidge,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sublevel import losses
from sublevel.loss_set import LossSet
from sublevel.models import MeanVarianceRegressor

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


def contenders(train: Days, seed: int) -> list[Contender]:
    """Every contender, trained."""
    forest = RandomForestRegressor(200, random_state=seed)
    voters = RandomForestClassifier(200, min_samples_leaf=10, random_state=seed)
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    gamma = make_pipeline(StandardScaler(), GammaRegressor(alpha=1e-3))
    spread = MeanVarianceRegressor(LinearRegression(), gamma)
    both = losses.Combined(["squared", "cross_entropy"])
    table: list[tuple[str, Any, Any, str]] = [
        ("Linear", LinearRegression(), "squared", "demand"),
        ("Linear", LinearRegression(), "mahalanobis", "demand"),
        ("Random forest", forest, losses.Huber(knee=5.0), "demand"),
        ("Bayesian ridge", [BayesianRidge() for _ in PRODUCTS], "gaussian", "demand"),
        ("Mean + spread", spread, "gaussian", "demand"),
        ("Mean + spread", spread, "nll", "demand"),
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
