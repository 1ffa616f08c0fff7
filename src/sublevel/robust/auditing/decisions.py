"""The decisions at many contexts, as arrays, as a table, or one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...checks import Array
from ...errors import InvalidParameter
from ..modelling.affine_rule import AffineRule
from ..modelling.reaction import Reaction
from .decision import Audit, Decision

if TYPE_CHECKING:
    import pandas as pd


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

    def means(self, wanted: Any) -> bool:
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
    own_oracles : names of the parameters whose worst cases are the word of the user's
        own oracle, which nothing else confirms
    """

    objective: Array
    gap: Array
    violations: Array
    binding: Any
    passed: Any
    own_oracles: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Decisions:
    """What was decided at n contexts; a failed context is a status, not an error.

    Attributes
    ----------
    status : strings of shape (n,): "optimal", or why there is no decision to use
        ("infeasible", "unbounded", "unbounded_set", "empty_set",
        "invalid_prediction", "outside_domain", "solver_failed", "audit_failed"; of
        cutting planes, "stopped_early"; "fallback" where one was declared)
    objective : shape (n,), worst case of the objective; nan where there is none
    audit : Audits
    certificate : what is promised: the Certificate of the only set, of several a dict
        by name; of a calibrated policy its own; None if nothing is
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
        status, objective = str(self.status[i]), float(self.objective[i])
        audit = None if np.isnan(objective) else self._audit(i)
        values, worst = {}, {}
        if audit is not None or status == "fallback":
            values = _table({n: found[i] for n, found in self.variables.items()})
        if audit is not None:
            worst = _table({n: found[i] for n, found in self.outcomes.items()})
        return Decision(status, objective, audit, self.certificate, values, worst)

    def _audit(self, i: int) -> Audit:
        binding = int(self.audit.binding[i])
        return Audit(
            float(self.audit.objective[i]),
            float(self.audit.gap[i]),
            tuple(self.audit.violations[i].tolist()),
            binding if binding >= 0 else None,
            bool(self.audit.passed[i]),
            self.audit.own_oracles,
        )

    def __iter__(self) -> Iterator[Decision]:
        return (self[i] for i in range(len(self)))

    def value(self, variable: Any) -> Any:
        """Values of a variable (or of the one so named), shape (n, *its shape).

        nan where there is no decision. Of an affine rule: a list with the settled
        rule of each context.
        """
        if isinstance(variable, AffineRule):
            return [self._reaction(variable, i) for i in range(len(self))]
        return _look_up(self.variables, variable, "variable")

    def _reaction(self, rule: AffineRule, i: int) -> Reaction:
        return rule.reaction(lambda variable: self.value(variable)[i])

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
        for prefix, found in (("", self.variables), ("worst ", self.outcomes)):
            for named, values in found.items():
                for head, column in _columns(named, values):
                    table[_unused(prefix + head, table)] = column
        return pd.DataFrame(table, index=self.index)

    def __repr__(self) -> str:
        names, counts = np.unique(self.status, return_counts=True)
        tally = ", ".join(f"{c} {s}" for s, c in zip(names, counts, strict=True))
        return f"Decisions({len(self)} contexts: {tally or 'none'})"


def _table(values: dict[Named, Array]) -> dict[Any, Array]:
    """By CVXPY's numbers and by name; by name and shape where that is all there is."""
    names = [named.name for named in values]
    found: dict[Any, Array] = {}
    for named, value in values.items():
        found[named.id if named.id >= 0 else (named.name, named.shape)] = value
        if names.count(named.name) == 1:
            found[named.name] = value
    return found


def _columns(named: Named, values: Array) -> Iterator[tuple[str, Array]]:
    """Head and values of each entry, column by column."""
    axes = (0, *range(values.ndim - 1, 0, -1))
    flat = values.transpose(axes).reshape(len(values), named.size)
    return zip(named.heads(), flat.T, strict=True)


def _unused(head: str, table: dict[str, Any]) -> str:
    """Variables of the same name are still different ones."""
    count, found = 1, head
    while found in table:
        count += 1
        found = f"{head} ({count})"
    return found


def _look_up(table: dict[Named, Array], wanted: Any, what: str) -> Array:
    found = [values for named, values in table.items() if named.means(wanted)]
    if len(found) == 1:
        return found[0]
    name = wanted if isinstance(wanted, str) else wanted.name()
    if found:
        raise InvalidParameter(
            f"The model has {len(found)} of {what} {name!r}: ask for it by the object, "
            "not by its name, or give each its own name."
        )
    known = ", ".join(named.name for named in table) or "none"
    raise InvalidParameter(
        f"The decisions have no {what} {name!r}. The model has: {known}."
    )
