"""A decision, its worst case and its audit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..checks import Array
from ..errors import InvalidParameter


@dataclass(frozen=True)
class Audit:
    """What the worst case is, recomputed from the decision and the sets alone.

    Attributes
    ----------
    objective : worst value of the objective over the sets
    gap : how far that is from the value the solver promised, relative
    violations : for each uncertain constraint, its worst violation over the sets
    binding : index of the uncertain constraint with the least slack, or None
    passed : whether gap and violations are within tolerance
    """

    objective: float
    gap: float
    violations: tuple[float, ...]
    binding: int | None
    passed: bool


@dataclass(frozen=True)
class Decision:
    """The answer at one context.

    Attributes
    ----------
    status : "optimal", "infeasible", "unbounded" or "audit_failed"
    objective : worst case of the objective, nan if there is no decision
    audit : Audit, or None if there is no decision
    certificate : what the sets promise, for each uncertain parameter
    """

    status: str
    objective: float
    audit: Audit | None = None
    certificate: Any = None
    _values: dict[int, Any] = field(default_factory=dict, repr=False)
    _worst: dict[int, Any] = field(default_factory=dict, repr=False)

    def value(self, variable: Any) -> Any:
        """The value of one of the model's variables."""
        return _look_up(self._values, variable, "variable")

    def worst_case(self, parameter: Any) -> Array:
        """The outcome worst for the objective, or else for the binding constraint."""
        found: Array = _look_up(self._worst, parameter, "uncertain parameter")
        return found


def _look_up(table: dict[int, Any], key: Any, what: str) -> Any:
    if key.id not in table:
        raise InvalidParameter(
            f"The decision has no value for the {what} {key.name()!r}: it is not in "
            "the model, or there was no decision (look at .status)."
        )
    return table[key.id]
