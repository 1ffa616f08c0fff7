"""Decisions: what was decided at one context or many, its worst case and its audit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, overload, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..checks import Array, briefly, is_number
from ..conic.program import Indices
from ..errors import InvalidParameter
from ..guarantees import Certificate
from ..tables import html_table
from .judge.ruler import Judgement, is_decided
from .judge.tape import shaped
from .model.reaction import Reaction

if TYPE_CHECKING:
    import cvxpy as cp
    import pandas as pd

    from .explaining.decision_explanation import DecisionExplanation

#: What is promised: the Certificate of the only set, of several one by name; of a
#: calibrated policy its own; None if nothing is.
Promise = Certificate | dict[str, Certificate | None] | None


@runtime_checkable
class Rule(Protocol):
    """An affine rule, which settles once its variables have values."""

    def reaction(self, value: Any) -> Reaction: ...


class Background(Protocol):
    """What decisions were taken over: it can say why they are as they are."""

    def explain(
        self, decisions: Decisions, context: int, again: bool | None
    ) -> DecisionExplanation: ...


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

    def means(self, wanted: str | cp.Variable | cp.Parameter) -> bool:
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


def named(leaf: cp.Variable | cp.Parameter) -> Named:
    """The name and shape of a CVXPY variable or parameter."""
    return Named(leaf.id, leaf.name(), tuple(leaf.shape))


@dataclass(frozen=True)
class Layout:
    """What the columns of decisions are.

    Attributes
    ----------
    variables : the model's variables, their entries one after another
    keys : uncertain parameters, those that share a set together
    constraints : number of uncertain constraints
    rows : number of their rows
    """

    variables: tuple[Named, ...]
    keys: tuple[tuple[Named, ...], ...]
    constraints: int
    rows: int

    @cached_property
    def sizes(self) -> tuple[int, tuple[int, ...]]:
        """Entries of the variables, and of each key."""
        return sum(v.size for v in self.variables), tuple(
            sum(p.size for p in key) for key in self.keys
        )

    def room(self, status: npt.ArrayLike) -> DecisionArrays:
        """Room for the decisions of contexts with these statuses."""
        status = np.array(status, dtype="<U20")
        n, (width, dims) = len(status), self.sizes
        outcomes = []
        for dim in dims:
            outcomes.append(np.full((n, dim), np.nan))
        return DecisionArrays(
            status,
            np.full((n, width), np.nan),
            np.full(n, np.nan),
            np.full(n, np.nan),
            np.full(n, np.nan),
            np.full((n, self.rows), np.nan),
            np.full((n, self.constraints), np.nan),
            np.full(n, -1),
            tuple(outcomes),
            np.zeros(n, dtype=int),
        )


@dataclass(frozen=True, eq=False)
class DecisionArrays:
    """The decisions of n contexts as arrays, nan where there is none.

    Attributes
    ----------
    status : strings of shape (n,)
    values : shape (n, entries of the variables)
    objective : shape (n,), its worst case
    bound : shape (n,), what no robust decision beats; nan where that is not known
    gap : shape (n,), between the objective and what the solver promised, relative
    slack : shape (n, rows), by how much each uncertain row misses at its worst
    violations : shape (n, constraints), the largest slack of each
    binding : shape (n,), the constraint with the least room, -1 if none is uncertain
    outcomes : for each key, shape (n, dim)
    rounds : shape (n,), rounds of cutting planes
    """

    status: npt.NDArray[np.str_]
    values: Array
    objective: Array
    bound: Array
    gap: Array
    slack: Array
    violations: Array
    binding: Indices
    outcomes: tuple[Array, ...]
    rounds: Indices

    def __len__(self) -> int:
        return len(self.status)

    def put(self, rows: Indices, other: DecisionArrays) -> None:
        """Write the decisions of some contexts."""
        for mine, theirs in zip(self.arrays(), other.arrays(), strict=True):
            mine[rows] = theirs

    def at(self, rows: Indices) -> DecisionArrays:
        """The decisions of some contexts."""
        return DecisionArrays(
            self.status[rows],
            self.values[rows],
            self.objective[rows],
            self.bound[rows],
            self.gap[rows],
            self.slack[rows],
            self.violations[rows],
            self.binding[rows],
            tuple(outcomes[rows] for outcomes in self.outcomes),
            self.rounds[rows],
        )

    def take(self, judged: Judgement, values: Array) -> None:
        """Write what the judge says of decisions, one a context, but for a bound."""
        self.values[:], self.objective[:] = values, judged.objective
        self.gap[:], self.slack[:] = judged.gap, judged.slack
        self.violations[:], self.binding[:] = judged.violations, judged.binding
        for mine, outcomes in zip(self.outcomes, judged.outcomes, strict=True):
            mine[:] = outcomes

    def arrays(self) -> list[npt.NDArray[Any]]:
        """All of them, those of the keys one after another."""
        return [
            self.status,
            self.values,
            self.objective,
            self.bound,
            self.gap,
            self.slack,
            self.violations,
            self.binding,
            *self.outcomes,
            self.rounds,
        ]


@dataclass(frozen=True)
class Audit:
    """What the worst case is, by the decision and the sets alone.

    Attributes
    ----------
    objective : worst value of the objective over the sets
    gap : how far that is from the value the solver promised, relative
    violations : for each uncertain constraint, its worst violation over the sets
    slack : the same for each of their rows
    binding : index of the uncertain constraint with the least room, or None
    passed : whether every miss is small against what its row compares
    own_oracles : names of the parameters whose worst cases are the word of the user's
        own oracle, which nothing else confirms
    miss : of `RobustProblem.audit`: the largest miss relative to its row's size
    """

    objective: float
    gap: float
    violations: tuple[float, ...]
    binding: int | None
    passed: bool
    own_oracles: tuple[str, ...] = ()
    slack: tuple[float, ...] = ()
    miss: float = float("nan")


@dataclass(frozen=True, eq=False)
class Audits:
    """The audits of n decisions, as arrays.

    Attributes
    ----------
    objective : shape (n,), worst value of the objective over the sets
    gap : shape (n,), how far that is from what the solver promised, relative
    violations : shape (n, number of uncertain constraints)
    binding : shape (n,), the constraint with the least room, -1 if none is uncertain
    passed : shape (n,), whether every miss is small against what its row compares
    own_oracles : names of the parameters whose worst cases are the word of the user's
        own oracle, which nothing else confirms
    slack : shape (n, rows of the uncertain constraints), in the user's units
    """

    objective: Array
    gap: Array
    violations: Array
    binding: Indices
    passed: npt.NDArray[np.bool_]
    own_oracles: tuple[str, ...]
    slack: Array

    def __repr__(self) -> str:
        return f"Audits({int(self.passed.sum())} of {len(self.passed)} passed)"


@dataclass(frozen=True)
class Decision:
    """The answer at one context.

    Attributes
    ----------
    status : "optimal", or as in `Decisions.status`
    objective : worst case of the objective, nan if there is no decision
    audit : Audit, or None if there is no decision
    certificate : what is promised: the Certificate of the only set, of several a dict
        by name; of a calibrated policy its own; None if nothing is
    bound : objective that no robust decision beats; nan where unknown
    rounds : rounds of cutting planes, 0 if there were none
    scenarios : for each uncertain parameter, the outcomes cutting planes used, shape
        (n, size); a later solve can start from them
    origin : the decisions it is one of, and its place among them
    """

    status: str
    objective: float
    audit: Audit | None = None
    certificate: Promise = None
    bound: float = float("nan")
    rounds: int = 0
    scenarios: Mapping[Any, Array] = field(default_factory=dict, repr=False)
    variables: Mapping[Named, Array] = field(default_factory=dict, repr=False)
    outcomes: Mapping[Named, Array] = field(default_factory=dict, repr=False)
    origin: tuple[Decisions, int] | None = field(
        default=None, repr=False, compare=False
    )

    def explain(self, again: bool | None = None) -> DecisionExplanation:
        """Why the decision is as it is: what binds, what is worst, what less buys.

        Parameters
        ----------
        again : bool, optional
            Whether to decide again at shares of the budget, to see what being safe
            costs here. By default where the policy is compiled.
        """
        if self.origin is None:
            raise _unexplained()
        decisions, context = self.origin
        return decisions.explain(context, again)

    @property
    def decided(self) -> bool:
        """Whether there is a decision to act on."""
        return bool(is_decided([self.status])[0])

    @property
    def gap(self) -> float:
        """How far the objective can be from the best there is, relative; or nan."""
        apart = abs(self.objective - self.bound)
        size = max(abs(self.objective), abs(self.bound))
        return apart / size if apart != 0 else 0.0

    @overload
    def value(self, variable: str | cp.Variable) -> Array: ...
    @overload
    def value(self, variable: Rule) -> Reaction: ...
    def value(self, variable: str | cp.Variable | Rule) -> Array | Reaction:
        """The value of one of the model's variables; the Reaction of a rule."""
        if isinstance(variable, Rule):
            return variable.reaction(self.value)
        return _look_up(self.variables, variable, "variable", "decision")

    def worst_case(self, parameter: str | cp.Parameter) -> Array:
        """The outcome worst for the objective, or else for the binding constraint."""
        return _look_up(self.outcomes, parameter, "uncertain parameter", "decision")

    def to_dict(self) -> dict[str, Any]:
        """Status, objective, variables and worst outcomes by name, of plain values.

        Made for JSON: arrays are lists, numbers that are missing or infinite are None.
        Without a decision to act on there are no variables.
        """
        acts = self.decided
        return {
            "status": self.status,
            "objective": _plain(self.objective) if acts else None,
            "variables": _by_name(self.variables) if acts else {},
            "worst_case": _by_name(self.outcomes) if acts else {},
        }

    def __repr__(self) -> str:
        return f"Decision({'; '.join(self._facts())})"

    def _repr_html_(self) -> str:
        return html_table("Decision", [fact.split(" ", 1) for fact in self._facts()])

    def _facts(self) -> list[str]:
        facts = [f"status {self.status}"]
        if self.decided:
            facts.append(f"objective {self.objective:.6g}")
        if self.audit is not None and self.audit.binding is not None:
            facts.append(f"binding constraint {self.audit.binding}")
        return [*facts, f"promise {in_short(self.certificate)}"]


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
            raise _unexplained()
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
        return _split(self.arrays.values, self.layout.variables)

    @property
    def outcomes(self) -> dict[Named, Array]:
        """Worst outcomes of every uncertain parameter, shape (n, *its shape)."""
        parts: dict[Named, Array] = {}
        for key, values in zip(self.layout.keys, self.arrays.outcomes, strict=False):
            parts |= _split(values, key)
        return parts

    def __getitem__(self, i: int) -> Decision:
        if not is_number(i) or i != int(i):
            raise InvalidParameter(
                f"Decisions[context] must be a whole number, got {briefly(i)}."
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
            return [
                variable.reaction(lambda part, i=i: self.value(part)[i])
                for i in range(len(self))
            ]
        return _look_up(self.variables, variable, "variable", "decisions")

    def worst_case(self, parameter: str | cp.Parameter) -> Array:
        """The outcome worst for the objective, or for the tightest constraint."""
        return _look_up(self.outcomes, parameter, "uncertain parameter", "decisions")

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
                for head, column in _columns(name, values):
                    table[_unused(prefix + head, table)] = column
        return table

    def records(self) -> list[dict[str, Any]]:
        """One dict a context, as `Decision.to_dict` has it; "context" is its label."""
        labels = range(len(self)) if self.index is None else self.index
        return [
            {"context": _plain(label)} | decision.to_dict()
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


def in_short(certificate: Promise) -> str:
    """A promise in a few words.

    Examples
    --------
    >>> in_short(None)
    'none'
    """
    if certificate is None:
        return "none"
    if isinstance(certificate, dict):
        return "; ".join(f"{k}: {in_short(v)}" for k, v in certificate.items())
    about = "about" if certificate.heuristic else "at most"
    return f"{certificate.guarantee}, {about} {certificate.alpha:.4g}"


def _unexplained() -> InvalidParameter:
    return InvalidParameter(
        "Decision.explain() needs the policy that decided, and this decision came "
        "without it: from a file or another process. Decide again with the policy."
    )


def _split(flat: Array, names: Sequence[Named]) -> dict[Named, Array]:
    """Columns of an array, given to names one after another."""
    parts, start = {}, 0
    for name in names:
        parts[name] = shaped(flat[:, start : start + name.size], name.shape)
        start += name.size
    return parts


def _columns(name: Named, values: Array) -> Iterator[tuple[str, Array]]:
    """Head and values of each entry, column by column."""
    axes = (0, *range(values.ndim - 1, 0, -1))
    flat = values.transpose(axes).reshape(len(values), name.size)
    return zip(name.heads(), flat.T, strict=True)


def _by_name(parts: Mapping[Named, Array]) -> dict[str, Any]:
    """Values as lists, under names of their own."""
    named: dict[str, Any] = {}
    for name, values in parts.items():
        named[_unused(name.name, named)] = _plain(values)
    return named


def _plain(value: Any) -> Any:
    """What strict JSON can hold, with None for what is no finite number."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if is_number(value):
        number = float(value)
        whole = isinstance(value, int | np.integer)
        return int(value) if whole else number if np.isfinite(number) else None
    return str(value)


def _unused(head: str, table: dict[str, Any]) -> str:
    """Variables of the same name are still different ones."""
    count, free = 1, head
    while free in table:
        count += 1
        free = f"{head} ({count})"
    return free


def _look_up(
    table: Mapping[Named, Array],
    wanted: str | cp.Variable | cp.Parameter,
    what: str,
    owner: str,
) -> Array:
    if not isinstance(wanted, str) and not hasattr(wanted, "id"):
        raise InvalidParameter(
            f"The {owner} must be asked for a {what} by its name or object, got "
            f"{briefly(wanted)}."
        )
    matches = [values for name, values in table.items() if name.means(wanted)]
    if len(matches) == 1:
        return matches[0]
    called = wanted if isinstance(wanted, str) else wanted.name()
    if matches:
        raise InvalidParameter(
            f"The model has {len(matches)} of {what} {called!r}: ask for it by the "
            "object, not by its name, or give each its own name."
        )
    if owner == "decision":
        raise InvalidParameter(
            f"The decision has no value for the {what} {called!r}: it is not in the "
            "model, or there was no decision (look at .status)."
        )
    every = ", ".join(name.name for name in table) or "none"
    raise InvalidParameter(
        f"The decisions have no {what} {called!r}. The model has: {every}."
    )
