"""The worst labels against brute force, an integer program, and by hand."""

from itertools import product

import numpy as np
import pytest

import sublevel.labels.oracle as label_oracle
from sublevel.errors import InvalidParameter
from sublevel.labels.oracle import best_labels, milp_labels, pareto_labels
from sublevel.labels.table import TOLERANCE, LabelTable
from sublevel.sets import TOLERANCE as SET_TOLERANCE


def cross_entropy(rng, k):
    return -np.log(np.maximum(rng.dirichlet(np.full(k, 0.7)), 1e-12))


def hinge(rng, k):
    return 2 * (1 - rng.dirichlet(np.ones(k)))


def zero_one(rng, k):
    return (np.arange(k) != rng.integers(k)).astype(float)


COSTS = [cross_entropy, hinge, zero_one]


def instance(rng, cost, blocks, most):
    sizes = rng.integers(1, most + 1, size=blocks)
    costs = [cost(rng, k) for k in sizes]
    gains = [rng.normal(size=k) for k in sizes]
    least, largest = (sum(f(c) for c in costs) for f in (np.min, np.max))
    return gains, costs, float(least + rng.uniform(-0.05, 0.9) * (largest - least))


def value(table, labels):
    return float(sum(row[j] for row, j in zip(table, labels, strict=True)))


def brute_force(gains, costs, budget):
    budget = max(budget, sum(float(c.min()) for c in costs))
    pairs = [
        (value(costs, labels), value(gains, labels))
        for labels in product(*(range(len(g)) for g in gains))
    ]
    slack = TOLERANCE * abs(budget)
    return sorted(pair for pair in pairs if pair[0] <= budget + slack)


@pytest.mark.parametrize("cost", COSTS)
def test_best_labels_equal_brute_force(cost):
    rng = np.random.default_rng(0)
    for _ in range(170):
        gains, costs, budget = instance(rng, cost, int(rng.integers(1, 7)), 4)
        labels = best_labels(gains, costs, budget)
        pairs = brute_force(gains, costs, budget)
        assert value(gains, labels) == pytest.approx(max(g for _, g in pairs))
        assert value(costs, labels) <= pairs[-1][0] + 1e-12


@pytest.mark.parametrize("cost", COSTS)
def test_pareto_labels_equal_brute_force(cost):
    rng = np.random.default_rng(1)
    for _ in range(40):
        gains, costs, budget = instance(rng, cost, int(rng.integers(1, 6)), 4)
        spent, gained, labels = pareto_labels(gains, costs, budget)
        pairs = brute_force(gains, costs, budget)
        for cost_, gain, row in zip(spent, gained, labels, strict=True):
            assert value(costs, row) == pytest.approx(cost_)
            assert value(gains, row) == pytest.approx(gain)
            affordable = [g for c, g in pairs if c <= cost_ + 1e-12]
            assert gain == pytest.approx(max(affordable))
        assert gained[-1] == pytest.approx(max(g for _, g in pairs))
        assert (np.diff(spent) > 0).all()
        assert (np.diff(gained) > 0).all()


@pytest.mark.parametrize("cost", COSTS)
def test_best_labels_equal_the_integer_program(cost):
    rng = np.random.default_rng(2)
    for blocks in (20, 60):
        for _ in range(6):
            gains, costs, budget = instance(rng, cost, blocks, 5)
            found = value(gains, best_labels(gains, costs, budget))
            truth = value(gains, milp_labels(gains, costs, budget))
            assert found == pytest.approx(truth, rel=1e-6)


def test_hard_instances_where_cost_equals_gain():
    # Subset sums: the dual bound says nothing, so the lists do all the work.
    rng = np.random.default_rng(3)
    costs = [np.array([0.0, c]) for c in rng.integers(1, 1000, 15)]
    budget = 0.4 * sum(c[1] for c in costs)
    sums = np.zeros(1)
    for _, c in costs:
        sums = np.unique(np.concatenate([sums, sums + c]))
    labels = best_labels(costs, costs, budget)
    assert value(costs, labels) == sums[sums <= budget].max()


def test_long_lists_fall_back_on_the_integer_program(monkeypatch):
    rng = np.random.default_rng(4)
    gains, costs, budget = instance(rng, cross_entropy, 12, 4)
    truth = value(gains, best_labels(gains, costs, budget))
    monkeypatch.setattr(label_oracle, "MOST_STATES", 1)
    assert value(gains, best_labels(gains, costs, budget)) == pytest.approx(truth)
    with pytest.raises(InvalidParameter, match=r"pareto_labels\(costs=...\) must"):
        pareto_labels(gains, costs, budget)


def test_values_worked_by_hand():
    gains, costs = [[0, 5], [0, 4], [0, 3]], [[0, 2], [0, 1], [0, 1]]
    assert best_labels(gains, costs, 2).tolist() == [0, 1, 1]
    assert best_labels(gains, costs, 3).tolist() == [1, 1, 0]
    assert best_labels(gains, costs, 1.99).tolist() == [0, 1, 0]
    assert best_labels(gains, costs, 0).tolist() == [0, 0, 0]


def test_boundary_is_affordable():
    costs = [[0.0, 0.1], [0.0, 0.2]]
    assert 0.1 + 0.2 > 0.3
    assert best_labels([[0, 1], [0, 1]], costs, 0.3).tolist() == [1, 1]
    assert best_labels([[0, 1], [0, 1]], costs, 0.3 - 1e-5).tolist() != [1, 1]


def test_budget_below_the_least_costs_gives_the_cheapest_labels():
    gains, costs = [[0.0, 1.0, 9.0], [0.0, 1.0]], [[1.0, 1.0, 2.0], [3.0, 4.0]]
    for budget in (3.9, 0.0, -5.0, -np.inf):
        assert best_labels(gains, costs, budget).tolist() == [1, 0]
        assert milp_labels(gains, costs, budget).tolist() == [1, 0]


def test_infinite_budget_allows_everything_and_infinite_costs_nothing():
    gains, costs = [[0.0, 1.0], [1.0, 0.0]], [[0.0, np.inf], [0.0, 1.0]]
    assert best_labels(gains, costs, np.inf).tolist() == [1, 0]
    assert best_labels(gains, costs, 1e9).tolist() == [0, 0]


def test_negative_costs_shift_the_budget():
    gains, costs = [[0.0, 1.0], [0.0, 2.0]], [[-3.0, -1.0], [-1.0, 0.5]]
    assert best_labels(gains, costs, -2.5).tolist() == [0, 1]


@pytest.mark.parametrize(
    "gains, costs, budget, message",
    [
        ([[0.0]], [[0.0, 1.0]], 1, "same number of classes"),
        ([[0.0, np.inf]], [[0.0, 1.0]], 1, "gains=...\\) must be finite"),
        ([[0.0, 1.0]], [[0.0, np.nan]], 1, "costs=...\\) must be free of NaN"),
        ([[0.0, 1.0]], [[np.inf, np.inf]], 1, "finite cost in every block, got none"),
        ([[0.0, 1.0]], [[0.0, 1.0]], np.nan, "budget=...\\) must be a number"),
        ([], [], 1, "one non-empty vector a block"),
        ([[[0.0]]], [[0.0]], 1, "one non-empty vector a block"),
        ([["a"]], [[0.0]], 1, "must be numeric"),
    ],
)
def test_errors(gains, costs, budget, message):
    with pytest.raises(InvalidParameter, match=message):
        best_labels(gains, costs, budget)


def test_the_slack_is_that_of_sets():
    assert TOLERANCE == SET_TOLERANCE


def test_table_has_gain_and_cost_of_labels():
    table = LabelTable.of([[0.0, 1.0], [2.0]], [[1.0, 3.0], [5.0]], budget=9.0)
    labels = np.array([1, 0])
    assert table.gain(labels) == 3.0
    assert table.cost(labels) == 2.0
    assert table.least == 6.0
