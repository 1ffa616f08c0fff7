"""What networks are trained to say: outcomes as numbers, checked for one or many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import Array
from ...errors import InvalidParameter, UnseenClass


@dataclass(frozen=True)
class Targets:
    """Outcomes of B networks.

    Parameters
    ----------
    values : array of shape (B, N, m): numbers, or labels coded one-hot (0/1 if two)
    squeeze : bool
        Whether a prediction drops its last axis, of length one.
    labels : array of shape (B, N), or None: class numbers
    classes : array of shape (K,), or None
    own_covariates : bool
        Whether each component has covariates of its own, and all share one network.
    """

    values: Array
    squeeze: bool = False
    labels: Any = None
    classes: Any = None
    own_covariates: bool = False


def numbers(Y: Array) -> Targets:
    """Outcomes of shape (B, N) or (B, N, m)."""
    if Y.ndim == 2:
        return Targets(Y[..., None], squeeze=True)
    return Targets(Y)


def labels(owner: str, Y: Any) -> Targets:
    """Labels of shape (B, N); every network must see every class.

    Examples
    --------
    >>> found = labels("NetworkClassifier", np.array([["b", "a", "c"]]))
    >>> found.classes.tolist(), found.labels.tolist(), found.values.shape
    (['a', 'b', 'c'], [[1, 0, 2]], (1, 3, 3))
    """
    classes, codes = np.unique(Y, return_inverse=True)
    codes = codes.reshape(Y.shape)
    if len(classes) < 2:
        raise InvalidParameter(
            f"{owner}.fit(y) must have at least two classes, got one class: "
            f"{classes.tolist()}."
        )
    seen = (codes[:, :, None] == np.arange(len(classes))).any(axis=1)
    if not seen.all():
        network, missing = np.argwhere(~seen)[0]
        raise UnseenClass(
            f"fit_many(Y=...) must show every network every class, got none of class "
            f"{classes[missing]!r} for network {network}. Fit that network alone, or "
            "drop the class."
        )
    one_hot = (codes[..., None] == np.arange(len(classes))).astype(float)
    values = one_hot[..., 1:] if len(classes) == 2 else one_hot
    return Targets(values, labels=codes, classes=classes)
