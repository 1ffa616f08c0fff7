"""Balls of the 1-, 2- and infinity-norm, stretched and moved: the shapes that have
closed forms for everything.

    B = { center + scale z : ||z||_order <= radius },
    support(v) = center'v + radius ||scale'v||_dual.

Squared, gaussian, nll, Mahalanobis and absolute losses have such sublevel sets, and
Ellipsoid and L1Ball are such sets, so the formulas live here once.
"""

from dataclasses import dataclass
from math import inf, lgamma, log, pi

import numpy as np

from .checks import Array


@dataclass(frozen=True, eq=False)
class NormBall:
    """A stretched norm ball.

    Parameters
    ----------
    center : array of shape (m,)
    scale : array of shape (m,) for axis-aligned scales, or (m, m), invertible
    radius : float, at least 0; may be inf
    order : 1, 2 or inf

    Examples
    --------
    >>> ball = NormBall(np.zeros(2), np.array([1.0, 2.0]), radius=2.0, order=2)
    >>> ball.worst_case(np.array([0.0, 1.0]))
    array([0., 4.])
    """

    center: Array
    scale: Array
    radius: float
    order: float

    def norm(self, outcomes: Array) -> Array:
        """Distance of each outcome (..., m) from the center, in units of the scale."""
        residual = outcomes - self.center
        if self.scale.ndim == 1:
            unit = np.asarray(residual / self.scale)
        else:
            unit = np.asarray(np.linalg.solve(self.scale, residual.T).T, dtype=float)
        return np.asarray(np.linalg.norm(unit, ord=self.order, axis=-1))

    def worst_case(self, direction: Array) -> Array:
        """A point of the ball that maximises `direction @ y`; the radius is finite."""
        unit = aligned(self._slope(direction), self.order)
        return self.center + self._stretch(self.radius * unit)

    def support(self, direction: Array) -> float:
        """Largest value of `direction @ y` over the ball."""
        slope = self._slope(direction)
        if not slope.any():
            return float(self.center @ direction)
        dual = {1: inf, 2: 2, inf: 1}[self.order]
        reach = self.radius * float(np.linalg.norm(slope, ord=dual))
        return float(self.center @ direction) + reach

    def sample(self, size: int, rng: np.random.Generator) -> Array:
        """Points drawn uniformly, shape (size, m)."""
        m = self.center.size
        if self.order == inf:
            unit = rng.uniform(-1.0, 1.0, (size, m))
        else:
            # Schechtman-Zinn: generalised normals, made uniform by one exponential.
            power = int(self.order)
            draw = rng.gamma(1 / power, 1.0, (size, m))
            signs = rng.choice([-1.0, 1.0], (size, m))
            total = draw.sum(axis=1, keepdims=True) + rng.exponential(1.0, (size, 1))
            unit = signs * (draw / total) ** (1 / power)
        return self.center + self._stretch(self.radius * unit)

    def volume(self) -> float:
        """Lebesgue measure."""
        m = self.center.size
        if self.scale.ndim == 1:
            log_stretch = float(np.log(self.scale).sum())
        else:
            log_stretch = float(np.linalg.slogdet(self.scale)[1])
        if self.order == 2:
            log_unit = m / 2 * log(pi) - lgamma(m / 2 + 1)
        else:
            log_unit = m * log(2) - (lgamma(m + 1) if self.order == 1 else 0.0)
        if self.radius == 0:
            return 0.0
        return float(np.exp(log_unit + log_stretch + m * log(self.radius)))

    def _slope(self, direction: Array) -> Array:
        if self.scale.ndim == 1:
            return self.scale * direction
        return np.asarray(self.scale.T @ direction)

    def _stretch(self, unit: Array) -> Array:
        if self.scale.ndim == 1:
            return self.scale * unit
        return np.asarray(unit @ self.scale.T)


def aligned(slope: Array, order: float) -> Array:
    """The unit vectors of the norm that go furthest along each slope, shape (..., m).

    A slope of zero gets the zero vector.

    Examples
    --------
    >>> aligned(np.array([3.0, -4.0]), 2), aligned(np.array([3.0, -4.0]), 1)
    (array([ 0.6, -0.8]), array([ 0., -1.]))
    """
    if order == inf:
        return np.sign(slope)
    if order == 2:
        # Only the direction counts, so its squares need neither vanish nor overflow.
        largest = np.maximum(slope.max(axis=-1), -slope.min(axis=-1))[..., None]
        unit = np.asarray(slope / np.where(largest > 0, largest, 1.0))
        length = np.sqrt(np.sum(unit * unit, axis=-1, keepdims=True))
        unit /= np.where(length > 0, length, 1.0)
        return unit
    steepest = np.argmax(np.abs(slope), axis=-1)[..., None]
    chosen = np.arange(slope.shape[-1]) == steepest
    return np.where(chosen, np.sign(slope), 0.0)
