"""The loss of a mean and a variance (Nix & Weigend 1994), and its gamma face.

    loss(r, s) = r^2 / s + log s,

twice the Gaussian negative log-likelihood of the residual r at variance s, less a
constant. With the mean held fixed it is the unit gamma deviance of the squares,

    deviance(q, s) = 2 (q / s - 1 - log(q / s)) = 2 loss + terms without s,   q = r^2,

so any regressor with a gamma loss learns the variance from squared residuals. Both
change by a constant when the units of q and s change together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import Array


def nix_weigend(squares: Any, variance: Any) -> Array:
    """Loss of squared residuals at predicted variances, element by element.

    Examples
    --------
    >>> nix_weigend(np.array([1.0, 4.0]), np.array([1.0, 4.0])).round(3)
    array([1.   , 2.386])
    """
    return np.asarray(squares / variance + np.log(variance))
