"""From a model with integer variables and its sets to what decides a context.

Contexts whose sets differ only by the slots of a loss share one compiled program, and
what cuts were of use. Others (functions of outcomes, unions) are compiled one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ....checks import Array
from ....conic.program import ConeProgram, Uncompilable
from ....errors import NotRobustifiable
from ....sets import Mixed, Sublevel, UncertaintySet
from ...decisions import Layout
from ...judge.ruler import Ruler
from ...judge.set_oracles import Region
from ...keys import UncertainKey
from ...model.robust_model import RobustModel
from ...model.uncertain import Key
from ..arrays import Compiled
from ..compiled import compile_counterpart
from ..slots import FixedSet, SlotSet, slot_set
from .memory import Memory
from .task import MixedTask, at_sets

#: Compiled programs that are kept.
MOST_KEPT = 4


@dataclass(frozen=True, eq=False)
class Shared:
    """A compiled program, what it was compiled for, and what its contexts left."""

    model: RobustModel
    marks: tuple[object, ...]
    compiled: Compiled | None
    memory: Memory = field(default_factory=Memory)

    def serves(self, model: RobustModel, marks: tuple[object, ...]) -> bool:
        """Whether it is the program of this model and sets of this kind."""
        same = zip(self.marks, marks, strict=True)
        return self.model is model and all(a is b for a, b in same)


class MixedRoad:
    """Compiles, and remembers."""

    def __init__(self) -> None:
        self._kept: list[Shared] = []

    def task(
        self,
        model: RobustModel,
        ruler: Ruler,
        layout: Layout,
        ordinary: Array,
        keys: tuple[UncertainKey, ...],
        sets: Mapping[Key, Region],
    ) -> MixedTask | None:
        """What decides the context; None where a set has no exact dual."""
        convex = {k: s for k, s in sets.items() if isinstance(s, UncertaintySet)}
        if len(convex) < len(sets):
            return None
        shared = self._shared(model, ruler, keys, convex)
        if shared.compiled is None:
            return None
        compiled = at_sets(shared.compiled, convex, model.keys)
        slots = compiled.slots_at(ordinary)
        for number, key in enumerate(keys):
            _put(slots, compiled.program, number, convex[key.parameters])
        return MixedTask(compiled, slots, ordinary, layout, shared.memory)

    def _shared(
        self,
        model: RobustModel,
        ruler: Ruler,
        keys: tuple[UncertainKey, ...],
        sets: Mapping[Key, UncertaintySet],
    ) -> Shared:
        regions = [sets[key.parameters] for key in keys]
        marks = tuple(
            _mark(key, region) for key, region in zip(keys, regions, strict=True)
        )
        # Where sets end is a matter of the context, and goes into its own program.
        lifted = len(sets) > len(keys) or bool(model.ends)
        if not lifted:
            for shared in self._kept:
                if shared.serves(model, marks):
                    return shared
        forms: dict[Key, FixedSet | SlotSet]
        forms = {key: FixedSet(region) for key, region in sets.items()}
        if not lifted:
            for number, key in enumerate(keys):
                form = _slot_set(number, key, regions[number])
                if form is not None:
                    forms[key.parameters] = form
        try:
            compiled, lasts = _compiled(model, ruler, forms)
        except NotRobustifiable:
            compiled, lasts = None, True
        shared = Shared(model, marks, compiled)
        if lasts and not lifted:
            self._kept = [*self._kept[1 - MOST_KEPT :], shared]
        return shared


def _compiled(
    model: RobustModel, ruler: Ruler, forms: Mapping[Key, FixedSet | SlotSet]
) -> tuple[Compiled | None, bool]:
    """The program, and whether it serves any values of the ordinary parameters."""
    try:
        return compile_counterpart(model, ruler, forms, branched=True), True
    except Uncompilable:
        try:
            # Parameters at their values, where they cannot stay parameters.
            frozen = compile_counterpart(
                model, ruler, forms, frozen=True, branched=True
            )
        except Uncompilable:
            return None, False
        return frozen, False


def _slot_set(number: int, key: UncertainKey, region: UncertaintySet) -> SlotSet | None:
    """How sets that differ by slots only enter; None for others."""
    if key.predicted is None or not isinstance(region, Sublevel):
        return None
    if not region.loss.has_slots:
        return None
    none = np.zeros(region.dim, dtype=bool)
    return slot_set(number, (region.loss,), region.prediction, none)


def _mark(key: UncertainKey, region: UncertaintySet) -> object:
    """What sets have in common that share a program: a loss, or the set itself."""
    if key.predicted is not None and isinstance(region, Sublevel):
        return region.loss
    return region


def _put(
    slots: Array, program: ConeProgram, number: int, region: UncertaintySet
) -> None:
    """Write the numbers of a set into its slots, if it has any."""
    if not isinstance(region, Sublevel) or isinstance(region, Mixed):
        return
    numbers = region.loss.slots(region.prediction, region.effective_budget)
    for name, value in numbers.items():
        label = f"{number}.0.{name}"
        if label in program.slots:
            slots[program.slots[label]] = np.reshape(value, -1)
