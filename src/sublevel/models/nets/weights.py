"""The weights of trained networks as NumPy arrays: all that prediction needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...checks import Array
from .scaling import Scaling


@dataclass(frozen=True)
class Weights:
    """Weights of B networks with p covariates, h hidden units and k outputs.

    Parameters
    ----------
    coefs : pair of arrays of shape (B, p, h) and (B, h, k)
    intercepts : pair of arrays of shape (B, 1, h) and (B, 1, k)
    """

    coefs: tuple[Array, Array]
    intercepts: tuple[Array, Array]

    @staticmethod
    def of_layers(hidden: Array, output: Array) -> Weights:
        """From arrays of shape (B, h, p + 1) and (B, k, h + 1), biases last."""
        hidden, output = np.swapaxes(hidden, 1, 2), np.swapaxes(output, 1, 2)
        return Weights(
            (hidden[:, :-1].copy(), output[:, :-1].copy()),
            (hidden[:, -1:].copy(), output[:, -1:].copy()),
        )

    def in_units(self, covariates: Scaling, outputs: Scaling) -> Weights:
        """Networks trained on scaled data, made to speak of the data themselves."""
        slopes = self.coefs[0] / np.swapaxes(covariates.unit, 1, 2)
        return Weights(
            (slopes, self.coefs[1] * outputs.unit),
            (
                self.intercepts[0] - covariates.center @ slopes,
                self.intercepts[1] * outputs.unit + outputs.center,
            ),
        )


def network_outputs(X: Array, coefs: list[Array], intercepts: list[Array]) -> Array:
    """One hidden layer of rectified linear units; broadcasts over leading axes.

    Examples
    --------
    The absolute value, from two units.

    >>> coefs = [np.array([[1.0, -1.0]]), np.array([[1.0], [1.0]])]
    >>> network_outputs(np.array([[-2.0], [3.0]]), coefs, [np.zeros(2), np.zeros(1)])
    array([[2.],
           [3.]])
    """
    hidden = np.maximum(X @ coefs[0] + intercepts[0], 0.0)
    outputs: Array = hidden @ coefs[1] + intercepts[1]
    return outputs
