"""The decisions at many contexts, as arrays, as a table, or one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import Array
from ..errors import InvalidParameter
from .decision import Audit, Decision

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Named:
    """Something of the model with a name: a variable or an uncertain parameter."""

    id: int
    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape, dtype=int))

    def heads(self) -> list[str]:
        """A name for each entry, column by column."""
        if not self.shape:
            return [self.name]
        where = np.argwhere(np.ones(self.shape[::-1]))[:, ::-1]
        return [f"{self.name}[{','.join(map(str, at))}]" for at in where.tolist()]


@dataclass(frozen=True, eq=False)
class Audits:
    """The audits of n decisions, as arrays.

    Attributes
    ----------
    objective : shape (n,), worst value of the objective over the sets
    gap : shape (n,), how far that is from what the solver promised, relative
    violations : shape (n, number of uncertain constraints)
    binding : shape (n,), the constraint with the least slack, -1 if none is uncertain
    passed : shape (n,), whether gap and violations are within tolerance
    """

    objective: Array
    gap: Array
    violations: Array
    binding: Any
    passed: Any


@dataclass(frozen=True, eq=False, repr=False)
class Decisions:
    """What was decided at n contexts; a failed context is a status, not an error.

    Attributes
    ----------
    status : strings of shape (n,): "optimal", or why there is no decision to use
        ("infeasible", "unbounded", "unbounded_set", "empty_set", "solver_failed",
        "audit_failed")
    objective : shape (n,), worst case of the objective; nan where there is none
    audit : Audits
    certificate : what the sets promise, for each uncertain parameter
    index : labels of the contexts, or None
    """

    status: Any
    objective: Array
    audit: Audits
    certificate: Any
    index: Any
    variables: dict[Named, Array]
    outcomes: dict[Named, Array]

    def __len__(self) -> int:
        return len(self.status)

    def __getitem__(self, i: int) -> Decision:
        if not -len(self) <= i < len(self):
            raise IndexError(f"context {i} of {len(self)} decisions")
        if np.isnan(self.objective[i]):
            return Decision(str(self.status[i]), float("nan"), None, self.certificate)
        binding = int(self.audit.binding[i])
        audit = Audit(
            float(self.audit.objective[i]),
            float(self.audit.gap[i]),
            tuple(self.audit.violations[i].tolist()),
            binding if binding >= 0 else None,
            bool(self.audit.passed[i]),
        )
        values = {named.id: found[i] for named, found in self.variables.items()}
        worst = {named.id: found[i] for named, found in self.outcomes.items()}
        status, objective = str(self.status[i]), float(self.objective[i])
        return Decision(status, objective, audit, self.certificate, values, worst)

    def __iter__(self) -> Iterator[Decision]:
        return (self[i] for i in range(len(self)))

    def value(self, variable: Any) -> Any:
        """Values of a variable (or of the one so named), shape (n, *its shape).

        Of an affine rule: a list with the settled rule of each context.
        """
        if not isinstance(variable, str) and not hasattr(variable, "id"):
            return [decision.value(variable) for decision in self]
        return _look_up(self.variables, variable, "variable")

    def worst_case(self, parameter: Any) -> Array:
        """The outcome worst for the objective, or for the tightest constraint."""
        return _look_up(self.outcomes, parameter, "uncertain parameter")

    def to_pandas(self) -> pd.DataFrame:
        """One row a context: status, objective, gap, variables, worst outcomes."""
        import pandas as pd

        table: dict[str, Any] = {
            "status": self.status,
            "objective": self.objective,
            "gap": self.audit.gap,
        }
        for named, values in self.variables.items():
            table |= _columns(named, values, "")
        for named, values in self.outcomes.items():
            table |= _columns(named, values, "worst ")
        return pd.DataFrame(table, index=self.index)

    def __repr__(self) -> str:
        names, counts = np.unique(self.status, return_counts=True)
        tally = ", ".join(f"{c} {s}" for s, c in zip(names, counts, strict=True))
        return f"Decisions({len(self)} contexts: {tally or 'none'})"


def _columns(named: Named, values: Array, prefix: str) -> dict[str, Array]:
    flat = np.stack([np.ravel(row, order="F") for row in values]) if len(values) else 0
    return {
        prefix + head: flat[:, k] if len(values) else np.empty(0)  # type: ignore[index]
        for k, head in enumerate(named.heads())
    }


def _look_up(table: dict[Named, Array], wanted: Any, what: str) -> Array:
    by_name = isinstance(wanted, str)
    for named, found in table.items():
        if (named.name if by_name else named.id) == (wanted if by_name else wanted.id):
            return found
    name = wanted if by_name else wanted.name()
    known = ", ".join(named.name for named in table) or "none"
    raise InvalidParameter(
        f"The decisions have no {what} {name!r}. The model has: {known}."
    )
