"""The cone program of many weighted scenarios, from that of a single one.

CVXPY reads the model of one scenario; `conic.copies` writes it out for all of them. The
judge of the user's own problem looks at every scenario.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from ..conic.canonical import cone_program
from ..conic.choice import chosen
from ..conic.copies import Slots, copies
from ..conic.pinning import pinned
from ..conic.program import ConeProgram, Uncompilable
from ..conic.solver import Solver
from ..progress import Bar
from ..robust import RobustProblem
from ..robust.contexts import GivenSets
from ..robust.deciding import decide_chunks
from ..robust.decisions import DecisionArrays, Layout, Named, named
from ..robust.judge.scenario_rows import scenario_ruler
from ..robust.model.products import at_values, products_in
from ..robust.model.uncertain import key_signs
from ..robust.solve.chunk import ChunkTask
from ..robust.solve.compiled import compiled_program, refuse_moving_curvature
from ..robust.solve.prepared import Prepared
from .clairvoyant import Columns
from .scenario_model import Key, ScenarioModel
from .weights import Sample

#: Slots of scenarios, weights and mean.
NAMES = ("0.0.location", "1.0.location", "2.0.location")


class ScenarioProgram:
    """Decides at weighted scenarios, a fixed number of them a context.

    Uncompilable where one cone program of continuous decisions cannot say it.

    Parameters
    ----------
    problem : RobustProblem with one key
    count : number of scenarios
    constraints : "every" or "mean", what uncertain constraints must do
    """

    def __init__(self, problem: RobustProblem, count: int, constraints: str) -> None:
        self.prepared: Prepared = problem.prepared()
        model, ruler = self.prepared.model, self.prepared.ruler
        if model.is_mixed_integer:
            raise Uncompilable("some variables are integer")
        one = ScenarioModel(problem, 1, constraints)
        program = _program(one, self.prepared)
        shared = [program.variables[v.id].indices for v in model.variables]
        slots = _slots(program, one, count)
        program = copies(program, count, np.concatenate(shared), slots)
        signs = key_signs(one.key)
        self._widths = [len(signs) * count, count, len(signs)]
        judge = scenario_ruler(ruler, count, averaged=constraints == "mean")
        self._compiled = compiled_program(
            program,
            pinned(program),
            judge,
            [(v.id, v.size) for v in model.variables],
            (None, None, None),
            (np.tile(signs, count), np.zeros(count, dtype=bool), signs),
            list(NAMES),
            [p.size for p in model.ordinary],
        )
        self._solver: Solver = chosen(self._compiled.program).solver
        pairs = zip(NAMES, self._widths, strict=True)
        self.layout = Layout(
            tuple(named(v) for v in model.variables),
            tuple((Named(-1, name, (w,)),) for name, w in pairs),
            len(judge.uncertain),
            judge.rows,
        )

    def decide(
        self, sample: Sample, n_jobs: int | None, bar: Bar | None
    ) -> DecisionArrays:
        """The decision at every context of a sample."""
        n, ordinary = len(sample.weights), self.prepared.ordinary()
        table = np.hstack([sample.outcomes.reshape(n, -1), sample.weights, sample.mean])
        ends = np.cumsum(self._widths).tolist()
        batches = [
            Columns(end - width, end).predict_set(table)
            for width, end in zip(self._widths, ends, strict=True)
        ]
        slots = self._compiled.slots_at(ordinary)
        task = ChunkTask(self._compiled, slots, ordinary, self.layout, self._solver)
        sets = GivenSets((), list(batches), n, n)
        return decide_chunks(task, sets, n_jobs=n_jobs, bar=bar)


def _program(one: ScenarioModel, prepared: Prepared) -> ConeProgram:
    """The cone program of one scenario; each of its parameters is a slot."""
    parts = [one.objective, *one.constraints]
    products = products_in(parts)
    goal = at_values(one.objective.args[0] <= 0, products).args[0]
    written = [at_values(constraint, products) for constraint in one.constraints]
    labels = {p.id: f"ordinary.{k}" for k, p in enumerate(prepared.model.ordinary)}
    labels |= {p.id: str(p.id) for p in _parameters(one)}
    problem = cp.Problem(type(one.objective)(goal), written)
    program = cone_program(problem, labels)
    refuse_moving_curvature(program)
    return program


def _parameters(one: ScenarioModel) -> list[cp.Parameter]:
    return [*(one.scenarios or ()), one.weights, *one.mean]


def _slots(program: ConeProgram, one: ScenarioModel, count: int) -> Slots:
    """Slots of all scenarios: their outcomes, weights, the mean, then parameters."""
    size = sum(parameter.size for parameter in one.key)
    place, stride = np.zeros((2, program.size), dtype=int)
    widths = dict(zip(NAMES, (size * count, count, size), strict=True))
    own = {name: at for name, at in program.slots.items() if name.startswith("ord")}
    widths |= {name: at.stop - at.start for name, at in own.items()}
    ends = np.cumsum(list(widths.values())).tolist()
    names = {
        name: slice(end - width, end)
        for (name, width), end in zip(widths.items(), ends, strict=True)
    }
    for name, at in own.items():
        place[at] = np.arange(names[name].start, names[name].stop)
    groups: list[tuple[str, Key, int]] = [(NAMES[0], one.scenarios or (), size)]
    groups += [(NAMES[1], (one.weights,), 1), (NAMES[2], one.mean, 0)]
    weight = -1
    for name, parameters, further in groups:
        start = names[name].start
        for parameter in parameters:
            if str(parameter.id) in program.slots:
                at = program.slots[str(parameter.id)]
                place[at] = start + np.arange(parameter.size)
                stride[at] = further
                weight = at.start if parameter is one.weights else weight
            start += parameter.size
    place[-1] = ends[-1]
    return Slots(place, stride, weight, names)
