"""The best bound on E exp(-1/E[S | X]) that uses the law of S alone.

The function exp(-1/s) is convex up to s = 1/2 and concave after it, so Jensen's
inequality needs a convex function above it. The least ones follow exp(-1/s) up to a
knee z <= 1/2 and go on along the line that touches it again:

    a_z(s) = exp(-1/s)                 for s <= z,
             exp(-1/z) + slope (s - z)  for s > z,

with slope the derivative at the point in [1/2, 1] whose tangent passes through
(z, exp(-1/z)). For every X, E exp(-1/E[S | X]) <= E a_z(S). The best choice of z cannot
be improved: for some X there is equality. At z = 1/2 the slope is 4 exp(-2), and a_z is
the sum p1 + p2 in the proof of Theorem 3.2 of Bertsimas and Boucher; a slope below
4 exp(-2) there would not be convex, a larger one (theirs is exp(-1/2)) is looser.
"""

from functools import lru_cache
from math import exp

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize_scalar

from ..checks import Array, as_numbers, as_vector, briefly, is_number
from ..errors import InvalidParameter

__all__ = ["best_bound", "decay", "envelope"]

#: Knees tried before the best of them is refined.
_KNEES = np.linspace(0.0, 0.5, 33)
#: Ratios that are tried for a knee as well, the nearest to the best.
CORNERS = 4


def decay(ratio: npt.ArrayLike) -> Array:
    """exp(-1/ratio), and 0 at 0.

    Parameters
    ----------
    ratio : array, at least 0

    Examples
    --------
    >>> from sublevel.theory.envelope import decay
    >>> decay([0.0, 0.5, 1.0]).round(4)
    array([0.    , 0.1353, 0.3679])
    """
    given = _as_ratio("decay", ratio)
    with np.errstate(divide="ignore", over="ignore"):
        bounds: Array = np.exp(-1 / given)
    return bounds


def envelope(ratio: npt.ArrayLike, knee: float = 0.5) -> Array:
    """The convex function a_knee, by element.

    Parameters
    ----------
    ratio : array, at least 0
    knee : float
        From 0 to 1/2, chosen without looking at the data it is averaged over.

    Examples
    --------
    >>> from sublevel.theory.envelope import envelope
    >>> envelope([0.25, 0.5, 1.5]).round(4)
    array([0.0183, 0.1353, 0.6767])
    >>> envelope([0.25, 0.5, 1.5], knee=0.0).round(4)
    array([0.092 , 0.1839, 0.5518])
    """
    if not (is_number(knee) and 0 <= knee <= 0.5):
        raise InvalidParameter(
            f"envelope(knee=...) must lie between 0 and 1/2, got {briefly(knee)}. "
            f"Beyond 1/2 exp(-1/s) is not convex."
        )
    ratio = _as_ratio("envelope", ratio)
    beyond = np.maximum(ratio - knee, 0.0)
    bounds: Array = decay(np.minimum(ratio, knee)) + _slope(float(knee)) * beyond
    return bounds


def _as_ratio(owner: str, ratio: npt.ArrayLike) -> Array:
    bounds = as_numbers(owner, "ratio", ratio)
    if not (bounds >= 0).all():
        raise InvalidParameter(
            f"{owner}(ratio=...) must be at least 0, got {bounds.min()}."
        )
    return bounds


def best_bound(ratios: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> float:
    """The largest value that E exp(-1/E[S | X]) can have, whatever X is.

    Parameters
    ----------
    ratios : array of shape (n,)
        The values of S, at least 0.
    weights : array of shape (n,), optional
        Their probabilities; equal by default.

    Examples
    --------
    >>> from sublevel.theory.envelope import best_bound
    >>> round(best_bound([0.1, 0.1, 0.1, 0.6]), 4)
    0.0473
    >>> round(best_bound([2.0, 2.0]), 4)  # exp(-1/2)
    0.6065
    """
    values = as_vector("best_bound", "ratios", ratios)
    if (values < 0).any():
        raise InvalidParameter(
            f"best_bound(ratios=...) must be at least 0, got {values.min()}."
        )
    mass = _as_weights(weights, values.size)
    mean = float(mass @ values)
    if mean >= 1:
        return exp(-1 / mean)

    def average(knee: float) -> float:
        return float(mass @ envelope(values, knee))

    tried = [average(knee) for knee in _KNEES]
    near = int(np.argmin(tried))
    around = _KNEES[max(0, near - 1)], _KNEES[min(near + 1, _KNEES.size - 1)]
    refined = minimize_scalar(average, bounds=around, method="bounded")
    # At a ratio the average has a corner, which the search comes close to only.
    corners = values[values <= _KNEES[-1]]
    nearest = corners[np.argsort(np.abs(corners - refined.x))[:CORNERS]]
    # Every knee is a valid bound, so an imperfect search costs only tightness.
    return min(tried[near], float(refined.fun), *map(average, nearest.tolist()))


@lru_cache(maxsize=256)
def _slope(knee: float) -> float:
    """Slope of the tangent to exp(-1/s) through its point at the knee."""
    start = float(decay(knee))

    def above(touch: float) -> float:
        return exp(-1 / touch) * (1 - (touch - knee) / touch**2) - start

    # At a knee of 1/2 it touches there and nowhere else.
    touch = 0.5 if above(0.5) >= 0 else brentq(above, 0.5, 1.0, xtol=1e-15)
    return float(exp(-1 / touch) / touch**2)


def _as_weights(weights: npt.ArrayLike | None, size: int) -> Array:
    if weights is None:
        return np.full(size, 1 / size)
    mass = as_vector("best_bound", "weights", weights, size)
    if (mass < 0).any() or mass.sum() <= 0:
        raise InvalidParameter(
            f"best_bound(weights=...) must be at least 0, not all 0, got sum "
            f"{mass.sum():g} and least {mass.min():g}."
        )
    return np.asarray(mass / mass.sum())
