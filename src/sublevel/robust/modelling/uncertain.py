"""The uncertain parameter: a CVXPY parameter whose value nature chooses."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ...errors import InvalidParameter


class Uncertain(cp.Parameter):  # type: ignore[misc]
    """An outcome to model with: write plain CVXPY, then make it robust.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the outcome; a matrix is read column by column, as CVXPY does.
    name : str, optional
        Name in messages and tables.
    nonneg : bool, default False
        Whether outcomes are never negative, where a model needs to know the sign.

    Examples
    --------
    >>> demand = Uncertain(3, name="demand")
    >>> demand.shape, demand.name()
    ((3,), 'demand')
    """

    def __init__(
        self,
        shape: int | tuple[int, ...] = (),
        name: str | None = None,
        nonneg: bool = False,
    ) -> None:
        sizes = shape if isinstance(shape, tuple | list) else (shape,)
        if not all(isinstance(n, int | np.integer) and n > 0 for n in sizes):
            raise InvalidParameter(
                "Uncertain(shape=...) must be (), a positive integer or a tuple of "
                f"them, got {shape!r}. An outcome has at least one entry."
            )
        super().__init__(shape, name=name, nonneg=nonneg)


#: Several uncertain parameters that share one set: their entries, one after another.
Key = tuple[Uncertain, ...]


def uncertain_in(expression: Any) -> list[Uncertain]:
    """The uncertain parameters an expression, constraint or objective mentions."""
    return [p for p in expression.parameters() if isinstance(p, Uncertain)]
