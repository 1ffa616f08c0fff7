"""Parts of a model that bend the outcome downwards: a solver maximises them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import cvxpy as cp
import numpy as np

from ...checks import Array
from ...conic.maximise import maximise_expression
from ...errors import EmptySet, NotRobustifiable
from ...sets import UncertaintySet
from ..model.nature import Nature
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

    @property
    def keys(self) -> list[int]:
        """Numbers of the keys it sees."""
        return sorted({self.frame.outcomes[p][1] for p in self.nature.outcomes})

    def worst(
        self, values: Array, ordinary: Array, oracles: Sequence[SetOracle]
    ) -> list[dict[int, Array]]:
        """For each entry the outcomes at which it is largest, over convex parts.

        None for sets of few outcomes, which are tried one by one.
        """
        regions = [
            _region(oracles[key], i) for key in self.keys for i in range(len(values))
        ]
        if any(region.listed() is not None for region in regions):
            return []
        joints = []
        for entry in range(self.nature.view.size):
            each = [
                self._at(values[i], ordinary, oracles, i, entry)
                for i in range(len(values))
            ]
            joints.append(
                {k: oracles[k].signed(np.stack([o[k] for o in each])) for k in each[0]}
            )
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
        keys = self.keys
        parts = [_region(oracles[key], i).parts() for key in keys]
        best: tuple[float, dict[int, Array]] | None = None
        for choice in product(*parts):
            outcomes = {
                k: cp.Variable(p.dim) for k, p in zip(keys, choice, strict=True)
            }
            inside = [
                c
                for part, y in zip(choice, outcomes.values(), strict=True)
                for c in part.constraints(y)
            ]
            first = next(iter(outcomes.values()))
            try:
                value, _ = maximise_expression(
                    aim, first, [*inside, *self._tied(outcomes)]
                )
            except EmptySet:
                continue
            if best is None or value > best[0]:
                best = value, {k: np.array(y.value) for k, y in outcomes.items()}
        if best is None:
            raise EmptySet("A set is empty: no outcome is in it.")
        return best[1]

    def _tied(self, outcomes: dict[int, cp.Variable]) -> list[cp.Constraint]:
        """The parameters' places in their keys' outcomes."""
        conditions = []
        for number, variable in self.nature.outcomes.items():
            start, key = self.frame.outcomes[number]
            part = outcomes[key][start : start + variable.size]
            conditions.append(cp.vec(variable, order="F") == part)
        return conditions


def _region(oracle: SetOracle, i: int) -> UncertaintySet:
    if isinstance(oracle, BatchOracle):
        return oracle.region(i) if oracle.nonneg.any() else oracle.batch[i]
    if isinstance(oracle, FixedOracle) and isinstance(oracle.region, UncertaintySet):
        return oracle.region
    raise NotRobustifiable(
        "A constraint bends the outcome, and an oracle of linear worst cases cannot "
        "say what is worst then. Give the outcome a set."
    )
