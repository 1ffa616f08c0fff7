"""One uncertain key: parameters that share a set, and what gives that set."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..checks import Array
from ..errors import InvalidParameter
from ..guarantees import Certificate
from ..loss_set.source import PredictsSets, SetSource, certificate_of
from ..losses import Loss
from ..sets import Box, UncertaintySet
from .decisions import Named, Promise
from .model.set_shape import SetShape, shape_of, tied

if TYPE_CHECKING:
    from .model.oracle import Oracle
    from .model.uncertain import Key

#: What can give a key its set: a LossSet or the like, a set value, a user's oracle.
Source: TypeAlias = "SetSource | UncertaintySet | Oracle"


@dataclass(frozen=True, eq=False)
class UncertainKey:
    """Uncertain parameters that share one set, and its source.

    Attributes
    ----------
    parts : the parameters, their entries one after another
    nonneg : which entries were declared not to be negative, shape (size,)
    source : what gives the sets
    parameters : CVXPY's parameters; none if the key was read from a file
    name : the key in words
    size : number of entries of an outcome
    predicted : the source, if its sets depend on the context; else None
    """

    parts: tuple[Named, ...]
    nonneg: npt.NDArray[np.bool_]
    source: Source
    parameters: Key = ()
    name: str = field(init=False)
    size: int = field(init=False)
    predicted: SetSource | None = field(init=False)

    def __post_init__(self) -> None:
        source = self.source
        fixed = isinstance(source, UncertaintySet) or not isinstance(
            source, PredictsSets
        )
        vars(self).update(
            name=", ".join(part.name for part in self.parts),
            size=sum(part.size for part in self.parts),
            predicted=None if fixed else source,
        )

    @property
    def losses(self) -> tuple[Loss, ...] | None:
        """The losses of a source whose sets depend on the context; else None.

        None of them, (), where the sets are oracles of the user's own.
        """
        source = self.predicted
        return None if source is None else tuple(getattr(source, "losses_", ()))

    @property
    def shape(self) -> SetShape:
        """What is known of the sets before it is known where they lie."""
        losses, source = self.losses, self.source
        if isinstance(source, UncertaintySet):
            return shape_of(self._signed(source))
        if losses is None or len(losses) != 1:
            return tied(self.size)
        return SetShape(losses[0].block_numbers(self.size))

    def _signed(self, region: UncertaintySet) -> UncertaintySet:
        """A set value without the outcomes that are declared impossible."""
        if not self.nonneg.any():
            return region
        floor = np.where(self.nonneg, 0.0, -np.inf)
        if not (region.bounds()[0] < floor).any():
            return region
        return region & Box(floor, np.full(self.size, np.inf))

    @property
    def certificate(self) -> Certificate | None:
        """What is promised of the sets alone."""
        source = self.predicted
        return None if source is None else certificate_of(source)

    def with_source(self, source: Source) -> UncertainKey:
        """The same key with other sets."""
        return replace(self, source=source)


def promise_of(keys: tuple[UncertainKey, ...]) -> Promise:
    """The certificate of the only set; of several sets a dict by name."""
    if len(keys) == 1:
        return keys[0].certificate
    return {key.name: key.certificate for key in keys}


@runtime_checkable
class NamesWorstCases(Protocol):
    """What an oracle of the user's own must have."""

    dim: int

    def worst_case(self, direction: Array) -> npt.ArrayLike: ...


def check_source(name: str, source: object) -> None:
    """Raise unless something can give the sets of a key."""
    oracle = isinstance(source, NamesWorstCases)
    if not (isinstance(source, UncertaintySet | PredictsSets) or oracle):
        raise InvalidParameter(
            f"The set for {name!r} must be a LossSet or a set value, or an oracle "
            f"with dim and worst_case, got {type(source).__name__}."
        )
