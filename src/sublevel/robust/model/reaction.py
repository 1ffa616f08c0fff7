"""A settled affine rule: numbers only, nothing of the model it came from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...checks import Array, freeze
from ...errors import InvalidParameter


@dataclass(frozen=True, eq=False)
class Reaction:
    """A settled rule: outcome in, decision out.

    Attributes
    ----------
    intercept : array of the decision's shape
    slopes : array of shape (*decision's shape, m), for an outcome of m entries
    shapes : shape of each uncertain parameter, in the order of the m entries

    Examples
    --------
    >>> react = Reaction(np.array([1.0, 0.0]), np.array([[2.0], [3.0]]), ((1,),))
    >>> react([10.0]), react([[10.0], [0.0]])
    (array([21., 30.]), array([[21., 30.], [ 1.,  0.]]))
    """

    intercept: Array
    slopes: Array
    shapes: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "intercept", freeze(self.intercept))
        object.__setattr__(self, "slopes", freeze(self.slopes))

    def __call__(self, outcome: npt.ArrayLike) -> Array:
        """The decision at an outcome, or at many.

        Parameters
        ----------
        outcome : array of shape (m,) or (n, m), or of the uncertain parameter's shape
            Entries as in the set: a matrix column by column, several parameters one
            after another.

        Returns
        -------
        array of the decision's shape, or of shape (n, *decision's shape)
        """
        given, m = np.asarray(outcome, dtype=float), self.slopes.shape[-1]
        if (given.shape,) == self.shapes:
            given = given.ravel(order="F")
        if given.ndim not in (1, 2) or given.shape[-1] != m:
            raise InvalidParameter(
                f"A rule takes outcomes of shape ({m},) or (n, {m}), got shape "
                f"{given.shape}. Several uncertain parameters go in one row: "
                "np.concatenate([a.ravel(order='F'), b.ravel(order='F')])."
            )
        moved = np.tensordot(given, self.slopes, axes=(-1, -1))
        return np.asarray(self.intercept + moved)
