"""Which solver a program gets where none is asked for, and why."""

from __future__ import annotations

from dataclasses import dataclass

from .forms import ClosedForm, form_of
from .program import ConeProgram
from .solver import Clarabel, Solver


@dataclass(frozen=True)
class Choice:
    """A solver, what it is called, and the reason in words."""

    solver: Solver
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def chosen(program: ConeProgram) -> Choice:
    """The solver for the contexts of a program."""
    form = form_of(program)
    if isinstance(form, str):
        return Choice(Clarabel(), "Clarabel", f"no closed form, as {form}")
    return Choice(
        ClosedForm(), "closed form", f"{form}; Clarabel where it is not exact"
    )
