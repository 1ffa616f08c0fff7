"""Compiled: logarithms and exponentials of eight lanes at once.

By the polynomials of fdlibm (Sun Microsystems 1993), without its special cases: right
to two units in the last place for arguments that are ordinary numbers. What else comes
in gives something that is not to be used.
"""

from __future__ import annotations

from typing import Any

from ..compiled import inlined, part
from .lanes import (
    MAGIC,
    choose_less,
    exponent,
    fma,
    mantissa,
    power_of_two,
    splat,
)

#: The logarithm of 2, in two parts, and one over it.
HIGH, LOW, OVER = (
    6.93147180369123816490e-01,
    1.90821492927058770002e-10,
    1.4426950408889634,
)
#: Exponents beyond which an exponential is cut off.
FARTHEST = 700.0


@inlined
def _beyond(z: Any, square: Any) -> Any:
    """What log (1 + f) has beyond its first terms, z = s^2 with s = f / (2 + f)."""
    even = fma(square, 1.531383769920937332e-01, 2.222219843214978396e-01)
    even = square * fma(square, even, 3.999999999940941908e-01)
    odd = fma(square, 1.479819860511658591e-01, 1.818357216161805012e-01)
    odd = fma(square, odd, 2.857142874366239149e-01)
    odd = z * fma(square, odd, 6.666666666666735130e-01)
    return even + odd


@part
def logarithm(x: Any) -> Any:
    """Log x, of x > 0."""
    k, f = exponent(x), mantissa(x) - 1.0
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    rest = _beyond(z, z * z)
    return fma(k, HIGH, -((half - fma(k, LOW, s * (half + rest))) - f))


@part
def logarithm_above_one(x: Any) -> Any:
    """Log (1 + x), of x > 0, to all digits of x."""
    whole = 1.0 + x
    # What was lost in the sum: of the first order, which is enough.
    lost = choose_less(1.0, x, 1.0 - (whole - x), x - (whole - 1.0))
    return logarithm(whole) + lost / whole


@part
def exponential(x: Any) -> Any:
    """Exp x, cut off where it would be no normal number."""
    x = choose_less(x, FARTHEST, x, splat(FARTHEST))
    x = choose_less(-FARTHEST, x, x, splat(-FARTHEST))
    moved = fma(x, OVER, splat(MAGIC))
    k = moved - MAGIC
    r = fma(-k, LOW, fma(-k, HIGH, x))
    t = r * r
    c = fma(t, 4.13813679705723846039e-08, -1.65339022054652515390e-06)
    c = fma(t, c, 6.61375632143793436117e-05)
    c = fma(t, c, -2.77777777770155933842e-03)
    c = r - t * fma(t, c, 1.66666666666666019037e-01)
    return fma(r, c / (2.0 - c), r + 1.0) * power_of_two(moved)
