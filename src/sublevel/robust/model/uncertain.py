"""The uncertain parameter: a CVXPY parameter whose value nature chooses."""

from __future__ import annotations

from typing import TypeAlias

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from ...checks import briefly, is_whole
from ...conic.cone_form import OutcomeParameter
from ...errors import InvalidParameter


class Uncertain(OutcomeParameter):
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
        if not all(_is_count(n) for n in sizes):
            raise InvalidParameter(
                "Uncertain(shape=...) must be (), a positive integer or a tuple of "
                f"them, got {shape!r}. An outcome has at least one entry."
            )
        if name is not None and not isinstance(name, str):
            raise InvalidParameter(
                f"Uncertain(name=...) must be a word, got {briefly(name)}."
            )
        if not isinstance(nonneg, bool | np.bool_):
            raise InvalidParameter(
                f"Uncertain(nonneg=...) must be True or False, got {briefly(nonneg)}."
            )
        super().__init__(
            tuple(sizes) if np.ndim(shape) else shape,
            name=name,
            nonneg=bool(nonneg),
        )

    def __repr__(self) -> str:
        sign = ", nonneg=True" if self.is_nonneg() else ""
        return f"Uncertain({self.name()!r}, shape {self.shape}{sign})"

    def _repr_html_(self) -> str:
        return f"<code>{self!r}</code>"


#: Several uncertain parameters that share one set: their entries, one after another.
Key = tuple[Uncertain, ...]


#: Anything of CVXPY's that knows its parameters.
Written: TypeAlias = "cp.Expression | cp.Constraint | cp.Minimize | cp.Maximize"


def key_name(key: Key) -> str:
    """A key in words.

    Examples
    --------
    >>> key_name((Uncertain(2, name="a"), Uncertain(1, name="b")))
    'a, b'
    """
    return ", ".join(parameter.name() for parameter in key)


def key_signs(key: Key) -> npt.NDArray[np.bool_]:
    """Which entries of a key were declared not to be negative, shape (size,)."""
    return np.concatenate([np.full(p.size, bool(p.is_nonneg())) for p in key])


def uncertain_in(expression: Written) -> list[Uncertain]:
    """The uncertain parameters an expression, constraint or objective mentions."""
    return [p for p in expression.parameters() if isinstance(p, Uncertain)]


def _is_count(n: object) -> bool:
    return is_whole(n, least=1)
