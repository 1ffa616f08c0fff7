"""The paper's three problems through the library's front door: data, sets, model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
from sklearn.linear_model import LogisticRegression

from sublevel.errors import InvalidParameter
from sublevel.loss_set import LossSet
from sublevel.models import MeanVarianceRegressor
from sublevel.predictions import SharedModel
from sublevel.robust import RobustProblem, Uncertain

from ..experiments import generators
from ..experiments.newsvendor import DEMANDS, ORDER, SHORT
from ..experiments.relaxed_path import balance
from ..experiments.settings import EXPERIMENTS, Setting

#: The setting of the paper that the demonstration shows.
SHOWN = {
    "newsvendor": Setting("newsvendor", 0.5, 2000),
    "portfolio": Setting("portfolio", 1.0, 1000),
    "shortest-path": Setting("shortest-path", 0.2, 5000, 1),
}
HOLDING = 4.0


@dataclass(frozen=True)
class Model:
    """A problem ready to be decided.

    Attributes
    ----------
    draw : from a generator and a number of instances to contexts and outcomes
    sets : untrained
    build : from sets to the robust problem
    training, test : instances to train on, and to test on
    """

    draw: Callable[[np.random.Generator, int], tuple[Any, Any]]
    sets: LossSet
    build: Callable[[LossSet], RobustProblem]
    training: int
    test: int = 1000


def model_of(problem: str) -> Model:
    """The demonstration's model of a problem of the paper."""
    if problem not in SHOWN:
        raise InvalidParameter(
            f"demo(problem=...) must be one of {', '.join(SHOWN)}, got {problem!r}."
        )
    if problem == "newsvendor":
        classifier = LogisticRegression()
        sets = LossSet(classifier, loss="cross_entropy")
        # Sets of labels are decided one by one, so fewer of them are tested.
        return Model(_demand, sets, _order, 2000, test=300)
    m = EXPERIMENTS[problem].components
    shared = SharedModel(MeanVarianceRegressor())
    build = _invest if problem == "portfolio" else _route
    return Model(
        partial(_costs, SHOWN[problem], m),
        LossSet(shared, loss="gaussian"),
        build,
        SHOWN[problem].size // m,
    )


def _demand(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    X, high = generators.newsvendor(rng, n, SHOWN["newsvendor"].noise)
    return X, np.where(high == 1, "high", "low")


def _costs(setting: Setting, m: int, rng: np.random.Generator, n: int) -> Any:
    if setting.problem == "portfolio":
        return generators.portfolio(rng, (n, m), setting.noise)
    return generators.shortest_path(rng, (n, m), setting.noise, setting.degree)


def _order(sets: LossSet) -> RobustProblem:
    """How much to order, before demand is known to be high or low."""
    order = cp.Variable(nonneg=True, name="order")
    happens = Uncertain(2, name="demand", nonneg=True)
    # Labels are in alphabetical order: high, low.
    demands = DEMANDS[::-1]
    each = ORDER * order + SHORT * cp.pos(demands - order)
    each += HOLDING * cp.pos(order - demands)
    return RobustProblem(cp.Minimize(happens @ each), [], {happens: sets})


def _invest(sets: LossSet) -> RobustProblem:
    """How to divide one unit of wealth; costs are minus returns."""
    share, costs = cp.Variable(5, nonneg=True, name="share"), Uncertain(5, name="costs")
    return RobustProblem(
        cp.Minimize(costs @ share), [cp.sum(share) == 1], {costs: sets}
    )


def _route(sets: LossSet) -> RobustProblem:
    """A unit flow from the north-west to the south-east corner of the grid."""
    into, need = balance()
    flow, costs = cp.Variable(40, nonneg=True, name="flow"), Uncertain(40, name="costs")
    return RobustProblem(
        cp.Minimize(costs @ flow), [into @ flow == need], {costs: sets}
    )
