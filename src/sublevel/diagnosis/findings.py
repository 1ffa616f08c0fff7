"""Findings: a table, and a paragraph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..tables import html_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Check:
    """One thing looked at.

    Attributes
    ----------
    name : what it is
    value : the number itself; nan where it was not looked at
    needed : what it is held against, or why it was not looked at
    surprise : standard errors from zero; nan where that is not the question
    alarming : whether it is worse than chance, or than the rule, allows
    """

    name: str
    value: float
    needed: str
    surprise: float
    alarming: bool


@dataclass(frozen=True)
class Findings:
    """What `diagnose` saw.

    Attributes
    ----------
    checks : tuple of Check
    advice : what to make of it, in one paragraph
    limit : standard errors from which on a number is more than chance
    """

    checks: tuple[Check, ...]
    advice: str
    limit: float

    def to_pandas(self) -> pd.DataFrame:
        """One row a check: `check`, `value`, `needed`, `surprise`, `alarming`."""
        import pandas as pd

        rows = [vars(check) for check in self.checks]
        return pd.DataFrame(rows).rename(columns={"name": "check"})

    def __repr__(self) -> str:
        alarming = ", ".join(c.name for c in self.checks if c.alarming) or "none"
        return f"Findings({len(self.checks)} checks; more than chance: {alarming})"

    def _repr_html_(self) -> str:
        rows = [
            (
                f"{'! ' if check.alarming else ''}{check.name}",
                f"{check.value:.4g} ({check.needed})",
            )
            for check in self.checks
        ]
        return html_table("Findings", [*rows, ("advice", self.advice)])

    def __str__(self) -> str:
        lines = [
            f"{'!' if c.alarming else ' '} {c.name:<32}{c.value:>10.4g}  {c.needed}"
            for c in self.checks
        ]
        return "\n".join([*lines, "", self.advice])
