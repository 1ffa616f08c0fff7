"""Coordinates in which a loss is the squared length of the residual."""

from __future__ import annotations

import numpy as np

from ..checks import Array
from ..predictions import AnyPrediction
from .base import Loss
from .gaussian import Gaussian
from .mahalanobis import Mahalanobis
from .nll import NLL
from .squared import Squared


def whitened(loss: Loss, prediction: AnyPrediction, residual: Array) -> Array | None:
    """Residuals whose squared length is the loss above its floor; None if none are.

    A linear function of the residual, at each context. Asked of the losses themselves:
    one that was derived from them may be another function.

    Parameters
    ----------
    loss : any
    prediction : of n contexts
    residual : outcomes less the location, shape (n, m)

    Returns
    -------
    array of shape (n, m), or None

    Examples
    --------
    >>> from sublevel.predictions import Prediction
    >>> at = Prediction(np.zeros((1, 2)), scale=np.array([[1.0, 2.0]]))
    >>> whitened(Gaussian(), at, np.array([[1.0, 2.0]]))
    array([[1., 1.]])
    """
    if type(loss) is NLL:
        # The log variances are the floor.
        loss = loss.standard
    if type(loss) is Mahalanobis:
        return np.asarray(residual @ np.linalg.inv(loss.factor).T)
    if type(loss) is Gaussian:
        factor = loss.factor(prediction)
        if factor is not None:
            wide = np.broadcast_to(factor, (len(residual), *factor.shape[-2:]))
            return np.asarray(np.linalg.solve(wide, residual[..., None])[..., 0])
    if type(loss) in (Squared, Gaussian):
        assert isinstance(loss, Squared)
        return np.asarray(residual / loss.spread(prediction))
    return None
