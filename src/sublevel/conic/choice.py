"""Which solver a program gets where none is asked for, and why."""

from __future__ import annotations

from dataclasses import dataclass

from .batched.choice import Automatic
from .forms import ClosedForm, form_of
from .program import ConeProgram
from .solver import Solver


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
        solver = Automatic()
        return Choice(
            solver,
            solver.called(program),
            f"no closed form, as {form}; {solver.explained(program)}",
        )
    return Choice(
        ClosedForm(), "closed form", f"{form}; Clarabel where it is not exact"
    )
