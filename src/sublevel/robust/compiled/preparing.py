"""Whether a problem can be compiled, and the compiled program once it is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np

from ...errors import InvalidParameter
from ..cutting.cuts import Cuts
from ..modelling.cone_program import Uncompilable
from ..modelling.contexts import parts_of
from ..modelling.lifted_set import bends_outcome
from ..modelling.sets_at import is_predicted, set_at
from .compiling import Compiled, compile_counterpart
from .slots import FixedSet, SlotSet, example, example_of, slot_set


@dataclass
class Prepared:
    """A problem on its way to one cone program for all contexts.

    Attributes
    ----------
    losses : for each key whose sets are predicted, their losses
    ordinary : the parameters nature does not choose
    variables : the user's variables
    reason : why contexts must be solved one by one, or None
    """

    losses: dict[Any, tuple[Any, ...]]
    ordinary: list[Any]
    variables: list[Any]
    reason: str | None
    _compiled: Compiled | None = field(default=None, repr=False)
    _said: list[Any] = field(default_factory=list, repr=False)
    _stamp: Any = field(default=None, repr=False)

    def compiled(
        self, problem: Any, batches: Callable[[], list[Any]]
    ) -> Compiled | None:
        """The compiled program; where predictions have to be seen, at first use."""
        if self.reason is not None:
            return None
        if self._compiled is None:
            said = [b and example_of(parts_of(b)[0]) for b in batches()]
            self.compile(problem, said)
        elif self._stamp != problem._stamp:
            self.compile(problem, self._said)
        return self._compiled

    def compile(self, problem: Any, said: list[Any]) -> None:
        """Compile, given for each key a prediction of the right shape (or None)."""
        self._said, self._stamp = said, problem._stamp
        items = zip(problem.uncertainty.items(), said, strict=True)
        forms = [
            _form(number, key, value, self.losses.get(key), shape)
            for number, ((key, value), shape) in enumerate(items)
        ]
        try:
            self._compiled = compile_counterpart(problem, forms)
        except Uncompilable as obstacle:
            self.reason = str(obstacle)


def prepare(problem: Any, engine: str | Cuts, solver: Any) -> Prepared:
    """Compile as far as possible without having seen a context."""
    _check_solver(solver)
    losses = {
        key: tuple(value.losses_)
        for key, value in problem.uncertainty.items()
        if is_predicted(value)
    }
    reason = _obstacle(problem, losses, engine, solver)
    prepared = Prepared(losses, problem._ordinary, problem._variables, reason)
    said = {key: example(parts, _size(key)) for key, parts in losses.items()}
    if reason is None and all(shape is not None for shape in said.values()):
        prepared.compile(problem, [said.get(key) for key in problem.uncertainty])
    return prepared


def _check_solver(solver: Any) -> None:
    if solver is None or callable(getattr(solver, "solve", None)):
        return
    if solver not in cp.installed_solvers():
        raise InvalidParameter(
            f"RobustProblem.compile(solver=...) must be one of "
            f"{cp.installed_solvers()}, or an object that solves chunks, got "
            f"{solver!r}."
        )


def _obstacle(
    problem: Any, losses: dict[Any, Any], engine: str | Cuts, solver: Any
) -> str | None:
    """Why one cone program cannot serve all contexts, or None."""
    if engine == "cuts" or isinstance(engine, Cuts):
        return "cutting planes were asked for"
    if isinstance(solver, str) and solver != "CLARABEL":
        return f"the solver is {solver}"
    if problem._is_mixed_integer:
        return "some variables are integer"
    if bends_outcome(problem._rows()):
        return "a constraint bends the outcome"
    parts = [loss for found in losses.values() for loss in found]
    if not all(getattr(loss, "has_slots", False) for loss in parts):
        return "a set has labels, or a loss of the user's own"
    fixed = {
        key: set_at(key, value, None)
        for key, value in problem.uncertainty.items()
        if key not in losses
    }
    return None if problem._has_dual(fixed) else "a set has no exact dual"


def _size(key: Any) -> int:
    return sum(parameter.size for parameter in key)


def _form(
    number: int, key: Any, value: Any, losses: Any, said: Any
) -> FixedSet | SlotSet:
    if losses is None:
        return FixedSet(set_at(key, value, None))
    known = all(loss.nonneg for loss in losses)
    signs = np.concatenate([np.full(p.size, p.is_nonneg() and not known) for p in key])
    return slot_set(number, losses, said, signs)
