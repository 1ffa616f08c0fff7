"""Sublevel sets of losses, by the oracle's own formulas.

    { y : loss(y) <= budget },   loss(y) = sum_j penalty(y_j) / weight_j,

and the worst case by the slopes: one price u for all components, found by bisection.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from .regions import Labels, Region, boxed
from .text import array, number

#: The library's names.
NAMES = {
    "squared": "Squared",
    "gaussian": "Gaussian",
    "nll": "NLL",
    "mahalanobis": "Mahalanobis",
    "absolute": "Absolute",
    "pinball": "Pinball",
    "epsilon_insensitive": "EpsilonInsensitive",
    "huber": "Huber",
    "log_cosh": "LogCosh",
    "poisson": "Poisson",
    "gamma": "Gamma",
    "custom": "Custom",
    "interval": "Interval",
}
#: Losses of which the model must predict a spread.
SPREAD = ("gaussian", "nll")
#: Losses that hold no negative outcomes.
POSITIVE = ("poisson", "gamma")


@dataclass(frozen=True, eq=False)
class Loss(Region):
    """Outcomes of a loss within a budget.

    `shape` is a spread (gaussian, nll), a factor of the covariance (mahalanobis) or the
    weights; `knob` the knee, epsilon or quantile, or half an interval by its weight.
    """

    loss: str
    location: np.ndarray
    shape: np.ndarray
    knob: float
    budget: float

    @property
    def kind(self):
        return f"loss {self.loss}"

    @property
    def dim(self):
        return len(self.location)

    @property
    def common_unit(self):
        return self.loss in ("huber", "epsilon_insensitive", "poisson", "custom")

    @property
    def own_unit(self):
        return self.loss == "log_cosh"

    @property
    def floor(self):
        """The least loss any outcome has."""
        if self.loss == "interval":
            return -self.knob
        return float(np.log(self.shape**2).sum()) if self.loss == "nll" else 0.0

    def value(self, y):
        """The loss itself."""
        r, w = y - self.location, self.shape
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.loss in ("squared",):
                return float(np.sum(r**2 / w))
            if self.loss in ("gaussian", "nll"):
                return float(np.sum((r / w) ** 2)) + self.floor
            if self.loss == "mahalanobis":
                return float(np.sum(np.linalg.solve(w, r) ** 2))
            if self.loss == "absolute":
                return float(np.sum(np.abs(r) / w))
            if self.loss == "interval":
                return float(np.max(np.abs(r) / w)) - self.knob
            if self.loss == "custom":
                return float(np.sum(np.abs(r) ** 3) ** (1 / 3))
            if self.loss == "pinball":
                q = self.knob
                return float(np.sum(np.maximum(q * r, (q - 1) * r) / w))
            if self.loss == "epsilon_insensitive":
                return float(np.sum(np.maximum(np.abs(r) - self.knob, 0) / w))
            if self.loss == "huber":
                far = self.knob * np.abs(r) - self.knob**2 / 2
                return float(
                    np.sum(np.where(np.abs(r) <= self.knob, r**2 / 2, far) / w)
                )
            if self.loss == "log_cosh":
                far = np.abs(r) - np.log(2) + np.log1p(np.exp(-2 * np.abs(r)))
                near = np.log(np.cosh(np.clip(r, -1, 1)))
                return float(np.sum(np.where(np.abs(r) > 1, far, near) / w))
            mean = self.location
            if self.loss == "poisson":
                logs = np.where(y > 0, y * np.log(np.maximum(y, 1e-300) / mean), 0.0)
                return float(np.sum(np.where(y < 0, np.inf, 2 * (logs - r)) / w))
            ratio = np.where(y > 0, y / mean, 1e-300)
            deviance = 2 * (ratio - 1 - np.log(ratio))
            return float(np.sum(np.where(y > 0, deviance, np.inf) / w))

    def worst(self, v):
        excess = self.budget - self.floor
        if excess <= 0 or not v.any():
            if self.loss == "epsilon_insensitive":
                return self.location + self.knob * np.sign(v)
            return self.location.copy()
        if self.loss == "interval":
            return self.location + excess * np.sign(v) * self.shape
        if self.loss in ("squared", "gaussian", "nll", "mahalanobis"):
            return self._round(v, excess)
        if self.loss == "custom":
            step = np.sign(v) * np.sqrt(np.abs(v) / np.abs(v).max())
            return self.location + excess * step / np.sum(np.abs(step) ** 3) ** (1 / 3)
        if self.loss in ("absolute", "pinball", "epsilon_insensitive"):
            return self._steep(v, excess)
        return self._priced(v, excess)

    def _round(self, v, excess):
        factor = np.sqrt(self.shape) if self.loss == "squared" else self.shape
        factor = factor if factor.ndim == 2 else np.diag(factor)
        slope = factor.T @ v
        return self.location + np.sqrt(excess) * factor @ slope / np.linalg.norm(slope)

    def _steep(self, v, excess):
        up, down = np.ones(self.dim), np.ones(self.dim)
        if self.loss == "pinball":
            up, down = up * self.knob, down * (1 - self.knob)
        reach = excess * self.shape / np.where(v > 0, up, down)
        top = int(np.argmax(np.abs(v) * reach))
        y = self.location.copy()
        if self.loss == "epsilon_insensitive":
            y += self.knob * np.sign(v)
        y[top] += np.sign(v[top]) * reach[top]
        return y

    def _priced(self, v, excess):
        """Bisection on the logarithm of how far the price is above its least."""
        a = v * self.shape / np.abs(v * self.shape).max()

        def over(log_price):
            # In logarithms the roots of smooth losses are found in a few steps.
            spent = np.clip(self._spent(a, log_price), 1e-300, 1e300)
            return float(np.clip(np.log(spent) - np.log(excess), -99, 99))

        if over(-650.0) <= 0:
            y = self._at(a, -650.0)
        else:
            root = brentq(over, -650.0, 650.0, xtol=1e-13, rtol=1e-13)
            y = self._inside(self._at(a, root), excess)
        if self.loss == "huber":
            # The steepest component takes, linearly, what is left.
            top = int(np.argmax(np.abs(a)))
            left = max(excess - self.value(y), 0.0)
            y[top] += np.sign(a[top]) * left * self.shape[top] / self.knob
        return y

    def _inside(self, y, excess):
        """Drawn back where rounding left it outside."""
        for back in (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9):
            drawn = y + back * (self.location - y)
            if self.value(drawn) <= excess:
                return drawn
        return y

    def _spent(self, a, log_price):
        with np.errstate(over="ignore", invalid="ignore"):
            spent = self.value(self._at(a, log_price))
        return np.inf if np.isnan(spent) else spent

    def _at(self, a, log_price):
        """The outcome at a price; `a` is the direction by weights, largest size one."""
        mean = self.location
        with np.errstate(over="ignore", divide="ignore"):
            price = np.exp(log_price)
            if self.loss == "huber":
                return mean + self.knob * a / (1 + price)
            if self.loss == "log_cosh":
                return mean + np.log(((1 + a) + price) / ((1 - a) + price)) / 2
            if self.loss == "poisson":
                return mean * np.exp(np.minimum(a / price, 700.0))
            top = max(float((a * mean).max()), 0.0)
            return mean / (1 - a * mean / (top + price))

    def excess(self, y):
        room = max(self.budget - self.floor, 1e-3)
        return float((self.value(y) - max(self.budget, self.floor)) / room)

    def scaled(self, unit):
        s, loc = unit, self.location * unit
        if self.loss == "squared":
            return replace(self, location=loc, shape=self.shape * s**2)
        if self.loss == "mahalanobis":
            return replace(self, location=loc, shape=self.shape * s[:, None])
        if self.loss in ("absolute", "pinball", "gaussian", "interval"):
            return replace(self, location=loc, shape=self.shape * s)
        if self.loss == "nll":
            budget = self.budget + float(np.log(s**2).sum())
            return replace(self, location=loc, shape=self.shape * s, budget=budget)
        if self.loss == "gamma":
            return replace(self, location=loc)
        if self.loss == "log_cosh":
            return self
        power = 2 if self.loss == "huber" else 1
        budget = self.budget * s[0] ** power
        knob = self.knob * s[0]
        return replace(self, location=loc, knob=knob, budget=budget)

    def loss_source(self):
        """The library's loss, as Python text."""
        name = f"sl.losses.{NAMES[self.loss]}"
        weights = f"weights={array(self.shape)}"
        if self.loss == "mahalanobis":
            return f"{name}({array(self.shape @ self.shape.T)})"
        if self.loss in SPREAD:
            return f"{name}()"
        if self.loss == "custom":
            return f"{name}(lambda y, location: cp.norm(y - location, 3))"
        if self.loss in ("huber", "epsilon_insensitive", "pinball"):
            return f"{name}({number(self.knob)}, {weights})"
        return f"{name}({weights})"

    def prediction_source(self):
        """What the model says, as Python text."""
        if self.loss == "interval":
            low, high = self._ends
            return f"sl.Prediction.between({array(low)}, {array(high)})"
        spread = f", np.array({array(self.shape)})" if self.loss in SPREAD else ""
        return f"sl.Prediction(np.array({array(self.location)}){spread})"

    def model_source(self):
        """A model that says it at every context, as Python text."""
        if self.loss == "interval":
            rows = [f"np.tile({array(end)}, (len(X), 1))" for end in self._ends]
            return f"lambda X: ({', '.join(rows)})"
        rows = f"np.tile({array(self.location)}, (len(X), 1))"
        if self.loss in SPREAD:
            rows += f", np.tile({array(self.shape)}, (len(X), 1))"
        return f"lambda X: ({rows})"

    @property
    def _ends(self):
        half = self.knob * self.shape
        return self.location - half, self.location + half

    def source(self):
        inside = f"{self.loss_source()}, {self.prediction_source()}"
        return f"sl.sets.Sublevel({inside}, {number(self.budget)})"

    def loss_set_source(self):
        """A LossSet calibrated on one outcome of just this loss, as Python text."""
        axis = np.eye(self.dim)[0]
        y = self.worst(axis) if self.budget > self.floor else self.location
        return (
            f"sl.LossSet({self.model_source()}, {self.loss_source()})"
            f".calibrate(np.zeros((1, 1)), np.array([{array(y)}]), alpha=0.5)"
        )

    def shrunk(self, share):
        return replace(self, budget=self.floor + share * (self.budget - self.floor))

    def simpler(self):
        yield boxed(self)
        location = np.round(self.location, 1)
        if (location != self.location).any():
            yield replace(self, location=location)


@dataclass(frozen=True, eq=False)
class LabelLoss(Labels):
    """Labels whose costs come from a classifier's probabilities."""

    loss: str = "cross_entropy"
    probabilities: tuple[np.ndarray, ...] = ()

    @property
    def kind(self):
        return f"loss {self.loss}"

    def loss_source(self):
        """The library's loss, as Python text."""
        names = {"cross_entropy": "CrossEntropy", "hinge": "Hinge"}
        return f"sl.losses.{names.get(self.loss, 'ZeroOne')}()"

    def prediction_source(self):
        """What the model says, as Python text."""
        laws = ", ".join(f"np.array({array(p)})" for p in self.probabilities)
        return f"sl.predictions.LabelPrediction(({laws},))"

    def source(self):
        inside = f"{self.loss_source()}, {self.prediction_source()}"
        return f"sl.sets.sublevel_set({inside}, {number(self.budget)})"


def label_loss(loss: str, probabilities, budget: float) -> LabelLoss:
    """The labels that a loss of these probabilities allows."""
    if loss == "cross_entropy":
        costs = tuple(-np.log(p) for p in probabilities)
    elif loss == "hinge":
        costs = tuple(2 * (1 - p) for p in probabilities)
    else:
        costs = tuple(1.0 - np.eye(len(p))[int(np.argmax(p))] for p in probabilities)
    return LabelLoss(costs, budget, loss, tuple(probabilities))
