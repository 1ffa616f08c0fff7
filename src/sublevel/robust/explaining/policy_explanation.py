"""PolicyExplanation: how a policy decides, and what more would buy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tables import html_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Step:
    """What a policy would be at another level of protection.

    Attributes
    ----------
    name : what is different, "alpha 0.05" or "endless data"
    alpha : the violation level
    budget : of the sets; inf where nothing can be promised with so few data
    certified : mean worst case over the contexts that have a decision
    decided : share of contexts that have one
    """

    name: str
    alpha: float
    budget: float
    certified: float
    decided: float


@dataclass(frozen=True)
class Looked:
    """What a policy did at contexts whose outcomes are known.

    Attributes
    ----------
    contexts : how many
    covered : share of outcomes that were in their sets
    kept : share of contexts at which no promise was missed
    binding : for each uncertain constraint its words, and the share of decisions that
        it holds back most
    present : the policy as it is
    steps : what it would be otherwise
    """

    contexts: int
    covered: float
    kept: float
    binding: tuple[tuple[str, float], ...]
    present: Step
    steps: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class PolicyExplanation:
    """How a policy decides and what it promises; print it to read it.

    Attributes
    ----------
    how : sentences on how contexts are decided
    promise : the certificate's headline, or what is missing for one
    sense : 1.0 if the objective is minimised, -1.0 if it is maximised
    looked : what it did at contexts with outcomes; None where none were given
    """

    how: tuple[str, ...]
    promise: str
    sense: float
    looked: Looked | None = None

    def sentences(self) -> list[str]:
        """The explanation, a sentence each."""
        words = [*self.how, self.promise]
        if self.looked is None:
            return [
                *words,
                "For what binds and what a step of alpha or of data would buy, give "
                "contexts with outcomes: explain(X, Y).",
            ]
        looked = self.looked
        words.append(
            f"Of {looked.contexts} outcomes {looked.covered:.1%} were in their sets, "
            f"and {looked.kept:.1%} of the promises were kept."
        )
        for text, share in looked.binding:
            if share:
                words.append(
                    f"At {share:.0%} of the decisions this is tightest: {text}."
                )
        if not looked.binding:
            words.append("No constraint is uncertain: only the objective is guarded.")
        words.append(
            f"As it is, the worst case is {looked.present.certified:.6g} on average."
        )
        return [*words, *(self._step(step) for step in looked.steps)]

    def _step(self, step: Step) -> str:
        assert self.looked is not None
        if np.isinf(step.budget):
            return f"With {step.name} nothing can be promised: there are too few data."
        gain = self.sense * (self.looked.present.certified - step.certified)
        verb = "buys" if gain >= 0 else "costs"
        # Shares of the same contexts: they differ by one of them, or not at all.
        differs = step.decided != self.looked.present.decided
        decided = f", with {step.decided:.0%} decided" if differs else ""
        return (
            f"With {step.name} the budget is {step.budget:.4g}, which {verb} "
            f"{abs(gain):.4g} of the worst case on average{decided}."
        )

    def to_pandas(self) -> pd.DataFrame:
        """One row a step, the policy as it is first; none without outcomes."""
        import pandas as pd

        if self.looked is None:
            return pd.DataFrame()
        steps = [self.looked.present, *self.looked.steps]
        return pd.DataFrame([vars(step) for step in steps])

    def to_dict(self) -> dict[str, Any]:
        """The same facts as plain numbers and words, for JSON."""
        steps = self.to_pandas().to_dict(orient="records")
        plain = [
            {
                k: None if isinstance(v, float) and not np.isfinite(v) else v
                for k, v in step.items()
            }
            for step in steps
        ]
        return {"sentences": self.sentences(), "steps": plain}

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        return "PolicyExplanation(print it to read it)"

    def _repr_html_(self) -> str:
        numbered = enumerate(self.sentences(), 1)
        return html_table("Why", [(f"{k}", sentence) for k, sentence in numbered])
