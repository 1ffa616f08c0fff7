"""The words of a certificate: what is counted, and what is assumed of it.

The theorem is one for policies, for rules of any other kind and for whole episodes;
what may happen with probability alpha has another name in each.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wording:
    """What is promised of what, in words.

    Attributes
    ----------
    always : what happens with probability at most alpha, where something is always done
    where_none : what a context without a decision counts as, in brackets
    taken : what happens, among the decisions that are taken
    level : what the level is called
    alike : the beginning of a sentence that ends in "exchangeable."
    random : what is random in the probability
    unseen, rule, promises : the other assumptions, a sentence each
    """

    always: str
    where_none: str
    taken: str
    level: str
    alike: str
    random: str
    unseen: str
    rule: str
    promises: str

    @property
    def event(self) -> str:
        """What happens with probability at most alpha, where nothing may be done."""
        return f"{self.always} ({self.where_none})"


DECISIONS = Wording(
    always="the decision breaks a constraint or costs more than certified",
    where_none="a policy that breaks neither, or takes no decision, keeps its promise",
    taken=(
        "among the decisions that are taken, one breaks a constraint or costs more "
        "than certified"
    ),
    level="budget",
    alike="The calibration contexts and outcomes and the new ones are",
    random="The calibration sample and the new outcome with its context.",
    unseen="They had no part in choosing model, loss, problem or grid.",
    rule="The decision rule stays as calibrated: model, problem, solver, fallback.",
    promises=(
        "The promises: every constraint holds, and the objective is as certified."
    ),
)
RULES = Wording(
    always="the decision of the rule violates",
    where_none="a rule that takes no decision keeps its promise",
    taken="among the decisions that are taken, one violates",
    level="level",
    alike=DECISIONS.alike,
    random=DECISIONS.random,
    unseen="They had no part in choosing the rule, what it learned, or the levels.",
    rule="The rule is deterministic and stays as calibrated, fallback included.",
    promises="A violation is what violates(decision, outcome) calls one.",
)
EPISODES = Wording(
    always="there is any violation in an episode run at the level",
    where_none="a step without a decision breaks nothing",
    taken="among the episodes that are decided, there is any violation in one",
    level="level",
    alike="The calibration episodes and the new ones, not the steps within them, are",
    random="The calibration episodes and the new one, from start to end.",
    unseen="They had no part in choosing the rule, what it learned, or the levels.",
    rule="The rule is deterministic and stays as calibrated, as does the loop.",
    promises="A violation is what violates(level, episode) calls one.",
)
