"""What a model says at a context: a location (and spread), or class probabilities.

One value holds one context (arrays of shape (m,)) or a batch of n (shape (n, m));
indexing a batch gives the value of one context or of a smaller batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..checks import Array, as_numbers, briefly
from ..deferred import is_expression
from ..errors import InvalidParameter

#: Which rows of a batch: one, or some of them.
Rows: TypeAlias = int | slice | npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Prediction:
    """A location and, where the model knows it, a spread.

    Parameters
    ----------
    location : array of shape (m,) or (n, m)
        Point prediction, in the units of the outcome.
    scale : array of the same shape, or None
        Predicted standard deviation, in the units of the outcome; of an interval
        (`Prediction.between`) its half-width. With a factor, by default its row norms.
    factor : array of shape (m, k) or (n, m, k) with k >= m, or None
        What the predicted covariance is made of, factor @ factor.T, in the units of
        the outcome: any square root of it, or loadings beside a diagonal, k = m + rank.
        It is kept as the lower triangular one of shape (m, m), diagonal positive.

    Attributes
    ----------
    width : int
        Number of components of the outcome vector.

    Examples
    --------
    >>> batch = Prediction(np.zeros((3, 2)))
    >>> len(batch), batch.width, batch[0].location
    (3, 2, array([0., 0.]))
    >>> turned = Prediction(np.zeros(2), factor=[[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]])
    >>> (turned.factor @ turned.factor.T).round(6), turned.scale.round(3)
    (array([[5., 4.],
           [4., 5.]]), array([2.236, 2.236]))
    """

    location: Any
    scale: Any = None
    factor: Any = field(default=None, kw_only=True)
    width: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("location", "scale"):
            value = vars(self)[name]
            if type(value) is np.ndarray and value.dtype == float and value.ndim == 2:
                # What is most often given is not looked into.
                continue
            if name == "location" or value is not None:
                vars(self)[name] = _table("Prediction", name, value)
        if self.factor is not None:
            self._read_factor()
        if self.scale is not None and self.scale.shape != self.location.shape:
            raise InvalidParameter(
                f"Prediction(scale=...) must be of shape {self.location.shape}, like "
                f"the location, got shape {self.scale.shape}."
            )
        # A number of CVXPY's has no components.
        vars(self)["width"] = int(self.location.shape[-1] if self.location.ndim else 0)

    @classmethod
    def between(cls, lower: npt.ArrayLike, upper: npt.ArrayLike) -> Prediction:
        """Intervals by their ends, as `losses.Interval` takes them.

        The location is the middle, the scale the half-width. Ends that cross, as those
        of two quantile models may, are put in order.

        Parameters
        ----------
        lower, upper : arrays of shape (m,) or (n, m), in the units of the outcome

        Examples
        --------
        >>> ends = Prediction.between([0.0, 5.0], [4.0, 3.0])
        >>> ends.location, ends.scale
        (array([2., 4.]), array([2., 1.]))
        """
        low = _table(cls.__name__, "lower", lower)
        high = _table(cls.__name__, "upper", upper)
        if np.shape(low) != np.shape(high):
            raise InvalidParameter(
                "Prediction.between(lower, upper) must be given ends of one shape, got "
                f"{np.shape(low)} and {np.shape(high)}."
            )
        # Half of each before they meet: their sum may be too large for a float.
        return cls(low / 2 + high / 2, np.abs(high / 2 - low / 2))

    def __len__(self) -> int:
        return len(self.location)

    def __getitem__(self, rows: Rows) -> Prediction:
        scale = None if self.scale is None else self.scale[rows]
        factor = None if self.factor is None else self.factor[rows]
        return Prediction(self.location[rows], scale, factor=factor)

    def on(self, entries: npt.NDArray[Any]) -> Prediction:
        """What is predicted of some components alone: numbers or flags of them.

        Examples
        --------
        >>> both = Prediction(np.zeros(2), factor=[[1.0, 0.0], [3.0, 4.0]])
        >>> both.on(np.array([1])).factor
        array([[5.]])
        """
        scale = None if self.scale is None else self.scale[..., entries]
        factor = None if self.factor is None else self.factor[..., entries, :]
        return Prediction(self.location[..., entries], scale, factor=factor)

    def _read_factor(self) -> None:
        """The factor as the lower triangular one, and the scale that it says."""
        if is_expression(self.factor):
            return
        factor = as_numbers("Prediction", "factor", self.factor)
        shape = self.location.shape
        if factor.shape[:-1] != shape or factor.shape[-1] < shape[-1]:
            raise InvalidParameter(
                f"Prediction(factor=...) must be of shape {(*shape, 'k')} with k at "
                f"least {shape[-1]}, so that factor @ factor.T is the covariance, got "
                f"shape {factor.shape}. A diagonal is scale=."
            )
        vars(self)["factor"] = _lower(factor)
        if self.scale is None:
            vars(self)["scale"] = np.linalg.norm(self.factor, axis=-1)

    @property
    def point(self) -> Array:
        """The outcome predicted, as a vector: shape (m,) or (n, m)."""
        return np.asarray(self.location)


@dataclass(frozen=True, eq=False)
class LabelPrediction:
    """Class probabilities, or margins, of one or more categorical outcomes.

    Parameters
    ----------
    probabilities : tuple of arrays of shape (K,) or (n, K), one a block; or None
    margins : tuple of arrays of the same shapes, or None
        Decision values of a classifier without probabilities (larger is likelier).

    Examples
    --------
    >>> one = LabelPrediction((np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])))
    >>> one.width, one.point
    (5, array([0., 1., 1., 0., 0.]))
    """

    probabilities: tuple[Array, ...] | None = None
    margins: tuple[Array, ...] | None = None

    def __post_init__(self) -> None:
        both = ("probabilities", self.probabilities), ("margins", self.margins)
        for name, given in both:
            if given is not None:
                object.__setattr__(self, name, _tables(name, given))

    @property
    def values(self) -> tuple[Array, ...]:
        """Probabilities where there are any, margins otherwise."""
        return self.probabilities or self.margins or ()

    def __len__(self) -> int:
        return len(self.values[0])

    def __getitem__(self, rows: Rows) -> LabelPrediction:
        return LabelPrediction(
            _rows(self.probabilities, rows), _rows(self.margins, rows)
        )

    @property
    def width(self) -> int:
        """Number of components of the one-hot outcome vector."""
        return sum(block.shape[-1] for block in self.values)

    @property
    def point(self) -> Array:
        """One-hot vector of the likeliest classes: shape (width,) or (n, width)."""
        tops = [
            np.eye(block.shape[-1])[np.argmax(block, axis=-1)] for block in self.values
        ]
        return np.concatenate(tops, axis=-1)


@dataclass(frozen=True, eq=False)
class JointPrediction:
    """Several predictions side by side, one a block of the outcome vector.

    Examples
    --------
    >>> joint = JointPrediction((Prediction(np.zeros(2)), Prediction(np.ones(1))))
    >>> joint.width, joint.point
    (3, array([0., 0., 1.]))
    """

    parts: tuple[AnyPrediction, ...]

    def __post_init__(self) -> None:
        parts = self.parts if isinstance(self.parts, tuple | list) else (self.parts,)
        for part in parts:
            if not isinstance(part, Prediction | LabelPrediction | JointPrediction):
                raise InvalidParameter(
                    "JointPrediction(parts=...) must be a tuple of predictions, got "
                    f"{briefly(part)} among them."
                )
        object.__setattr__(self, "parts", tuple(parts))

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, rows: Rows) -> JointPrediction:
        return JointPrediction(tuple(part[rows] for part in self.parts))

    @property
    def width(self) -> int:
        """Number of components of the outcome vector."""
        return sum(part.width for part in self.parts)

    @property
    def point(self) -> Array:
        """The outcome predicted, as a vector: shape (width,) or (n, width)."""
        return np.concatenate([part.point for part in self.parts], axis=-1)


AnyPrediction = Prediction | LabelPrediction | JointPrediction


def _lower(factor: Array) -> Array:
    """The lower triangular factor of factor @ factor.T with a positive diagonal.

    By QR, which never squares: a covariance of large and small parts keeps both.
    """
    width = factor.shape[-2]
    place = np.arange(width)
    if factor.shape[-1] > width or np.triu(factor, 1).any():
        finite = np.isfinite(factor).all(axis=(-2, -1), keepdims=True)
        upper: Any
        upper = np.linalg.qr(np.where(finite, factor, 0.0).swapaxes(-1, -2), "r")
        factor = np.where(finite, upper.swapaxes(-1, -2), np.nan)
    signs = np.where(factor[..., place, place] < 0, -1.0, 1.0)
    if (signs < 0).any():
        factor = factor * signs[..., None, :]
    size = np.abs(factor).max(axis=-1, initial=0.0)
    diagonal = factor[..., place, place]
    # What rounding leaves of a component that the others explain is not a spread.
    if not (diagonal > 1e-12 * size).all() or not np.isfinite(factor).all():
        raise InvalidParameter(
            "Prediction(factor=...) must be finite and of full rank, got one whose "
            "covariance has no inverse. Add a small multiple of the identity to it."
        )
    return np.asarray(factor)


def _table(owner: str, name: str, value: object) -> Any:
    """Numbers of one context, shape (m,), or of many, (n, m); else what CVXPY holds."""
    if is_expression(value):
        return value
    array = as_numbers(owner, name, value)
    if array.ndim not in (1, 2):
        raise InvalidParameter(
            f"{owner}({name}=...) must be of shape (m,) for one context, or (n, m), "
            f"got shape {array.shape}."
        )
    return array


def _tables(name: str, blocks: object) -> tuple[Any, ...]:
    """One table a block."""
    if not isinstance(blocks, tuple | list) or any(np.isscalar(b) for b in blocks):
        raise InvalidParameter(
            f"LabelPrediction({name}=...) must be a tuple of arrays, one a block of "
            f"classes, got {briefly(blocks)}. Of a single block, say (array,)."
        )
    return tuple(_table("LabelPrediction", name, block) for block in blocks)


def _rows(blocks: tuple[Array, ...] | None, rows: Rows) -> tuple[Array, ...] | None:
    return None if blocks is None else tuple(block[rows] for block in blocks)
