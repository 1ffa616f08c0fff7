"""Portfolio and shortest path: one cell, every method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sublevel.checks import Array
from sublevel.guarantees import Marginal
from sublevel.theory.classical import ellipsoid_radius

from . import generators
from .decision_aware import decision_aware_radii, exceeds
from .ellipsoids import (
    Placed,
    ResidualQuantile,
    by_network,
    classical,
    classical_radius,
    nearest,
    share_inside,
)
from .network_losses import GaussianLikelihood, SquaredError
from .plain_network import Networks, train
from .relaxed_path import relaxed_facts
from .rules import GridPaths, Rule, Simplex
from .seeds import generator
from .settings import ALPHAS, EXPERIMENTS, Cell, Setting, calibration_size
from .smart import smart_costs
from .tabulated import TabulatedLLN

#: Instances of the test set behind the paper's radii.
PAPER_TEST = 100
#: Instances on which the nearest neighbours are tried.
NEIGHBOURED = 400
#: Instances on which flows are compared with paths.
FLOWS = 10


@dataclass(frozen=True)
class Draw:
    """The data of one seed, costs standardised by the training rows.

    Attributes
    ----------
    rows, row_costs : (N, p) and (N,), what models learn from
    test, calibration, population : pairs of covariates (n, m, p) and costs (n, m)
    """

    rows: Array
    row_costs: Array
    test: tuple[Array, Array]
    calibration: tuple[Array, Array]
    population: tuple[Array, Array]


def run(cell: Cell) -> list[dict[str, Any]]:
    """The facts of every seed of a cell."""
    draws = [_draw(cell, seed) for seed in cell.seeds]
    halves = [len(draw.rows) // 2 for draw in draws]
    networks = {
        "MSE": _networks(cell, draws, SquaredError(), 1),
        "MSEV": _networks(cell, draws, GaussianLikelihood(), 2),
        "half": _networks(cell, draws, SquaredError(), 3, halves[0]),
    }
    smart = smart_costs(cell, [(d.rows, d.row_costs, d.population[0]) for d in draws])
    collected = []
    for i, (seed, draw) in enumerate(zip(cell.seeds, draws, strict=True)):
        trained = {
            name: partial(by_network, nets, i) for name, nets in networks.items()
        }
        bench = Bench(draw, rule_of(cell.setting))
        rows = [row for part in _methods(bench, trained, smart[i]) for row in part]
        facts = {"seed": seed, "rows": rows}
        if cell.setting.problem == "shortest-path":
            facts["flows"] = _flows(draw, trained)
        collected.append(facts)
    return collected


def rule_of(setting: Setting) -> Rule:
    """How the setting's problem decides."""
    return Simplex() if setting.problem == "portfolio" else GridPaths()


@dataclass(frozen=True)
class Bench:
    """The data of one seed, the problem, and how a set is judged there."""

    draw: Draw
    rule: Rule

    def judge(
        self, method: str, placed: Placed, alpha: float, radius: float, **more: Any
    ) -> dict[str, Any]:
        """What sets of this radius do on the population."""
        costs = self.draw.population[1]
        x, certified = self.rule.decide(placed.location, placed.scale, radius)
        realised = (costs * x).sum(axis=1)
        return {
            "method": method,
            "alpha": alpha,
            "radius": radius * float(placed.scale.mean()),
            "objective": float(certified.mean()),
            "regret": float((realised - self.rule.best(costs)).mean()),
            "violation": float(exceeds(realised, certified).mean()),
            "tested": len(costs),
            **more,
        }


def _methods(
    bench: Bench, trained: dict[str, Any], smart: Array
) -> Iterator[list[dict[str, Any]]]:
    for loss in ("MSE", "MSEV"):
        yield _by_loss(bench, loss, trained[loss])
    yield _classical(bench)
    yield _nearest(bench)
    yield _calibrated(bench, trained["half"])
    placed = trained["MSE"](bench.draw.population[0])
    yield [bench.judge("Predict, then optimise", placed, a, 0.0) for a in ALPHAS]
    costs = Placed(smart, np.ones_like(smart))
    yield [bench.judge("SPO+", costs, a, 0.0) for a in ALPHAS]


def _by_loss(bench: Bench, loss: str, place: Any) -> list[dict[str, Any]]:
    """The paper's set with the paper's radius, the proved one, and ours."""
    draw, rows = bench.draw, []
    test, calibration, there = (
        place(X) for X, _ in (draw.test, draw.calibration, draw.population)
    )
    aware = decision_aware_radii(bench.rule, calibration, draw.calibration[1], ALPHAS)
    on_test = test.losses(draw.test[1])
    on_all = there.losses(draw.population[1])
    proved = calibration.losses(draw.calibration[1]).sum(axis=1)
    for alpha, small in zip(ALPHAS, aware, strict=True):
        radius = TabulatedLLN().radius(on_test, alpha)
        unit = float(there.scale.mean())
        more = {
            "published_unit": radius * float(test.scale.mean()),
            "population_radius": TabulatedLLN().radius(on_all, alpha) * unit,
        }
        rows.append(bench.judge(f"{loss}, paper", there, alpha, radius, **more))
        budget = Marginal().calibrate(proved, alpha).budget
        rows.append(
            bench.judge(f"{loss}, Th. 3.1", there, alpha, float(np.sqrt(budget)))
        )
        rows.append(bench.judge(f"{loss}, decision-aware", there, alpha, small))
    return rows


def _flows(draw: Draw, trained: dict[str, Any]) -> dict[str, Any]:
    """Flows against paths at the paper's radius, on a few of its test instances."""
    collected = {}
    for loss in ("MSE", "MSEV"):
        placed = trained[loss](draw.test[0])
        radius = TabulatedLLN().radius(placed.losses(draw.test[1]), ALPHAS[0])
        few = Placed(placed.location[:FLOWS], placed.scale[:FLOWS])
        collected[loss] = relaxed_facts(few, radius)
    return collected


def _classical(bench: Bench) -> list[dict[str, Any]]:
    draw, rows = bench.draw, []
    # The paper reads mean and deviation off the outcomes it knows.
    m = draw.population[1].shape[1]
    past = draw.row_costs[: len(draw.row_costs) // m * m].reshape(-1, m)
    placed = classical(past, len(draw.population[1]))
    for alpha in ALPHAS:
        shown = classical_radius(draw.test[1], alpha)
        rows.append(
            bench.judge(
                "Classical",
                placed,
                alpha,
                ellipsoid_radius(alpha),
                published_unit=shown,
            )
        )
    return rows


def _nearest(bench: Bench) -> list[dict[str, Any]]:
    draw = bench.draw
    # Neighbours are slow to find, and fewer contexts tell as much.
    X, costs = (part[:NEIGHBOURED] for part in draw.population)
    few = replace(bench, draw=replace(draw, population=(X, costs)))
    placed = nearest(draw.rows, draw.row_costs, X)
    return [few.judge("kNN", placed, a, ellipsoid_radius(a)) for a in ALPHAS]


def _calibrated(bench: Bench, place: Any) -> list[dict[str, Any]]:
    """Predict-then-calibrate: half the rows for the model, a quarter for each rest."""
    draw, collected = bench.draw, []
    n, m = len(draw.rows), draw.population[1].shape[1]
    first, second = slice(n // 2, 3 * n // 4), slice(3 * n // 4, n)
    X, costs = draw.rows, draw.row_costs
    residuals = costs[first] - place(X[first]).location
    count = (n - second.start) // m * m
    last = X[second][:count].reshape(-1, m, X.shape[1])
    happened = costs[second][:count].reshape(-1, m)
    center, there = place(last).location, place(draw.population[0]).location
    shape = ResidualQuantile.fit(X[first], residuals)
    losses = Placed(center, shape.scale(last)).losses(happened)
    placed = Placed(there, shape.scale(draw.population[0]))
    for alpha in ALPHAS:
        radius = share_inside(losses, alpha)
        collected.append(
            bench.judge(
                "Predict, then calibrate", placed, alpha, radius, instances=len(last)
            )
        )
    return collected


def _draw(cell: Cell, seed: int) -> Draw:
    setting, extent = cell.setting, cell.extent
    make = _maker(setting)
    rng = generator(cell, seed, 0)
    rows, costs = make(rng, (setting.size,))
    center, unit = costs.mean(), costs.std()
    m = EXPERIMENTS[setting.problem].components
    parts = []
    fresh = calibration_size(setting.problem, extent)
    for n in (PAPER_TEST, fresh, extent.population):
        X, Y = make(rng, (n, m))
        parts.append((X, (Y - center) / unit))
    return Draw(rows, (costs - center) / unit, *parts)


def _maker(setting: Setting) -> Any:
    if setting.problem == "portfolio":
        return partial(generators.portfolio, noise=setting.noise)
    return partial(generators.shortest_path, noise=setting.noise, degree=setting.degree)


def _networks(
    cell: Cell, draws: list[Draw], criterion: Any, purpose: int, rows: int | None = None
) -> Networks:
    X = np.stack([draw.rows[:rows] for draw in draws])
    y = np.stack([draw.row_costs[:rows] for draw in draws])
    return train(X, y, criterion, [generator(cell, s, purpose) for s in cell.seeds])
