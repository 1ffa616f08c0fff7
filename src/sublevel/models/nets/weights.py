"""The weights of trained networks as NumPy arrays: all that prediction needs.

Training does not depend on the units of the data, which are scaled and restored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...checks import Array


@dataclass(frozen=True)
class Scaling:
    """Scaled values are (value - center) / unit; both of shape (B, 1, columns)."""

    center: Array
    unit: Array

    def apply(self, values: Array, which: int) -> Array:
        """Scaled values (..., columns) of network `which`."""
        which = which if len(self.center) > 1 else 0
        scaled: Array = (values - self.center[which, 0]) / self.unit[which, 0]
        return scaled


def standardise(values: Array) -> Scaling:
    """Mean and standard deviation over rows, for values of shape (B, ..., columns).

    Examples
    --------
    >>> scaling = standardise(np.array([[[1.0, 7.0], [3.0, 7.0]]]))
    >>> scaling.center, scaling.unit
    (array([[[2., 7.]]]), array([[[1., 1.]]]))
    """
    rows = values.reshape(len(values), -1, values.shape[-1])
    center, unit = _moments(rows)
    return Scaling(center, _positive(unit, center))


def pooled(values: Array) -> Scaling:
    """One unit for all columns and no centre: differences between columns keep."""
    center, unit = _moments(values.reshape(len(values), -1, 1))
    one = np.ones((len(values), 1, values.shape[-1]))
    return Scaling(0.0 * one, _positive(unit, center) * one)


def unscaled(values: Array) -> Scaling:
    """Values as they are."""
    shape = (len(values), 1, values.shape[-1])
    return Scaling(np.zeros(shape), np.ones(shape))


def _moments(rows: Array) -> tuple[Array, Array]:
    """Mean and standard deviation; infinite or NaN where the squares overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        return rows.mean(axis=1, keepdims=True), rows.std(axis=1, keepdims=True)


def _positive(unit: Array, size: Array) -> Array:
    """Units of constant columns, which rounding may leave above zero, become one."""
    return np.where(unit <= 1e-14 * np.abs(size), 1.0, unit)


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


#: Smallest spread, in units of the root mean squared residual. The likelihood is
#: unbounded without one.
FLOOR = 1e-3
#: The raw output of spread one.
UNIT_SPREAD = float(np.log(np.expm1(1.0 - FLOOR)))


def spread(raw: Array) -> Array:
    """softplus(raw) + floor.

    Examples
    --------
    >>> spread(np.array([UNIT_SPREAD, -np.inf, 50.0]))
    array([1.000e+00, 1.000e-03, 5.0001e+01])
    """
    softplus: Array = np.logaddexp(0.0, raw)
    return softplus + FLOOR
