"""How the contexts of a problem are decided: by one compiled program, or one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ...checks import Array
from ...conic.by_cvxpy import CvxpySolver
from ...conic.by_name import SOLVERS, solver_named
from ...conic.choice import Choice, chosen
from ...conic.highs import Highs
from ...conic.program import Uncompilable
from ...conic.solver import Solver
from ...errors import (
    EmptySet,
    InvalidParameter,
    MissingExtra,
    NotRobustifiable,
    OutsideDomain,
    SolverFailed,
    Unbounded,
)
from ...loss_set.batch import Batch
from ...predictions import AnyPrediction, Prediction
from ...sets import UncertaintySet
from ..decisions import DecisionArrays
from ..judge.set_oracles import Region
from ..judge.statuses import has_failed
from ..keys import UncertainKey
from ..model.uncertain import Key
from .arrays import Compiled
from .chunk import ChunkTask
from .compiled import compile_counterpart
from .cuts.cuts import Cuts, CutTask
from .lifted_set import bends_outcome, with_lifted
from .mixed.integers import Integers
from .mixed.road import MixedRoad
from .prepared import Prepared
from .set_at import set_value
from .slots import FixedSet, SlotSet, example, example_of, slot_set
from .support_bound import has_dual

#: What one context's failure is called.
TROUBLES: dict[type[Exception], str] = {
    Unbounded: "unbounded_set",
    EmptySet: "empty_set",
    SolverFailed: "solver_failed",
    OutsideDomain: "outside_domain",
}

#: What cutting planes may say where another solver failed: at some outcomes of the sets
#: already there is no decision, or there is one.
SURE = ("optimal", "infeasible")
#: What cutting planes may end in where they were to help.
UNDECIDED: tuple[type[Exception], ...] = (*TROUBLES, NotRobustifiable)

#: One context's decision, and the outcomes that cutting planes used.
Decided = tuple[DecisionArrays, Mapping[Any, Array]]


class Engine:
    """Decides contexts of one problem.

    Parameters
    ----------
    prepared : callable
        The model as it is now; another one after a parameter that multiplies an outcome
        was given another value.
    changes : whether that can happen
    keys : the uncertain keys
    kind : "auto", "dual", "cuts", Cuts or Integers
    solver : name of a solver, a Solver, or None
    """

    def __init__(
        self,
        prepared: Callable[[], Prepared],
        changes: bool,
        keys: tuple[UncertainKey, ...],
        kind: str | Cuts | Integers,
        solver: str | Solver | None,
    ) -> None:
        self._prepared, self.kind, self.solver = prepared, kind, solver
        self._changes = changes
        self._task: ChunkTask | None = None
        self._chosen: tuple[Compiled, Choice] | None = None
        _check_solver(solver)
        self._losses = {key.name: key.losses for key in keys}
        self.one_by_one = self._obstacle(keys)
        self._compiled: tuple[Prepared, Compiled] | None = None
        self._mixed = MixedRoad()
        self._examples: list[AnyPrediction | None] = []
        examples = [
            None if key.losses is None else example(key.losses, key.size)
            for key in keys
        ]
        sure = all(
            e is not None or k.losses is None
            for e, k in zip(examples, keys, strict=True)
        )
        #: Losses that take several kinds of prediction are compiled for one of them,
        #: until the first predictions are there.
        self._open = any(
            loss.settled(shape) != loss
            for key, shape in zip(keys, examples, strict=True)
            for loss in key.losses or ()
            if shape is not None
        )
        if self.one_by_one is None and sure:
            self._compile(keys, examples)

    def task(
        self,
        keys: tuple[UncertainKey, ...],
        first: Callable[[], Sequence[Batch | None]],
        guess: bool = False,
    ) -> ChunkTask | None:
        """What decides chunks; None where contexts must be decided one by one.

        Parameters
        ----------
        first : gives the batches of some contexts, to see how wide predictions are, and
            of which kind
        guess : whether the kind that is most usual will do, where none has been seen
        """
        if self._open and not guess:
            self._see(keys, first())
        if self._task is not None:
            return self._task
        if self.one_by_one is not None:
            return None
        if self._compiled is None:
            batches = first()
            examples = [None if b is None else example_of(b.parts[0]) for b in batches]
            self._compile(keys, examples)
        elif self._changes and self._compiled[0] is not self._prepared():
            self._compile(keys, self._examples)
        if self._compiled is None:
            return None
        prepared, compiled = self._compiled
        return self._task or prepared.task(compiled, self._choice(compiled).solver)

    @property
    def choice(self) -> Choice | None:
        """What solves chunks, and why; None before there is a compiled program."""
        return None if self._compiled is None else self._choice(self._compiled[1])

    def _see(
        self, keys: tuple[UncertainKey, ...], batches: Sequence[Batch | None]
    ) -> None:
        """Compile for the kind of prediction that models make, if it was another."""
        if not batches or self.one_by_one is not None:
            return
        self._open = False
        seen = [None if b is None else example_of(b.parts[0]) for b in batches]
        if self._compiled is not None and any(map(_turns, seen)):
            self._task = None
            self._compile(keys, seen)

    def decide_one(
        self, keys: tuple[UncertainKey, ...], regions: Sequence[UncertaintySet | Any]
    ) -> Decided:
        """The decision at one context, given each key's set; a failure is a status."""
        try:
            return self.solve_one(keys, regions)
        except tuple(TROUBLES) as error:
            status = next(s for kind, s in TROUBLES.items() if isinstance(error, kind))
            return self._prepared().layout.room([status]), {}

    def solve_one(
        self, keys: tuple[UncertainKey, ...], regions: Sequence[UncertaintySet | Any]
    ) -> Decided:
        """The same, where a failure is an error."""
        prepared = self._prepared()
        sets = _sets(prepared, keys, regions)
        if prepared.model.is_mixed_integer and not self._asks_for_cuts:
            return self._with_integers(prepared, keys, sets)
        return self._decide(prepared, sets)

    def rescue(
        self,
        keys: tuple[UncertainKey, ...],
        regions: Sequence[UncertaintySet | Any],
    ) -> Decided | None:
        """By cutting planes what one program could not decide; None if they may not."""
        if self.kind == "dual" or self._asks_for_cuts:
            return None
        prepared = self._prepared()
        try:
            # Numbers too large to be added up are one reason why a program fails.
            with np.errstate(over="ignore", invalid="ignore"):
                sets = _sets(prepared, keys, regions)
                decided = self._by_cuts(prepared, sets, Cuts())
        except UNDECIDED:
            return None
        return decided if decided[0].status[0] in SURE else None

    def _choice(self, compiled: Compiled) -> Choice:
        """The solver that was asked for, or the one that suits the program."""
        if self._asked is not None:
            return self._asked
        if self._chosen is None or self._chosen[0] is not compiled:
            # What it works out of the program is kept with it.
            self._chosen = compiled, chosen(compiled.program)
        return self._chosen[1]

    @cached_property
    def _asked(self) -> Choice | None:
        if self.solver is None:
            return None
        if isinstance(self.solver, str):
            return Choice(solver_named(self.solver), self.solver, "as asked for")
        return Choice(self.solver, type(self.solver).__name__, "as asked for")

    @property
    def _solver_name(self) -> str | None:
        """The name of one of CVXPY's solvers, if one was asked for."""
        named = isinstance(self.solver, str) and self.solver != "BATCHED"
        return str(self.solver) if named else None

    @property
    def _asks_for_cuts(self) -> bool:
        return self.kind == "cuts" or isinstance(self.kind, Cuts)

    def _with_integers(
        self,
        prepared: Prepared,
        keys: tuple[UncertainKey, ...],
        sets: dict[Key, Region],
    ) -> Decided:
        """By branch and bound: of a solver that was named, or around the cones.

        Where sets have no cones to go around, and where that fails, by cutting planes.
        """
        options = self.kind if isinstance(self.kind, Integers) else Integers()
        deadline = time.monotonic() + options.time_limit
        name = self._solver_name if self._solver_name != "HIGHS" else None
        task = (
            None
            if prepared.model.is_held
            else self._mixed.task(
                prepared.model,
                prepared.ruler,
                prepared.layout,
                prepared.ordinary(),
                keys,
                sets,
            )
        )
        if task is not None and (name is not None or task.has_polyhedra):
            try:
                decision = task.decide(options, name)
            except SolverFailed:
                if self.kind == "dual":
                    raise
                decision = prepared.layout.room(["solver_failed"])
            if not has_failed(decision.status)[0] or self.kind == "dual":
                return decision, {}
        if self.kind == "dual":
            raise NotRobustifiable(
                "The sets of this model with integer variables have no dual that is "
                "linear or of second order. Use engine='auto' or engine='cuts'."
            )
        left = deadline - time.monotonic()
        if left <= 0:
            return prepared.layout.room(["out_of_time"]), {}
        cuts = Cuts(gap=options.gap, time_limit=left)
        return self._by_cuts(prepared, sets, cuts)

    def _decide(self, prepared: Prepared, sets: dict[Key, Region]) -> Decided:
        if self._asks_for_cuts:
            cuts = self.kind if isinstance(self.kind, Cuts) else Cuts()
            return self._by_cuts(prepared, sets, cuts)
        convex = [s for s in sets.values() if isinstance(s, UncertaintySet)]
        exact = len(convex) == len(sets) and has_dual(convex)
        exact &= not prepared.model.is_held
        if not exact and self.kind != "dual":
            return self._by_cuts(prepared, sets, Cuts())
        decided = self._by_dual(prepared, sets)
        failed = decided[0].status[0] in ("solver_failed", "audit_failed")
        if failed and self.kind != "dual":
            try:
                again = self._by_cuts(prepared, sets, Cuts())
            except UNDECIDED:
                return decided
            return again if again[0].status[0] in SURE else decided
        return decided

    def _by_cuts(
        self, prepared: Prepared, sets: Mapping[Key, Region], cuts: Cuts
    ) -> Decided:
        task = CutTask(
            prepared.model,
            prepared.ruler,
            prepared.layout,
            prepared.ordinary(),
            prepared.linear,
        )
        return task.decide(sets, cuts, self._solver_name)

    def _by_dual(self, prepared: Prepared, sets: Mapping[Key, Region]) -> Decided:
        model, ruler = prepared.model, prepared.ruler
        if model.is_held:
            raise NotRobustifiable(
                "A sum of maxima with more combinations of pieces than are written out "
                "has no conic dual. Use engine='cuts'."
            )
        forms: dict[Key, FixedSet | SlotSet] = {}
        for key, region in sets.items():
            if not isinstance(region, UncertaintySet):
                raise NotRobustifiable(
                    "A user's own oracle has no conic dual. Use engine='cuts'."
                )
            forms[key] = FixedSet(region)
        try:
            compiled = compile_counterpart(model, ruler, forms)
        except Uncompilable:
            # Parameters at their values, where they cannot stay parameters.
            compiled = compile_counterpart(model, ruler, forms, frozen=True)
        task = prepared.task(compiled, self._choice(compiled).solver)
        return task.for_contexts(1).decide([None] * len(model.keys), 1), {}

    def _compile(
        self,
        keys: tuple[UncertainKey, ...],
        examples: Sequence[AnyPrediction | None],
    ) -> None:
        prepared = self._prepared()
        self._examples = list(examples)
        try:
            forms = _forms(keys, examples)
            compiled = compile_counterpart(prepared.model, prepared.ruler, forms)
        except Uncompilable as obstacle:
            self.one_by_one = str(obstacle)
            return
        solver = self._choice(compiled).solver
        if isinstance(solver, CvxpySolver | Highs):
            solver.check(compiled.program)
        # What the columns of decisions are is settled before the first one.
        prepared.layout.room(())
        self._compiled = prepared, compiled
        if not (self._changes or prepared.model.ordinary):
            # Nothing that it depends on can have another value.
            self._task = prepared.task(compiled, solver)

    def _obstacle(self, keys: tuple[UncertainKey, ...]) -> str | None:
        """Why one cone program cannot serve all contexts, or None."""
        model = self._prepared().model
        if self.kind == "cuts" or isinstance(self.kind, Cuts):
            return "cutting planes were asked for"
        if model.is_mixed_integer:
            return "some variables are integer"
        if model.is_held:
            return "a sum of maxima has too many combinations of pieces"
        if bends_outcome(model.rows):
            return "a constraint bends the outcome"
        if any(key.losses == () for key in keys):
            return "a set is an oracle of the user's own"
        losses = [loss for key in keys for loss in key.losses or ()]
        if not all(loss.compiles() for loss in losses):
            return "a set has labels, or a loss of the user's own"
        values = [set_value(k, k.source) for k in keys if k.predicted is None]  # type: ignore[arg-type]
        convex = [value for value in values if isinstance(value, UncertaintySet)]
        exact = len(convex) == len(values) and has_dual(convex)
        return None if exact else "a set has no exact dual"


def _sets(
    prepared: Prepared,
    keys: tuple[UncertainKey, ...],
    regions: Sequence[UncertaintySet | Any],
) -> dict[Key, Region]:
    """Each key's set at one context, lifted ones included."""
    sets: dict[Key, Region] = {
        key.parameters: set_value(key, region)
        for key, region in zip(keys, regions, strict=True)
    }
    return with_lifted(sets, prepared.model.rows)


def _forms(
    keys: tuple[UncertainKey, ...], examples: Sequence[AnyPrediction | None]
) -> dict[Key, FixedSet | SlotSet]:
    """How the set of each key enters a program."""
    forms: dict[Key, FixedSet | SlotSet] = {}
    for number, (key, shape) in enumerate(zip(keys, examples, strict=True)):
        if key.losses is not None and shape is not None:
            forms[key.parameters] = slot_set(number, key.losses, shape, key.nonneg)
        else:
            forms[key.parameters] = FixedSet(_value_of(key))
    return forms


def _turns(shape: AnyPrediction | None) -> bool:
    return isinstance(shape, Prediction) and shape.factor is not None


def _value_of(key: UncertainKey) -> UncertaintySet:
    region = set_value(key, key.source)  # type: ignore[arg-type]
    if not isinstance(region, UncertaintySet):
        raise Uncompilable("a set has no exact dual")
    return region


def _check_solver(solver: str | Solver | None) -> None:
    if solver is None or isinstance(solver, Solver):
        return
    installed = {*SOLVERS, *cp.installed_solvers()}
    if solver in installed:
        return
    if solver in cp.settings.SOLVERS:
        scip = solver == "SCIP"
        way = "`pip install 'sublevel[scip]'`" if scip else "its own package"
        raise MissingExtra(
            f"RobustProblem.compile(solver={solver!r}) needs a solver that CVXPY does "
            f"not find installed. Install it with {way}, or leave solver= out."
        )
    raise InvalidParameter(
        f"RobustProblem.compile(solver=...) must be one of {sorted(installed)}, or an "
        f"object that solves chunks, got {solver!r}."
    )
