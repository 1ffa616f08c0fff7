"""Something of the model with a name, and what it is asked for by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    import cvxpy as cp


@runtime_checkable
class ModelLeaf(Protocol):
    """A variable or a parameter of CVXPY's."""

    id: int

    def name(self) -> str: ...


@dataclass(frozen=True)
class Named:
    """Something of the model with a name: a variable or an uncertain parameter.

    Attributes
    ----------
    id : CVXPY's number of it; negative if it was read from a file, where only the
        name is known
    name : str
    shape : tuple of int
    """

    id: int
    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape, dtype=int))

    def means(self, wanted: str | cp.Variable | cp.Parameter) -> bool:
        """Whether a name, a variable or a parameter is this one."""
        if isinstance(wanted, str):
            return wanted == self.name
        if self.id < 0:
            return (wanted.name(), tuple(wanted.shape)) == (self.name, self.shape)
        return bool(wanted.id == self.id)

    def heads(self) -> list[str]:
        """A name for each entry, column by column."""
        if not self.shape:
            return [self.name]
        where = np.argwhere(np.ones(self.shape[::-1]))[:, ::-1]
        return [f"{self.name}[{','.join(map(str, at))}]" for at in where.tolist()]


def named(leaf: cp.Variable | cp.Parameter) -> Named:
    """The name and shape of a CVXPY variable or parameter."""
    return Named(leaf.id, leaf.name(), tuple(leaf.shape))
