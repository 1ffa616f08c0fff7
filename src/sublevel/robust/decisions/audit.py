"""The audit of one decision."""

from __future__ import annotations

from dataclasses import dataclass


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
