"""LabelSet: never empty, counted, sampled, listed, encoded; and its errors."""

from itertools import product
from math import inf

import cvxpy as cp
import numpy as np
import pytest

from sublevel.errors import InvalidParameter, UnseenClass
from sublevel.sets import LabelSet, label_costs, label_set


def random_set(rng, most_blocks=4, rounded=False):
    sizes = rng.integers(1, 4, size=int(rng.integers(1, most_blocks + 1)))
    costs = tuple(-np.log(rng.dirichlet(np.ones(k))) for k in sizes)
    if rounded:
        costs = tuple(np.round(c, 1) for c in costs)
    least = sum(c.min() for c in costs)
    return LabelSet(costs, float(least + rng.normal() * 2))


def brute_force(value):
    """Every member, one-hot, from the definition."""
    found = []
    for labels in product(*(range(c.size) for c in value.costs)):
        cost = sum(c[j] for c, j in zip(value.costs, labels, strict=True))
        if cost <= value.effective_budget * (1 + 1e-9):
            blocks = zip(value.costs, labels, strict=True)
            found.append(np.concatenate([np.eye(c.size)[j] for c, j in blocks]))
    return np.array(found)


def test_it_is_never_empty():
    value = LabelSet(([2.0, 1.0], [3.0, 4.0]), budget=-9.0)
    assert value.effective_budget == 4.0
    assert value.labels() == ((1,), (0,))
    assert value.contains([0, 1, 1, 0])
    assert value.volume() == 1.0
    assert value.worst_case([9.0, 0.0, 0.0, 9.0]).tolist() == [0, 1, 1, 0]
    assert LabelSet(([2.0, 1.0],), -inf).volume() == 1.0


@pytest.mark.parametrize("rounded", [False, True])
def test_members_equal_brute_force(rounded):
    rng = np.random.default_rng(0)
    for _ in range(60):
        value = random_set(rng, rounded=rounded)
        members = brute_force(value)
        assert len(members) > 0
        assert value.volume() == len(members)
        assert value.contains(members).all()
        assert np.array_equal(
            np.unique(value.listed(), axis=0), np.unique(members, axis=0)
        )
        lower, upper = value.bounds()
        assert lower.tolist() == members.min(axis=0).tolist()
        assert upper.tolist() == members.max(axis=0).tolist()
        seen = [len(block) for block in value.labels()]
        assert sum(seen) == upper.sum()
        grid = np.array(list(product([0, 1], repeat=value.dim)))
        assert value.contains(grid).sum() == len(members)


def test_samples_are_uniform_over_members():
    value = LabelSet(([0.0, 1.0, 1.5], [0.0, 1.0], [0.0, 0.5, 3.0]), budget=1.6)
    members, n = brute_force(value), 12_000
    draws = value.sample(n, random_state=0)
    assert value.contains(draws).all()
    counts = (draws[:, None, :] == members).all(axis=2).sum(axis=0)
    assert counts.sum() == n
    share = 1 / len(members)
    assert np.abs(counts - n * share).max() <= 5 * np.sqrt(n * share * (1 - share))


def test_only_labels_are_members():
    value = LabelSet(([0.0, 0.0],), 1.0)
    assert not value.contains([0.5, 0.5])
    assert not value.contains([1.0, 1.0])
    assert not value.contains([0.0, 0.0])
    assert not value.contains([2.0, 0.0])


def test_infinite_costs_and_budgets():
    value = LabelSet(([0.0, inf], [1.0, 2.0, inf]), budget=9.0)
    assert value.labels() == ((0,), (0, 1))
    assert value.volume() == 2.0
    everything = LabelSet(([0.0, inf], [1.0, 2.0, inf]), budget=inf)
    assert everything.labels() == ((0, 1), (0, 1, 2))
    assert everything.volume() == 6.0
    assert everything.worst_case([0, 1, 0, 0, 1]).tolist() == [0, 1, 0, 0, 1]
    assert everything.contains([0, 1, 0, 0, 1])
    assert everything.relaxation().support([0, 1, 0, 0, 1]) == pytest.approx(2.0)
    assert len(everything.sample(5, 0)) == 5


def test_constraints_are_exact():
    rng = np.random.default_rng(1)
    for _ in range(10):
        value = random_set(rng)
        direction = rng.normal(size=value.dim)
        y = cp.Variable(value.dim)
        problem = cp.Problem(cp.Maximize(direction @ y), value.constraints(y))
        problem.solve(solver=cp.HIGHS)
        assert problem.value == pytest.approx((brute_force(value) @ direction).max())


def test_relaxation_is_exact_for_integer_budgets_of_the_zero_one_loss():
    rng = np.random.default_rng(2)
    costs = tuple(np.array([0.0, 1.0, 1.0]) for _ in range(5))
    value = LabelSet(costs, budget=2.0)
    for direction in rng.normal(size=(10, value.dim)):
        relaxed = value.relaxation().support(direction)
        assert relaxed == pytest.approx(value.support(direction), abs=1e-5)


def test_many_blocks_are_counted_without_listing():
    costs = tuple(np.array([0.0, 1.0, 2.0]) for _ in range(40))
    assert LabelSet(costs, inf).volume() == pytest.approx(3.0**40)
    value = LabelSet(costs, 1.0)
    assert value.volume() == 41.0
    assert LabelSet(costs, 40.0).listed() is None
    assert LabelSet(costs, 40.0).contains(LabelSet(costs, 40.0).sample(50, 0)).all()


def test_too_many_distinct_costs_to_count(monkeypatch):
    monkeypatch.setattr(label_costs, "MOST_COSTS", 10)
    rng = np.random.default_rng(0)
    value = LabelSet(tuple(rng.exponential(size=(6, 3))), budget=9.0)
    with pytest.raises(InvalidParameter, match="at most 10 distinct partial costs"):
        value.volume()


def test_discrete_sets_have_no_directions():
    value = LabelSet(([0.0, 1.0], [1.0, 0.0]), 0.0)
    assert value.hull_basis().shape == (4, 0)
    assert value.contains(value.interior_point())


def test_listing_stops_early(monkeypatch):
    monkeypatch.setattr(label_set, "MOST_LISTED", 3)
    assert LabelSet(([0.0, 0.0], [0.0, 0.0]), 1.0).listed() is None


def test_encode_and_decode():
    value = LabelSet(([0.1, 2.0], [0.1, 0.2]), 9.0, (["cat", "dog"], [7, 8]))
    assert value.encode(["dog", 7]).tolist() == [0, 1, 1, 0]
    rows = value.encode([["dog", 7], ["cat", 8]])
    assert rows.shape == (2, 4)
    assert value.decode(rows) == [("dog", 7), ("cat", 8)]
    assert value.labels() == (("cat", "dog"), (7, 8))
    with pytest.raises(UnseenClass, match=r"classes of block 1, \[7, 8\], got 9"):
        value.encode(["dog", 9])
    with pytest.raises(InvalidParameter, match=r"must be of shape \(2,\) or \(n, 2\)"):
        value.encode(["dog"])
    with pytest.raises(InvalidParameter, match=r"must be of shape \(4,\) or \(n, 4\)"):
        value.decode([1.0, 0.0])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([0.1, 0.2], 1.0), r"one vector of costs a block, got numbers"),
        (((), 1.0), "non-empty sequence of vectors"),
        ((3.0, 1.0), "non-empty sequence of vectors"),
        ((([np.nan, 1.0],), 1.0), r"costs\[0\]=...\) must be free of NaN"),
        ((([inf, inf],), 1.0), r"costs\[0\]=...\) must have a finite cost"),
        ((([-inf, 0.0],), 1.0), "none of -inf"),
        ((([0.0], []), 1.0), r"costs\[1\]=...\) must be a non-empty vector"),
        ((([0.0],), np.nan), r"budget=...\) must be free of NaN"),
        ((([0.0],), "a"), r"budget=...\) must be numeric"),
        ((([0.0, 1.0],), 1.0, (["a"],)), r"must name \(2,\) classes"),
        ((([0.0, 1.0],), 1.0, (["a", "a"],)), "distinct within a block"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        LabelSet(*arguments)


def test_repr_and_copies():
    cost = np.array([0.0, 1.0])
    value = LabelSet((cost,), 0.5)
    cost[:] = 0.0
    assert value.volume() == 1.0
    assert repr(value) == "LabelSet(0; budget=0.5)"


def test_repr_has_the_labels_that_are_possible():
    names = (["cat", "dog", "fox"], ["in", "out"])
    pets = LabelSet(([0.1, 0.3, 5.0], [0.2, 9.0]), 1.0, names)
    assert repr(pets) == "LabelSet(cat or dog; in; budget=1)"
    many = LabelSet([np.zeros(9)] * 8, 1.0)
    assert "5 or 3 more" in repr(many)
    assert repr(many).endswith("; ...; budget=1)")


def test_labels_are_plain_values():
    value = LabelSet((np.zeros(2), np.zeros(1)), 1.0, (np.array([3, 5]), ["in"]))
    assert repr(value.labels()) == "((3, 5), ('in',))"
