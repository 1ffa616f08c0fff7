"""A decision, its worst case and its audit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...checks import Array
from ...errors import InvalidParameter
from ..modelling.affine_rule import AffineRule


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
    own_oracles : names of the parameters whose worst cases are the word of the user's
        own oracle, which nothing else confirms
    """

    objective: float
    gap: float
    violations: tuple[float, ...]
    binding: int | None
    passed: bool
    own_oracles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decision:
    """The answer at one context.

    Attributes
    ----------
    status : "optimal", "infeasible", "unbounded", "audit_failed", or "stopped_early"
        where cutting planes ran out of rounds
    objective : worst case of the objective, nan if there is no decision
    audit : Audit, or None if there is no decision
    certificate : what is promised: the Certificate of the only set, of several a dict
        by name; of a calibrated policy its own; None if nothing is
    bound : objective that no robust decision beats; nan where unknown
    rounds : rounds of cutting planes, 0 if there were none
    scenarios : for each uncertain parameter, the outcomes cutting planes used, shape
        (n, size); a later solve can start from them
    """

    status: str
    objective: float
    audit: Audit | None = None
    certificate: Any = None
    _values: dict[int, Any] = field(default_factory=dict, repr=False)
    _worst: dict[int, Any] = field(default_factory=dict, repr=False)
    bound: float = float("nan")
    rounds: int = 0
    scenarios: dict[Any, Array] = field(default_factory=dict, repr=False)

    @property
    def gap(self) -> float:
        """How far the objective can be from the best there is, relative; or nan."""
        return abs(self.objective - self.bound) / (1 + abs(self.bound))

    def value(self, variable: Any) -> Any:
        """The value of one of the model's variables; the Reaction of a rule."""
        if isinstance(variable, AffineRule):
            return variable.reaction(self.value)
        return _look_up(self._values, variable, "variable")

    def worst_case(self, parameter: Any) -> Array:
        """The outcome worst for the objective, or else for the binding constraint."""
        found: Array = _look_up(self._worst, parameter, "uncertain parameter")
        return found


def _look_up(table: dict[Any, Any], key: Any, what: str) -> Any:
    """By number; by name, and if read from a file by name and shape."""
    by_name = isinstance(key, str)
    known = (key,) if by_name else (key.id, (key.name(), tuple(key.shape)))
    for wanted in known:
        if wanted in table:
            return table[wanted]
    raise InvalidParameter(
        f"The decision has no value for the {what} {key if by_name else key.name()!r}: "
        "it is not in the model, or there was no decision (look at .status)."
    )
