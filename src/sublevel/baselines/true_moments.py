"""Sets from the truth: what someone who knows the law of the outcome would do.

    { mean(X) + scale(X) z : ||z||_2 <= radius }

A yardstick for simulations: no data are learned from, and no method that learns should
beat it at the same promise. For normal components a constraint linear in the outcome
holds with probability exactly 1 - alpha at the radius of the normal quantile; for any
strictly sub-Gaussian ones sqrt(2 log(1 / alpha)) will do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy.typing as npt
from scipy.stats import norm

from ..checks import (
    Array,
    as_matrix,
    require_choice,
    require_having,
    require_level,
)
from ..errors import InvalidParameter
from ..guarantees.certificate import KEPT_ON_THE_SET, Certificate
from ..losses import Gaussian
from ..predictions import (
    AnyPrediction,
    Numbers,
    Outcomes,
    Prediction,
    Table,
    count_rows,
)
from ..theory.classical import ellipsoid_radius
from .source import FittedSource, heuristic

#: What is known of the noise: its radius, and what the certificate says.
NOISES = ("subgaussian", "normal")


#: From X of n rows to numbers of shape (n, m).
Truth: TypeAlias = Callable[[Table], npt.ArrayLike]


class TrueMoments(FittedSource):
    """Ellipsoids from the true conditional mean and standard deviation.

    Parameters
    ----------
    mean, scale : callables
        From X of n rows to arrays of shape (n, m): the truth.
    alpha : float in (0, 1)
        Below 1/2 where the noise is normal.
    noise : "subgaussian" or "normal"
        What the components are, independent given X. Normal: the least radius for
        constraints linear in the outcome.

    Examples
    --------
    >>> import numpy as np
    >>> truth = TrueMoments(lambda X: X, lambda X: np.ones_like(X), 0.1, noise="normal")
    >>> round(truth.radius_, 3)
    1.282
    >>> truth.predict_set(np.zeros((1, 2))).support([3.0, 4.0]).round(3)
    array([6.408])
    """

    loss_ = Gaussian(full=False)

    def __init__(
        self,
        mean: Truth,
        scale: Truth,
        alpha: float = 0.1,
        noise: str = "subgaussian",
    ) -> None:
        self.mean = mean
        self.scale = scale
        self.alpha = alpha
        self.noise = noise

    def fit(self, X: Table, Y: Table) -> TrueMoments:
        """Nothing to learn."""
        del X, Y
        return self

    @property
    def budget_(self) -> float:  # type: ignore[override]
        """The squared radius."""
        require_level("TrueMoments", alpha=self.alpha)
        require_choice("TrueMoments", NOISES, noise=self.noise)
        if self.noise == "subgaussian":
            return ellipsoid_radius(self.alpha) ** 2
        return float(max(norm.isf(self.alpha), 0.0)) ** 2

    @property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """What holds if the functions are the truth."""
        normal = self.noise == "normal"
        shape = "linear" if normal else "concave"
        kind = "normal" if normal else "strictly sub-Gaussian"
        return heuristic(
            self,
            self.alpha,
            0,
            heuristic=False,
            random="The new outcome, given its context.",
            event=KEPT_ON_THE_SET,
            holds="at every context, if the functions are the truth",
            assumptions=(
                "Asserted: mean and scale are the true ones at every context.",
                f"Asserted: given the context, components are independent and {kind}.",
                f"One constraint, {shape} in the outcome, kept on the whole set.",
            ),
            reference="Bertsimas, den Hertog and Pauphilet (2021)",
        )

    def _say(self, X: Table) -> Prediction:
        mean, scale = _ask(X, "mean", self.mean), _ask(X, "scale", self.scale)
        if not (scale > 0).all():
            raise InvalidParameter(
                "TrueMoments(scale=...) must return standard deviations, all positive, "
                f"got {scale.min()}."
            )
        return Prediction(mean, scale)

    def _words(self, prediction: AnyPrediction) -> tuple[Outcomes, tuple[str, ...]]:
        outcomes = Outcomes((Numbers(prediction.width),))
        return outcomes, outcomes.names([f"y{k}" for k in range(prediction.width)])


def _ask(X: Table, name: str, function: Truth) -> Array:
    """What a function says at every row of X, checked."""
    require_having("TrueMoments", "__call__", "a function of X", **{name: function})
    return as_matrix("TrueMoments", name, function(X), (count_rows(X), None))
