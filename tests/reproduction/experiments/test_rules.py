"""Closed forms against the robust engine, enumeration and conic solves."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from reproduction.experiments.ellipsoids import Placed
from reproduction.experiments.relaxed_path import balance, relaxed_facts, robust_flow
from reproduction.experiments.rules import GridPaths, Simplex
from sublevel.models.nets import GridPathOracle


def sets_at(rng, n, m):
    return rng.normal(size=(n, m)), rng.uniform(0.2, 2.0, size=(n, m))


@pytest.mark.parametrize("radius", [0.0, 0.01, 0.5, 2.0, 50.0])
def test_simplex_is_what_the_engine_finds(radius):
    location, scale = sets_at(np.random.default_rng(int(10 * radius)), 8, 5)
    x, worst = Simplex().decide(location, scale, radius)
    assert (x >= 0).all()
    assert x.sum(axis=1) == pytest.approx(np.ones(8))
    told = (location * x).sum(axis=1) + radius * np.linalg.norm(scale * x, axis=1)
    assert worst == pytest.approx(told)
    for i in range(4):
        share, costs = cp.Variable(5, nonneg=True), sl.Uncertain(5, name="costs")
        problem = sl.RobustProblem(
            cp.Minimize(costs @ share),
            [cp.sum(share) == 1],
            {costs: sl.sets.Ellipsoid(location[i], scale[i], max(radius, 1e-9))},
        )
        assert problem.solve().objective == pytest.approx(worst[i], abs=1e-6)


def test_simplex_takes_a_radius_for_each_context():
    location, scale = sets_at(np.random.default_rng(1), 6, 5)
    radii = np.array([0.0, 0.1, 1.0, 2.0, 3.0, 9.0])
    _, worst = Simplex().decide(location, scale, radii)
    for i, radius in enumerate(radii):
        alone = Simplex().decide(location[[i]], scale[[i]], radius)[1][0]
        assert worst[i] == pytest.approx(alone)


def test_paths_are_those_of_the_shortest_path_oracle():
    costs = np.random.default_rng(2).normal(size=(200, 40))
    rule = GridPaths(5)
    assert len(np.unique(rule.paths, axis=0)) == 70
    found = (GridPathOracle(5)(costs) * costs).sum(axis=1)
    assert rule.best(costs) == pytest.approx(found)
    into, need = balance()
    assert (rule.paths @ into.T == need).all()


def test_equal_spread_leaves_the_nominal_path():
    costs = np.random.default_rng(3).normal(size=(50, 40))
    nominal, _ = GridPaths().decide(costs, np.ones((50, 40)), 0.0)
    robust, worst = GridPaths().decide(costs, np.ones((50, 40)), 5.0)
    assert (nominal == robust).all()
    assert worst == pytest.approx(GridPaths().best(costs) + 5.0 * np.sqrt(8))
    uneven = np.random.default_rng(4).uniform(0.1, 3.0, size=(50, 40))
    assert (GridPaths().decide(costs, uneven, 5.0)[0] != nominal).any()


def test_a_flow_costs_at_most_the_best_path():
    rng = np.random.default_rng(5)
    location, scale = sets_at(rng, 3, 40)
    found = relaxed_facts(Placed(location, scale), 1.0)
    assert found["relaxed"] <= found["integer"] + 1e-6
    flow, value = robust_flow(location[0], scale[0], 1.0)
    told = location[0] @ flow + np.linalg.norm(scale[0] * flow)
    assert value == pytest.approx(told, abs=1e-5)
