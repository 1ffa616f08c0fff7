"""What is done where no robust decision exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import Array, as_numbers
from ..errors import InvalidParameter
from .decisions import DecisionArrays, ModelLeaf, Named
from .judge.materiality import RESOLUTION
from .judge.ruler import Ruler
from .judge.statuses import is_decided
from .judge.tape import Leaves


def as_fallback(
    variables: Sequence[Named], given: Mapping[Any, npt.ArrayLike] | None
) -> Array | None:
    """Values of the model's variables, one after another; or None.

    Parameters
    ----------
    given : dict from variables (or their names) to values, or None
    """
    if given is None:
        return None
    if not isinstance(given, dict):
        raise InvalidParameter(
            "fallback=... must be a dict from variables to values, got "
            f"{type(given).__name__}."
        )
    by_name = {
        k.name() if isinstance(k, ModelLeaf) else str(k): v for k, v in given.items()
    }
    names = {name.name for name in variables}
    if set(by_name) != names:
        raise InvalidParameter(
            f"fallback=... must give a value for each variable, {sorted(names)}, got "
            f"{sorted(by_name)}."
        )
    parts = [np.ravel(_value(v, by_name[v.name]), order="F") for v in variables]
    return np.concatenate(parts)


def _value(name: Named, given: npt.ArrayLike) -> Array:
    value = as_numbers("fallback", name.name, given)
    if value.shape not in ((), name.shape) or not np.isfinite(value).all():
        raise InvalidParameter(
            f"fallback={{{name.name!r}: ...}} must be finite and of shape "
            f"{name.shape}, got shape {value.shape}."
        )
    return np.broadcast_to(value, name.shape)


def exceptions(
    ruler: Ruler, variables: Sequence[Named], fallback: Array | None, ordinary: Array
) -> tuple[str, ...]:
    """The certain constraints that a fallback breaks, in words.

    A fallback that kept every certain constraint, and every uncertain one at any
    outcome, would itself be a robust decision. So it may well be something that the
    model does not allow: it is declared, and certificates name it.
    """
    if fallback is None:
        return ()
    broken, start = [], 0
    off = np.abs(ruler.tidied(fallback[None])[0] - fallback)
    for name in variables:
        part = slice(start, start + name.size)
        if (off[part] > RESOLUTION * np.abs(fallback[part])).any():
            broken.append(f"what the variable {name.name} declares")
        start += name.size
    leaves = Leaves(fallback[None], (), ordinary)
    for rows in ruler.certain:
        over = rows.at(leaves)[0]
        size = rows.gross(leaves, np.zeros((1, len(fallback))))
        if (over > RESOLUTION * size).any():
            broken.append(f"{rows.text} by {over.max():.3g}")
    return tuple(broken)


def fall_back(decisions: DecisionArrays, fallback: Array | None) -> DecisionArrays:
    """The same with the fallback, and status "fallback", where nothing was decided."""
    if fallback is None:
        return decisions
    lost = ~is_decided(decisions.status)
    values, slack = decisions.values.copy(), decisions.slack.copy()
    values[lost], slack[lost] = fallback, 0.0
    return replace(
        decisions,
        status=np.where(lost, "fallback", decisions.status),
        objective=np.where(lost, np.nan, decisions.objective),
        values=values,
        slack=slack,
    )
