"""Parts of a model that bend the outcome downwards: nature maximises them by a solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from ...checks import Array
from ...conic.maximise import maximise_expression
from ...errors import EmptySet, NotRobustifiable
from ...sets import UncertaintySet
from .places import Nature
from .reading import Frame
from .set_oracles import BatchOracle, FixedOracle, SetOracle


@dataclass(frozen=True, eq=False)
class ConcavePart:
    """An expression that is concave in the outcome, entry by entry.

    Attributes
    ----------
    nature : the expression as nature sees it
    frame : where its leaves are
    """

    nature: Nature
    frame: Frame

    def worst(
        self, values: Array, ordinary: Array, oracles: Sequence[SetOracle]
    ) -> list[dict[int, Array]]:
        """For each entry the outcomes at which it is largest, over convex parts."""
        joints = []
        for entry in range(self.nature.view.size):
            each = [
                self._at(values[i], ordinary, oracles, i, entry)
                for i in range(len(values))
            ]
            joints.append({k: np.stack([one[k] for one in each]) for k in each[0]})
        return joints

    def _at(
        self,
        values: Array,
        ordinary: Array,
        oracles: Sequence[SetOracle],
        i: int,
        entry: int,
    ) -> dict[int, Array]:
        for leaf, given in self.nature.given.items():
            start = self.frame.variables[leaf]
            part = values[start : start + given.size]
            given.save_value(part.reshape(given.shape, order="F"))
        for parameter in self.nature.expression.parameters():
            if parameter.id in self.frame.ordinary:
                start = self.frame.ordinary[parameter.id]
                part = ordinary[start : start + parameter.size]
                parameter.save_value(part.reshape(parameter.shape, order="F"))
        aim = cp.vec(self.nature.view, order="F")[entry]
        best: tuple[float, dict[int, Array]] | None = None
        (key,) = {self.frame.outcomes[p][1] for p in self.nature.outcomes}
        for part in _region(oracles[key], i).parts():
            outcome = cp.Variable(part.dim)
            try:
                value, point = maximise_expression(
                    aim, outcome, [*part.constraints(outcome), *self._tied(outcome)]
                )
            except EmptySet:
                continue
            if best is None or value > best[0]:
                best = value, {key: point}
        if best is None:
            raise EmptySet("A set is empty: no outcome is in it.")
        return best[1]

    def _tied(self, outcome: cp.Variable) -> list[cp.Constraint]:
        """The parameters' places in the key's outcome."""
        conditions = []
        for number, variable in self.nature.outcomes.items():
            start, _ = self.frame.outcomes[number]
            part = outcome[start : start + variable.size]
            conditions.append(cp.vec(variable, order="F") == part)
        return conditions


def _region(oracle: SetOracle, i: int) -> UncertaintySet:
    if isinstance(oracle, BatchOracle):
        return oracle.signed(i) if oracle.nonneg.any() else oracle.batch[i]
    if isinstance(oracle, FixedOracle) and isinstance(oracle.region, UncertaintySet):
        return oracle.region
    raise NotRobustifiable(
        "A constraint bends the outcome, and an oracle of linear worst cases cannot say "
        "what is worst then. Give the outcome a set."
    )
