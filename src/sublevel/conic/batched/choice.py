"""When contexts are solved together, and why not; numba is not imported for that."""

from __future__ import annotations

from importlib.util import find_spec

from ...errors import MissingExtra
from ..program import ConeProgram, ProgramData
from ..solver import Clarabel, Solutions, Solver

#: Cones whose steps are worked out.
KINDS = ("zero", "nonneg", "soc", "exp", "power")
#: Contexts of a call from which on they are solved together: always, and where their
#: programs have so many numbers in all.
LEAST_CONTEXTS, LEAST_OF_LARGE, MANY_NUMBERS = 64, 8, 100_000
#: Numbers of a program beyond which the lists of its factors grow too long.
MOST_NUMBERS = 200_000


def is_installed() -> bool:
    """Whether numba is there."""
    return find_spec("numba") is not None


def require(owner: str) -> None:
    """Raise unless numba is there."""
    if not is_installed():
        raise MissingExtra(
            f"{owner} needs numba, which is not installed. Install it with "
            "`pip install 'sublevel[fast]'`, or say solver='CLARABEL'."
        )


def obstacle(program: ConeProgram) -> str | None:
    """Why the contexts of a program cannot be solved together, or None."""
    other = sorted({kind for kind, _ in program.cones} - set(KINDS))
    if other:
        return f"the program has cones of kind {', '.join(other)}"
    if numbers(program) > MOST_NUMBERS:
        return f"the program has more than {MOST_NUMBERS} numbers"
    return None


def numbers(program: ConeProgram) -> int:
    """How many numbers a program has."""
    return len(program.indices) + program.height + program.width


def least_contexts(program: ConeProgram) -> int:
    """Contexts of a call from which on they are solved together."""
    enough = -(-MANY_NUMBERS // max(1, numbers(program)))
    return max(LEAST_OF_LARGE, min(LEAST_CONTEXTS, enough))


class Automatic:
    """Contexts together where that pays, one after another where it does not.

    What is chosen depends on the program and on how many contexts a call has, not on
    how these are cut into chunks.
    """

    def __init__(self) -> None:
        self._together: Solver | None = None

    def solve(self, data: ProgramData) -> Solutions:
        """Solve contexts one after another."""
        return Clarabel().solve(data)

    def chosen(self, program: ConeProgram, contexts: int) -> Solver:
        """What solves that many contexts of a program."""
        few = contexts < least_contexts(program)
        if few or not is_installed() or obstacle(program) is not None:
            return Clarabel()
        if self._together is None:
            from .solver import Batched

            together = Batched()
            # Made here, it goes to the workers with the solver.
            together.plan(program)
            self._together = together
        return self._together

    def called(self, program: ConeProgram) -> str:
        """What solves many contexts of a program, in a word or two."""
        together = is_installed() and obstacle(program) is None
        return "contexts together" if together else "Clarabel"

    def explained(self, program: ConeProgram) -> str:
        """Why that, in words."""
        if not is_installed():
            return (
                "numba, which solves contexts together, is not installed (pip install "
                "'sublevel[fast]')"
            )
        reason = obstacle(program)
        if reason is not None:
            return f"contexts are solved one after another, as {reason}"
        return (
            f"from {least_contexts(program)} contexts in a call on they are solved "
            "eight side by side; fewer, and those that are not certified, one after "
            "another by Clarabel (solver='CLARABEL' asks for that throughout)"
        )
