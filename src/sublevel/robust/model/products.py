"""Ordinary parameters that multiply the outcome.

CVXPY's rules for parameters forbid a product of two of them, so a constraint with one
is read at the present value of the ordinary parameter, and read again when the value
has changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy as cp
import numpy as np

from ...checks import Array
from ...conic.substitution import substituted
from ...errors import InvalidParameter
from .dense import as_dense
from .uncertain import Uncertain, Written, uncertain_in


def multiplying(part: Written) -> list[cp.Parameter]:
    """Ordinary parameters a constraint must know the values of, to be taken apart."""
    if not uncertain_in(part) or part.is_dcp(dpp=True):
        return []
    return [p for p in part.parameters() if not isinstance(p, Uncertain)]


def products_in(parts: Sequence[Written]) -> list[cp.Parameter]:
    """All of them in an objective and its constraints, each once."""
    by_id = {p.id: p for part in parts for p in multiplying(part)}
    return list(by_id.values())


def at_values(
    constraint: cp.Constraint, parameters: Sequence[cp.Parameter]
) -> cp.Constraint:
    """The constraint with the parameters' present values written in."""
    own = {p.id for p in constraint.parameters()}
    values = {p.id: present_value(p) for p in parameters if p.id in own}
    if not values or not multiplying(constraint):
        return constraint
    return constraint.copy([substituted(side, values) for side in constraint.args])


def present_value(parameter: cp.Parameter) -> Array:
    """A parameter's value; an error if it has none."""
    if parameter.value is None:
        raise InvalidParameter(
            f"The parameter {parameter.name()!r} must have a value before a decision "
            "can be made."
        )
    return np.asarray(as_dense(parameter.value), dtype=float)


def stamp(parameters: Sequence[cp.Parameter]) -> tuple[bytes, ...]:
    """What tells one set of values from another."""
    return tuple(present_value(p).tobytes() for p in parameters)
