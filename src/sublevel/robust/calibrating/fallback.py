"""What is done where no robust decision exists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np

from ...errors import InvalidParameter
from ..auditing.decisions import Decisions, Named
from ..modelling.uncertain import uncertain_in
from .realised import is_decided

#: Rounding that a fallback is forgiven.
ALLOWED = 1e-6


def as_fallback(variables: list[Named], given: Any) -> dict[str, Any] | None:
    """A value for each of the model's variables, by name; or None.

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
    by_name = {k if isinstance(k, str) else k.name(): v for k, v in given.items()}
    names = {named.name for named in variables}
    if set(by_name) != names:
        raise InvalidParameter(
            f"fallback=... must give a value for each variable, {sorted(names)}, got "
            f"{sorted(by_name)}."
        )
    return {named.name: _value(named, by_name[named.name]) for named in variables}


def _value(named: Named, given: Any) -> Any:
    value = np.asarray(given, dtype=float)
    if value.shape not in ((), named.shape) or not np.isfinite(value).all():
        raise InvalidParameter(
            f"fallback={{{named.name!r}: ...}} must be finite and of shape "
            f"{named.shape}, got shape {value.shape}."
        )
    return np.broadcast_to(value, named.shape)


def exceptions(problem: Any, fallback: dict[str, Any] | None) -> tuple[str, ...]:
    """The certain constraints that a fallback breaks, in words.

    A fallback that kept every certain constraint, and every uncertain one at any
    outcome, would itself be a robust decision. So it may well be something that the
    model does not allow: it is declared, and certificates name it.
    """
    if fallback is None:
        return ()
    variables = cp.Problem(problem.objective, problem.constraints).variables()
    before = [(variable, variable.value) for variable in variables]
    try:
        for variable in variables:
            variable.save_value(np.array(fallback[variable.name()]))
        return tuple(_broken(problem, variables))
    finally:
        for variable, value in before:
            variable.save_value(value)


def _broken(problem: Any, variables: list[Any]) -> Iterator[str]:
    for variable in variables:
        allowed = np.asarray(variable.project(variable.value), dtype=float)
        if not np.allclose(allowed, variable.value, rtol=ALLOWED, atol=ALLOWED):
            yield f"what the variable {variable.name()} declares"
    for constraint in problem.constraints:
        if uncertain_in(constraint):
            continue
        sizes = [np.abs(side.value).max(initial=0.0) for side in constraint.args]
        over = float(np.max(constraint.violation()))
        if over > ALLOWED * (1 + max(sizes, default=0.0)):
            yield f"{constraint} by {over:.3g}"


def fall_back(decisions: Decisions, fallback: dict[str, Any] | None) -> Decisions:
    """The same with the fallback, and status "fallback", where nothing was decided."""
    if fallback is None:
        return decisions
    lost = ~is_decided(decisions)
    variables = {}
    for named, values in decisions.variables.items():
        values = values.copy()
        values[lost] = fallback[named.name]
        variables[named] = values
    status = np.where(lost, "fallback", decisions.status)
    objective = np.where(lost, np.nan, decisions.objective)
    return replace(decisions, status=status, objective=objective, variables=variables)
