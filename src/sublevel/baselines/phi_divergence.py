"""Distributionally robust optimisation: all laws near the observed frequencies.

The uncertain parameter is the probability vector p of k scenarios, and the set is

    { p in the simplex : sum_j q_j phi(p_j / q_j) <= radius },

q the frequencies of N past outcomes (Ben-Tal et al. 2013). It holds the *law* with
probability 1 - alpha, which is not that it holds the next outcome; covariates play no
part. With a cost p @ cost(x) the robust decision minimises the worst expected cost.

The ball is a sublevel set: its gauge is the divergence from the nominal law q, which is
the prediction's location.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from ..checks import Array, briefly, require_choice, require_level
from ..epigraph import Epigraph
from ..errors import InvalidParameter
from ..guarantees import Certificate, divergences
from ..losses.base import Slots, location_of
from ..predictions import Labels, Prediction, Table, count_rows
from ..sets import KLBall, VariationBall
from ..sets.divergence_ball import (
    BurgBall,
    ChiSquareBall,
    HellingerBall,
    ModifiedChiSquareBall,
    worst_laws,
)
from ..sets.phi import KL, Burg, ChiSquare, Hellinger, ModifiedChiSquare, Phi, Variation
from ..sets.probability_ball import ProbabilityBall
from .shapes import Located, Shape
from .source import FittedSource, heuristic


@dataclass(frozen=True)
class Kind:
    """A divergence: its function, its ball, and its derivatives for the radius."""

    phi: Phi
    ball: type[ProbabilityBall]
    derivatives: divergences.Divergence | None


KINDS = {
    "kl": Kind(KL(), KLBall, divergences.KL),
    "burg": Kind(Burg(), BurgBall, divergences.BURG),
    "chi_square": Kind(ChiSquare(), ChiSquareBall, divergences.CHI_SQUARE),
    "modified_chi_square": Kind(
        ModifiedChiSquare(), ModifiedChiSquareBall, divergences.MODIFIED_CHI_SQUARE
    ),
    "hellinger": Kind(Hellinger(), HellingerBall, divergences.HELLINGER),
    "variation": Kind(Variation(), VariationBall, None),
}


@dataclass(frozen=True)
class LawGauge(Shape):
    """Divergence of a law from the nominal one, the prediction's location.

    Examples
    --------
    >>> gauge = LawGauge("modified_chi_square")
    >>> gauge.score(np.array([0.5, 0.5]), np.array([0.8, 0.2])).round(6)
    np.float64(0.36)
    """

    nonneg: ClassVar[bool] = True

    divergence: str = "kl"

    @property
    def phi(self) -> Phi:
        """The function."""
        return KINDS[self.divergence].phi

    def components(self, prediction: Located, outcome: npt.ArrayLike) -> Array:
        """The divergence by class."""
        return self.phi.terms(np.asarray(outcome), np.asarray(location_of(prediction)))

    def expression(self, prediction: Located, outcome: cp.Expression) -> cp.Expression:
        """The divergence, of an outcome on the simplex."""
        return self.phi.expression(outcome, np.asarray(location_of(prediction)))

    def domain(
        self, prediction: Located, outcome: cp.Expression
    ) -> list[cp.Constraint]:
        """The simplex."""
        del prediction
        return [cp.sum(outcome) == 1, outcome >= 0]

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Located
    ) -> Epigraph:
        """Least t + sum_j q_j u phi*((v_j - t) / u) over t."""
        level, top = cp.Variable(), cp.Variable(slope.size)
        price = self.phi.price(slope - level, multiplier)
        # A variable above the prices: CVXPY does not know the frequencies' signs.
        constraints = [price.value <= top, *price.constraints]
        return Epigraph(level + location_of(prediction) @ top, constraints)

    def slots(self, prediction: Located, budget: npt.ArrayLike) -> Slots:
        """The frequencies and the radius."""
        location = np.asarray(location_of(prediction), dtype=float)
        radius = np.broadcast_to(budget, location.shape[:-1])
        return {"location": location, "budget": radius}

    def worst_case(
        self, prediction: Located, budget: npt.ArrayLike, direction: npt.ArrayLike
    ) -> Array:
        """The law of the ball that is worst, for any number of directions."""
        nominal = np.atleast_2d(location_of(prediction))
        directions = np.atleast_2d(direction)
        shape = np.broadcast_shapes(nominal.shape, directions.shape)
        nominal = np.broadcast_to(nominal, shape)
        directions = np.broadcast_to(directions, shape)
        radii = np.broadcast_to(np.asarray(budget, dtype=float), shape[:1])
        if isinstance(self.phi, Variation):
            rows = zip(nominal, radii, directions, strict=True)
            worst = [VariationBall(q, r).worst_case(v) for q, r, v in rows]
            laws = np.reshape(worst, shape)
        else:
            laws = worst_laws(self.phi, nominal, directions, radii)
        single = np.ndim(location_of(prediction)) == 1 and np.ndim(direction) == 1
        return laws[0] if single else laws

    def region(self, prediction: Located, budget: float) -> ProbabilityBall:
        """The ball."""
        return KINDS[self.divergence].ball(location_of(prediction), budget)


#: Radii that hold at every number of outcomes.
_EXACT = {"burg": divergences.burg_radius, "variation": divergences.variation_radius}


class PhiDivergence(FittedSource):
    """Laws near the frequencies of past scenarios, the same at every context.

    Parameters
    ----------
    divergence : str, default "kl"
        "kl" D(p || q), "burg" D(q || p), "chi_square" sum (p - q)^2 / p,
        "modified_chi_square" sum (p - q)^2 / q, "hellinger" or "variation".
    alpha : float in (0, 1)
        Probability that the law is outside the ball.
    rule : "corrected", "asymptotic" or "exact"
        The chi-square radius with its mean and variance right to the next order in
        1/N; without; or, for "burg" and "variation", one that holds at every N.

    Attributes
    ----------
    classes_ : labels of the k scenarios, in the order of the uncertain parameter
    probabilities_ : array of shape (k,), their frequencies
    budget_ : the radius
    set_ : the ball, as a set value

    References
    ----------
    Ben-Tal, den Hertog, De Waegenaere, Melenberg and Rennen (2013), Robust solutions of
    optimization problems affected by uncertain probabilities.

    Examples
    --------
    >>> X, y = np.zeros((100, 1)), ["low"] * 60 + ["high"] * 40
    >>> sets = PhiDivergence("kl", alpha=0.1, rule="asymptotic").fit(X, y)
    >>> sets.classes_, sets.probabilities_, round(sets.budget_, 5)
    (array(['high', 'low'], dtype='<U4'), array([0.4, 0.6]), 0.01353)
    """

    def __init__(
        self, divergence: str = "kl", alpha: float = 0.1, rule: str = "corrected"
    ) -> None:
        self.divergence = divergence
        self.alpha = alpha
        self.rule = rule

    def fit(self, X: Table, Y: Table) -> PhiDivergence:
        """Count the scenarios; Y is one column of labels."""
        self._check()
        vectors = self._learn_outcomes(X, Y, labels=True)
        block = self.outcomes_.blocks[0]
        if not isinstance(block, Labels) or block.width < 2:
            raise InvalidParameter(
                "PhiDivergence.fit(X, Y) needs one column of labels with at least 2 "
                f"scenarios, got shape {np.shape(Y)} with {block.width}."
            )
        self.classes_ = block.classes
        self.probabilities_ = vectors.mean(axis=0)
        self.loss_ = LawGauge(self.divergence)
        self.budget_ = self._radius(len(vectors))
        self.certificate_ = self._certificate(len(vectors))
        return self

    @property
    def set_(self) -> ProbabilityBall:
        """The ball."""
        self._require_fitted("set_")
        return KINDS[self.divergence].ball(self.probabilities_, self.budget_)

    def _check(self) -> None:
        require_level("PhiDivergence", alpha=self.alpha)
        require_choice("PhiDivergence", sorted(KINDS), divergence=self.divergence)
        rules = _rules(self.divergence)
        if not (isinstance(self.rule, str) and self.rule in rules):
            raise InvalidParameter(
                f"PhiDivergence(rule=...) must be one of {rules} for "
                f"{self.divergence!r}, got {briefly(self.rule)}."
            )

    def _radius(self, size: int) -> float:
        classes = len(self.probabilities_)
        if self.rule == "exact":
            return _EXACT[self.divergence](self.alpha, size, classes)
        derivatives: Any = KINDS[self.divergence].derivatives
        if self.rule == "asymptotic":
            return float(derivatives.radius(self.alpha, size, classes))
        law = self.probabilities_
        return float(derivatives.corrected_radius(self.alpha, size, law))

    def _say(self, X: Table) -> Prediction:
        return Prediction(np.tile(self.probabilities_, (count_rows(X), 1)))

    def _certificate(self, size: int) -> Certificate:
        exact = self.rule == "exact"
        note = "The law is covered, not the next outcome; covariates are ignored."
        if not exact:
            note += " The radius is right as the number of outcomes grows."
        references = {
            "burg": "Agrawal (2020)",
            "variation": "Weissman et al. (2003), Theorem 2.1",
        }
        more = references[self.divergence] if exact else "Pardo (2006)"
        return heuristic(
            self,
            self.alpha,
            size,
            heuristic=not exact,
            random="The past outcomes.",
            event="the law of the scenarios is outside the ball",
            holds="at every number of outcomes" if exact else "as their number grows",
            assumptions=(
                "The past outcomes are independent and of one law.",
                "Every scenario that can happen is among them; no other is known.",
            ),
            reference=f"Ben-Tal et al. (2013); {more}",
            note=note,
        )


def _rules(divergence: str) -> list[str]:
    """The rules a divergence has: the variation distance has no chi-square law."""
    chi_square = [] if divergence == "variation" else ["corrected", "asymptotic"]
    return chi_square + (["exact"] if divergence in _EXACT else [])
