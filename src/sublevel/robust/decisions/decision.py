"""Decision: what was decided at one context, its worst case and its audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from ...checks import Array
from ...tables import html_table
from ..judge.statuses import is_decided
from ..model.reaction import Reaction
from .audit import Audit
from .background import unexplained
from .named import Named
from .promise import Promise, in_short
from .reacting import Rule
from .values import by_name, look_up, plain

if TYPE_CHECKING:
    import cvxpy as cp

    from ..explaining.decision_explanation import DecisionExplanation
    from .decisions import Decisions


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
            raise unexplained()
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
        return look_up(self.variables, variable, "variable", "decision")

    def worst_case(self, parameter: str | cp.Parameter) -> Array:
        """The outcome worst for the objective, or else for the binding constraint."""
        return look_up(self.outcomes, parameter, "uncertain parameter", "decision")

    def to_dict(self) -> dict[str, Any]:
        """Status, objective, variables and worst outcomes by name, of plain values.

        Made for JSON: arrays are lists, numbers that are missing or infinite are None.
        Without a decision to act on there are no variables.
        """
        acts = self.decided
        return {
            "status": self.status,
            "objective": plain(self.objective) if acts else None,
            "variables": by_name(self.variables) if acts else {},
            "worst_case": by_name(self.outcomes) if acts else {},
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
