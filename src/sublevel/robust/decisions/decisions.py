"""Decisions: what was decided at many contexts, its worst cases and audits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from ...checks import Array, briefly, is_number
from ...errors import InvalidParameter
from ...tables import html_table
from ..judge.statuses import is_decided
from ..model.reaction import Reaction
from .arrays import DecisionArrays
from .audit import Audit
from .audits import Audits
from .background import Background, unexplained
from .decision import Decision
from .layout import Layout
from .named import Named
from .promise import Promise, in_short
from .reacting import Rule
from .values import columns_of, look_up, plain, split, unused

if TYPE_CHECKING:
    import cvxpy as cp
    import pandas as pd

    from ..explaining.decision_explanation import DecisionExplanation


@dataclass(frozen=True, eq=False, repr=False)
class Decisions:
    """What was decided at n contexts; a failed context is a status, not an error.

    Attributes
    ----------
    arrays : the decisions as arrays
    layout : what their columns are
    certificate : what is promised: the Certificate of the only set, of several a dict
        by name; of a calibrated policy its own; None if nothing is
    index : labels of the contexts, or None
    own_oracles : names of the parameters whose worst cases are a user's own word
    scenarios : outcomes that cutting planes used, context by context
    background : what they were taken over, for `explain`; None where it is not at hand
    """

    arrays: DecisionArrays
    layout: Layout
    certificate: Promise = None
    index: Any = None
    own_oracles: tuple[str, ...] = ()
    scenarios: tuple[Mapping[Any, Array], ...] = ()
    background: Background | None = field(default=None, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        # The policy stays where it is: decisions go to other processes as arrays.
        return vars(self) | {"background": None}

    def explain(
        self, context: int = 0, again: bool | None = None
    ) -> DecisionExplanation:
        """Why the decision at one context is as it is; as `Decision.explain`."""
        if self.background is None:
            raise unexplained()
        if not is_number(context) or not 0 <= context < len(self):
            raise InvalidParameter(
                f"Decisions.explain(context) must be from 0 to {len(self) - 1}, got "
                f"{briefly(context)}."
            )
        return self.background.explain(self, int(context), again)

    def __len__(self) -> int:
        return len(self.arrays)

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """Strings of shape (n,): "optimal", or why there is no decision to use.

        "infeasible", "unbounded", "unbounded_set", "empty_set", "invalid_prediction",
        "outside_domain", "solver_failed", "audit_failed"; where limits were met,
        "stopped_early" with a robust decision, "out_of_rounds" or "out_of_time"
        without one;
        "fallback" where one was declared.
        """
        return self.arrays.status

    @property
    def decided(self) -> npt.NDArray[np.bool_]:
        """Whether each context has a decision to act on, shape (n,)."""
        return is_decided(self.status)

    @property
    def objective(self) -> Array:
        """Shape (n,), worst case of the objective; nan where there is none."""
        return self.arrays.objective

    @property
    def bound(self) -> Array:
        """Shape (n,), what no robust decision beats; nan where that is not known."""
        return self.arrays.bound

    @property
    def audit(self) -> Audits:
        """What the judge says of every decision."""
        a = self.arrays
        passed = np.isin(a.status, ("optimal", "stopped_early"))
        return Audits(
            a.objective,
            a.gap,
            a.violations,
            a.binding,
            passed,
            self.own_oracles,
            a.slack,
        )

    @property
    def variables(self) -> dict[Named, Array]:
        """Values of every variable, shape (n, *its shape)."""
        return split(self.arrays.values, self.layout.variables)

    @property
    def outcomes(self) -> dict[Named, Array]:
        """Worst outcomes of every uncertain parameter, shape (n, *its shape)."""
        parts: dict[Named, Array] = {}
        for key, values in zip(self.layout.keys, self.arrays.outcomes, strict=False):
            parts |= split(values, key)
        return parts

    def __getitem__(self, i: int) -> Decision:
        if not is_number(i) or i != int(i):
            raise InvalidParameter(
                f"Decisions[context] must be a whole number, got {briefly(i)}. Several "
                "are rows of to_pandas(), or what decide() says of fewer contexts."
            )
        if not -len(self) <= i < len(self):
            raise IndexError(f"context {i} of {len(self)} decisions")
        a = self.arrays
        status, objective = str(a.status[i]), float(a.objective[i])
        audit = None if np.isnan(objective) else self._audit(i)
        some = audit is not None or status == "fallback"
        return Decision(
            status,
            objective,
            audit,
            self.certificate,
            float(a.bound[i]),
            int(a.rounds[i]),
            self.scenarios[i] if self.scenarios else {},
            {n: v[i] for n, v in self.variables.items()} if some else {},
            {n: v[i] for n, v in self.outcomes.items()} if audit is not None else {},
            (self, int(i) % len(self)),
        )

    def _audit(self, i: int) -> Audit:
        audit = self.audit
        binding = int(audit.binding[i])
        return Audit(
            float(audit.objective[i]),
            float(audit.gap[i]),
            tuple(audit.violations[i].tolist()),
            binding if binding >= 0 else None,
            bool(audit.passed[i]),
            self.own_oracles,
            tuple(audit.slack[i].tolist()),
        )

    def __iter__(self) -> Iterator[Decision]:
        return (self[i] for i in range(len(self)))

    @overload
    def value(self, variable: str | cp.Variable) -> Array: ...
    @overload
    def value(self, variable: Rule) -> list[Reaction]: ...
    def value(self, variable: str | cp.Variable | Rule) -> Array | list[Reaction]:
        """Values of a variable (or of the one so named), shape (n, *its shape).

        nan where there is no decision. Of an affine rule: a list with the settled
        rule of each context.
        """
        if isinstance(variable, Rule):
            rows = range(len(self))
            return [variable.reaction(partial(self._value_at, i)) for i in rows]
        return look_up(self.variables, variable, "variable", "decisions")

    def _value_at(self, context: int, variable: cp.Variable) -> Array:
        every: Array = self.value(variable)
        return np.asarray(every[context])

    def worst_case(self, parameter: str | cp.Parameter) -> Array:
        """The outcome worst for the objective, or for the tightest constraint."""
        return look_up(self.outcomes, parameter, "uncertain parameter", "decisions")

    def to_pandas(self) -> pd.DataFrame:
        """One row a context: status, objective, gap, variables, worst outcomes."""
        import pandas as pd

        return pd.DataFrame(self.columns(), index=self.index)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns of `to_pandas` by name: a table for any other library.

        Of polars, for example: `pl.DataFrame(decisions.columns())`.
        """
        table: dict[str, npt.NDArray[Any]] = {
            "status": self.status,
            "objective": self.objective,
            "gap": self.arrays.gap,
        }
        for prefix, parts in (("", self.variables), ("worst ", self.outcomes)):
            for name, values in parts.items():
                for head, column in columns_of(name, values):
                    table[unused(prefix + head, table)] = column
        return table

    def records(self) -> list[dict[str, Any]]:
        """One dict a context, as `Decision.to_dict` has it; "context" is its label."""
        labels = range(len(self)) if self.index is None else self.index
        return [
            {"context": plain(label)} | decision.to_dict()
            for label, decision in zip(labels, self, strict=True)
        ]

    def to_json(self) -> str:
        """The records and what is promised of them, as strict JSON.

        Numbers that are missing or infinite are null. Only decisions to act on have
        variables: what failed its audit has none.
        """
        promise = None if self.certificate is None else in_short(self.certificate)
        return json.dumps(
            {"promise": promise, "decisions": self.records()}, allow_nan=False
        )

    def __repr__(self) -> str:
        return f"Decisions({len(self)} contexts: {self._tally()})"

    def _repr_html_(self) -> str:
        worst = np.max(self.arrays.violations, axis=1, initial=0.0)
        rows = [
            ("contexts", f"{len(self)}"),
            ("decided", f"{self.decided.mean():.1%}" if len(self) else "none"),
            ("statuses", self._tally()),
            ("promise", in_short(self.certificate)),
        ]
        if self.layout.constraints and self.decided.any():
            rows.append(("largest slack", f"{np.nanmax(worst):.3g}"))
        return html_table("Decisions", rows)

    def _tally(self) -> str:
        names, counts = np.unique(self.status, return_counts=True)
        return (
            ", ".join(f"{c} {s}" for s, c in zip(names, counts, strict=True)) or "none"
        )
