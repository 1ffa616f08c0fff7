"""Two-stage sets: first which model is best, then what its residuals may be.

Tulabandhula & Rudin (2014) protect against every model that fits the past nearly as
well as the best, { f : risk(f) <= least risk + excess }, and its residuals.
For linear models and the squared risk the first stage is an ellipsoid of coefficients,
so at covariates x its predictions fill, component by component, the interval

    f_j(x) +- margin_j(x),   margin_j(x) = sqrt(excess_j x' (X'X / n)^-1 x),

and the set is the box of half-widths margin(x) + factor * scale.

What is kept of their statements, and what cannot be:

- The best model of the class is a good one with probability 1 - delta if the excess is
  twice a uniform deviation of the risk, which they bound by a Rademacher complexity. It
  needs bounds on outcomes, covariates and coefficients; give them, and that excess is
  used. It is large: two digits of the outcome's variance are typical.
- Without bounds the excess is that of a normal-theory confidence region, a heuristic.
- Their second stage asks for a quantile of the best model's residuals, which nobody
  sees. On rows set aside it is bounded by |y - f| + margin, whose order statistic is
  taken. The box then holds a split conformal box of f, so its marginal promise is
  true whatever the excess. By the same token the first stage only enlarges the set.
- Other classes of models would need the range of f(x) over all good models, an
  optimisation at every context; they are not done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np
from scipy.stats import chi2

from ..checks import Array, as_matrix, briefly, require_level, require_positive
from ..errors import InvalidParameter
from ..guarantees import Certificate, Marginal
from ..predictions import Table, count_rows
from .shapes import Boxed, BoxPrediction
from .source import FittedSource, split_rows


@dataclass(frozen=True)
class Bounds:
    """What is asserted of the data, for the excess of the first stage.

    Parameters
    ----------
    outcome : largest absolute value of a component of the outcome
    covariates : largest Euclidean norm of (1, covariates)
    coefficients : largest Euclidean norm of the coefficients of one component

    Examples
    --------
    >>> bounds = Bounds(outcome=1.0, covariates=2.0, coefficients=0.5)
    >>> round(bounds.excess(n=400, delta=0.05), 3)
    1.343
    """

    outcome: float
    covariates: float
    coefficients: float

    def require(self, design: Array, vectors: Array, coefficients: Array) -> None:
        """Refuse data that are beyond what is asserted of them."""
        lengths = np.linalg.norm(design, axis=1), np.linalg.norm(coefficients, axis=0)
        seen = {
            "outcome": (np.abs(vectors).max(), self.outcome),
            "covariates": (lengths[0].max(), self.covariates),
            "coefficients": (lengths[1].max(), self.coefficients),
        }
        for name, (value, most) in seen.items():
            if value > most * (1 + 1e-9):
                raise InvalidParameter(
                    f"Bounds({name}={most:g}) must hold for the data "
                    f"TwoStage is fitted to, which reach {value:.4g}. Assert what is "
                    "true of every outcome and context."
                )

    def __post_init__(self) -> None:
        require_positive(
            "Bounds",
            outcome=self.outcome,
            covariates=self.covariates,
            coefficients=self.coefficients,
        )

    def excess(self, n: int, delta: float) -> float:
        """Twice a bound, with probability 1 - delta, on |risk - empirical risk|.

            deviation = 2 * 2 b * r / sqrt(n) + b^2 sqrt(log(2 / delta) / (2 n)),

        with r = covariates * coefficients and b = outcome + r: the squared loss is at
        most b^2 and 2 b-Lipschitz, and linear functions have Rademacher complexity
        r / sqrt(n) (Bartlett & Mendelson 2002, Theorems 8 and 12).
        """
        reach = self.covariates * self.coefficients
        most = self.outcome + reach
        complexity = 4 * most * reach / sqrt(n)
        return 2 * (complexity + most**2 * sqrt(log(2 / delta) / (2 * n)))


class TwoStage(FittedSource):
    """Boxes around a linear model, for every good model and its residuals.

    Parameters
    ----------
    alpha : float in (0, 1)
        Level of the second stage.
    delta : float in (0, 1)
        Deficit of the first stage.
    bounds : Bounds, optional
        Vouch for bounds on the data, for the authors' own excess.
    share : float in (0, 1), default 0.5
        Part of the rows for the second stage.
    random_state : int, default 0
        Seed of the split.

    Attributes
    ----------
    coefficients_ : array of shape (p + 1, m), the intercept first
    excess_ : array of shape (m,), in squared units of the outcome
    budget_ : the factor of the second stage

    References
    ----------
    Tulabandhula and Rudin (2014), Robust optimization using machine learning for
    uncertainty sets.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> Y = X + 0.1 * rng.normal(size=(400, 2))
    >>> sets = TwoStage(alpha=0.1).fit(X, Y)
    >>> inside = sets.predict_set(X).contains(Y)
    >>> bool(inside.mean() > 0.85)
    True
    """

    loss_ = Boxed()

    def __init__(
        self,
        alpha: float = 0.1,
        delta: float = 0.05,
        bounds: Bounds | None = None,
        share: float = 0.5,
        random_state: int = 0,
    ) -> None:
        self.alpha = alpha
        self.delta = delta
        self.bounds = bounds
        self.share = share
        self.random_state = random_state

    def fit(self, X: Table, Y: Table) -> TwoStage:
        """Least squares on one part of the rows, residuals of the other."""
        require_level("TwoStage", alpha=self.alpha, delta=self.delta)
        if not (self.bounds is None or isinstance(self.bounds, Bounds)):
            raise InvalidParameter(
                "TwoStage(bounds=...) must be a sl.baselines.Bounds or None, got "
                f"{briefly(self.bounds)}."
            )
        vectors, design = self._learn_outcomes(X, Y), self._design(X)
        rows, held = split_rows(self, X, self.share, self.random_state)
        self._learn_model(design[rows], vectors[rows])
        box = self._box(design[held])
        missed = np.abs(vectors[held] - box.location) + box.margin
        scores = np.max(missed / self.scale_, axis=1)
        calibration = Marginal().calibrate(scores, self.alpha)
        self.budget_ = calibration.budget
        self.certificate_ = self._certificate(calibration.certificate)
        return self

    def _learn_model(self, design: Array, vectors: Array) -> None:
        n, p = design.shape
        if n <= p or np.linalg.matrix_rank(design) < p:
            raise InvalidParameter(
                f"TwoStage.fit(X, Y) needs more rows than its {p} coefficients, and "
                f"covariates that are not linearly dependent, got {n} rows for the "
                "model. Drop columns or add rows."
            )
        self.coefficients_ = np.asarray(
            np.linalg.lstsq(design, vectors, rcond=None)[0], dtype=float
        )
        self._gram = np.linalg.inv(design.T @ design / n)
        residuals = vectors - design @ self.coefficients_
        variance = np.sum(residuals**2, axis=0) / (n - p)
        self.scale_ = np.sqrt(np.where(variance > 0, variance, 1.0))
        if self.bounds is None:
            self.excess_ = variance * chi2.ppf(1 - self.delta, p) / n
        else:
            self.bounds.require(design, vectors, self.coefficients_)
            excess = self.bounds.excess(n, self.delta / len(variance))
            self.excess_ = np.full(len(variance), excess)

    def _say(self, X: Table) -> BoxPrediction:
        return self._box(self._design(X, len(self.coefficients_) - 1))

    def _box(self, design: Array) -> BoxPrediction:
        location = design @ self.coefficients_
        lengths = np.sum((design @ self._gram) * design, axis=1)
        margin = np.sqrt(lengths[:, None] * self.excess_)
        scale = np.broadcast_to(self.scale_, location.shape)
        return BoxPrediction(location, scale, margin)

    def _design(self, X: Table, width: int | None = None) -> Array:
        n = count_rows(X)
        columns = as_matrix("TwoStage", "X", X, (n, width))
        return np.hstack([np.ones((n, 1)), columns])

    def _certificate(self, conformal: Certificate) -> Certificate:
        if self.bounds is None:
            stage = (
                "the excess of a normal-theory confidence region, a heuristic: give "
                "bounds for the authors' own"
            )
        else:
            stage = (
                f"the authors' excess, right with probability {1 - self.delta:g} if "
                "the bounds asserted hold"
            )
        note = (
            f"The first stage has {stage}. The promise does not rest on it: the set "
            "holds the split conformal box of the fitted model."
        )
        return replace(
            conformal,
            guarantee="TwoStage",
            beta_law=False,
            reference=f"Tulabandhula and Rudin (2014); {conformal.reference}",
            note=" ".join(part for part in (conformal.note, note) if part),
        )
