"""Balls of laws as sublevel sets: the gauge is the divergence from a nominal law.

    loss(p) = sum_j q_j phi(p_j / q_j) on the simplex,

where the nominal law q is the prediction's location.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..epigraph import Epigraph
from ..guarantees import divergences
from ..losses.base import Slots, location_of
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
from .shaped import Shape


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

    def components(self, prediction: Any, outcome: Any) -> Array:
        """The divergence by class."""
        return self.phi.terms(np.asarray(outcome), np.asarray(location_of(prediction)))

    def expression(self, prediction: Any, outcome: cp.Expression) -> cp.Expression:
        """The divergence, of an outcome on the simplex."""
        return self.phi.expression(outcome, np.asarray(location_of(prediction)))

    def domain(self, prediction: Any, outcome: cp.Expression) -> list[cp.Constraint]:
        """The simplex."""
        del prediction
        return [cp.sum(outcome) == 1, outcome >= 0]

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Any
    ) -> Epigraph:
        """Least t + sum_j q_j u phi*((v_j - t) / u) over t."""
        level, top = cp.Variable(), cp.Variable(slope.size)
        price = self.phi.price(slope - level, multiplier)
        # A variable above the prices: CVXPY does not know the frequencies' signs.
        constraints = [price.value <= top, *price.constraints]
        return Epigraph(level + location_of(prediction) @ top, constraints)

    def slots(self, prediction: Any, budget: Any) -> Slots:
        """The frequencies and the radius."""
        location = np.asarray(location_of(prediction), dtype=float)
        radius = np.broadcast_to(budget, location.shape[:-1])
        return {"location": location, "budget": radius}

    def worst_case(self, prediction: Any, budget: Any, direction: Any) -> Array:
        """The law of the ball that is worst, for any number of directions."""
        nominal = np.atleast_2d(location_of(prediction))
        directions = np.atleast_2d(direction)
        shape = np.broadcast_shapes(nominal.shape, directions.shape)
        nominal = np.broadcast_to(nominal, shape)
        directions = np.broadcast_to(directions, shape)
        radii = np.broadcast_to(np.asarray(budget, dtype=float), shape[:1])
        if isinstance(self.phi, Variation):
            rows = zip(nominal, radii, directions, strict=True)
            found = [VariationBall(q, r).worst_case(v) for q, r, v in rows]
            laws = np.reshape(found, shape)
        else:
            laws = worst_laws(self.phi, nominal, directions, radii)
        single = np.ndim(location_of(prediction)) == 1 and np.ndim(direction) == 1
        return laws[0] if single else laws

    def region(self, prediction: Any, budget: float) -> ProbabilityBall:
        """The ball."""
        return KINDS[self.divergence].ball(location_of(prediction), budget)
