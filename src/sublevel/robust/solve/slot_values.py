"""What the slots of a compiled program hold, context by context."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ...errors import InvalidParameter
from ...loss_set.batch import SetBatch
from ..model.set_shape import SIDES


def end_slot(number: int, side: str) -> str:
    """The name of the slot with the lower, or upper, ends of a key's sets.

    Examples
    --------
    >>> end_slot(0, "upper")
    '0.upper'
    """
    return f"{number}.{side}"


def slot_values(number: int, parts: Sequence[SetBatch]) -> dict[str, Array]:
    """Slot name -> array of shape (n, size), for the batches of a key."""
    values = {}
    for part, batch in enumerate(parts):
        with np.errstate(over="ignore"):
            # What is too large is not solved.
            slots = batch.loss.slots(batch.prediction, batch.effective_budgets)
        for name, value in slots.items():
            values[f"{number}.{part}.{name}"] = np.reshape(
                value, (len(batch.budgets), -1)
            )
    return values


def require_filled(number: int, slots: Iterable[str], values: Container[str]) -> None:
    """Refuse sets of a key that leave a slot open: they would be taken for points.

    Examples
    --------
    >>> require_filled(0, ["0.0.reach", "1.0.reach", "ordinary.0"], {"0.0.reach"})
    """
    for name in slots:
        if name not in values and name.startswith(f"{number}."):
            raise InvalidParameter(
                f"The predictions must be of the kind the policy was compiled for, got "
                f"none that says {name.rpartition('.')[2]!r}. A model must predict a "
                "spread at every context, or a covariance at every context."
            )


def end_values(
    number: int,
    parts: Sequence[SetBatch],
    nonneg: npt.NDArray[np.bool_],
    wanted: Container[str],
) -> dict[str, Array]:
    """Slot name -> ends of the sets, shape (n, dim), where a program asks for them.

    Parameters
    ----------
    number : of the key
    parts : its batch, or one a fold where sets are unions
    nonneg : which entries are declared not to be negative, shape (dim,)
    wanted : the slots that the program has
    """
    names = [end_slot(number, side) for side in SIDES]
    if not any(name in wanted for name in names):
        return {}
    lower, upper = zip(*(part.bounds() for part in parts), strict=True)
    floor = np.where(nonneg, 0.0, -np.inf)
    ends = np.maximum(np.min(lower, axis=0), floor), np.max(upper, axis=0)
    return dict(zip(names, ends, strict=True))
