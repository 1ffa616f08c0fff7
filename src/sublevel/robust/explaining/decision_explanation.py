"""DecisionExplanation: why the decision at one context is as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...checks import Array
from ...tables import html_table
from .advice import advice
from .worst_outcome import WorstOutcome

if TYPE_CHECKING:
    import pandas as pd

#: Relative room below which a constraint counts as one that holds the decision back.
TIGHT = 1e-5
#: Relative gain that is no more than what two solves differ by.
NOTHING = 1e-9


@dataclass(frozen=True)
class ConstraintRoom:
    """How much room an uncertain constraint leaves at its worst outcome.

    Attributes
    ----------
    number : its place among the uncertain constraints
    text : in CVXPY's words
    room : in the user's units, of its tightest row; below 0 it is missed
    tight : whether the room is next to nothing against what the row compares
    """

    number: int
    text: str
    room: float
    tight: bool


@dataclass(frozen=True, eq=False)
class DecisionExplanation:
    """Why the decision at one context is as it is; print it to read it.

    Attributes
    ----------
    status : of the decision
    objective : its worst case, nan without a decision
    as_predicted : the objective of this decision if the outcome is as predicted; nan
        where nothing is predicted
    unprotected : the objective of the decision one would take if the prediction were
        sure to be true; nan where it was not computed
    sense : 1.0 if the objective is minimised, -1.0 if it is maximised
    constraints : the uncertain constraints and their room
    outcomes : the worst outcome of each uncertain key
    shares, objectives : shape (k,), the worst case at shares of the budget
    promise : what is promised, in a few words
    """

    status: str
    objective: float
    as_predicted: float
    unprotected: float
    sense: float
    constraints: tuple[ConstraintRoom, ...]
    outcomes: tuple[WorstOutcome, ...]
    shares: Array
    objectives: Array
    promise: str

    @property
    def binding(self) -> tuple[ConstraintRoom, ...]:
        """The uncertain constraints that hold the decision back."""
        return tuple(each for each in self.constraints if each.tight)

    def sentences(self) -> list[str]:
        """The explanation, a sentence each."""
        words = [f"Status: {self.status}.", *advice(self.status)]
        if not np.isnan(self.objective):
            words += [*self._value(), *self._holds_back()]
            for outcome in self.outcomes:
                words += outcome.sentences()
            words += self._steps()
        return [*words, f"Promise: {self.promise}."]

    def _value(self) -> list[str]:
        words = [f"The objective is {self.objective:.6g} at its worst."]
        if np.isfinite(self.as_predicted) and self.as_predicted != self.objective:
            words.append(
                f"It is {self.as_predicted:.6g} if the outcome is as predicted."
            )
        if np.isfinite(self.unprotected):
            words.append(
                "Someone sure of the prediction would count on "
                f"{self.unprotected:.6g}: being safe costs "
                f"{self._cost(self.objective):.4g} of that."
            )
        return words

    def _cost(self, objective: float) -> float:
        return self.sense * (objective - self.unprotected)

    def _holds_back(self) -> list[str]:
        if not self.constraints:
            return ["No constraint is uncertain: only the objective is guarded."]
        if not self.binding:
            least = min(self.constraints, key=lambda each: each.room)
            return [
                "No uncertain constraint holds the decision back; the closest, number "
                f"{least.number}, has {least.room:.4g} of room: {least.text}."
            ]
        return [
            f"Uncertain constraint {each.number} holds it back, with nothing to spare "
            f"at its worst outcome: {each.text}."
            for each in self.binding
        ]

    def _steps(self) -> list[str]:
        """What a smaller budget would buy, from the step below."""
        inner = np.flatnonzero((self.shares < 1.0) & np.isfinite(self.objectives))
        if not inner.size:
            return []
        at = inner[-1]
        gain = self.sense * (self.objective - self.objectives[at])
        share = self.shares[at]
        if gain <= NOTHING * max(abs(self.objective), abs(self.objectives[at])):
            return [
                f"A budget {1 - share:.0%} smaller would buy nothing here: what holds "
                "the decision back is not the uncertainty."
            ]
        return [
            f"A budget {1 - share:.0%} smaller, from a larger alpha, a better model or "
            f"more data, would buy {gain:.4g} here."
        ]

    def to_pandas(self) -> pd.DataFrame:
        """One row an entry of an outcome: predicted, worst, lower, upper, moved."""
        import pandas as pd

        parts = []
        for outcome in self.outcomes:
            columns = ("predicted", "worst", "lower", "upper", "moved")
            table = {name: vars(outcome).get(name) for name in columns[:-1]}
            table |= {"moved": outcome.moved}
            parts.append(pd.DataFrame(table, index=pd.Index(outcome.entries)))
        return pd.concat(parts) if parts else pd.DataFrame()

    def to_dict(self) -> dict[str, Any]:
        """The same facts as plain numbers and words, for JSON."""
        return {
            "status": self.status,
            "objective": _plain(self.objective),
            "as_predicted": _plain(self.as_predicted),
            "unprotected": _plain(self.unprotected),
            "constraints": [vars(each) for each in self.constraints],
            "outcomes": [_outcome(each) for each in self.outcomes],
            "steps": [
                {"share_of_budget": float(share), "objective": _plain(value)}
                for share, value in zip(self.shares, self.objectives, strict=True)
            ],
            "promise": self.promise,
            "sentences": self.sentences(),
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        return f"DecisionExplanation(status {self.status}; print it to read it)"

    def _repr_html_(self) -> str:
        numbered = enumerate(self.sentences(), 1)
        return html_table("Why", [(f"{k}", sentence) for k, sentence in numbered])


def _plain(value: float) -> float | None:
    """A number as JSON has it."""
    return float(value) if np.isfinite(value) else None


def _outcome(outcome: WorstOutcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "entries": list(outcome.entries),
        "predicted": [_plain(v) for v in outcome.predicted.tolist()],
        "worst": [_plain(v) for v in outcome.worst.tolist()],
        "lower": [_plain(v) for v in outcome.lower.tolist()],
        "upper": [_plain(v) for v in outcome.upper.tolist()],
        "budget": _plain(outcome.budget),
        "share_beyond": _plain(outcome.beyond),
    }
