"""What is forgiven: how much, where, and that nothing far away adds to it."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.robust.judge import materiality
from sublevel.robust.judge.materiality import RESOLUTION
from sublevel.robust.judge.tape import Leaves


def held(*further, weights=None, low=1.0, high=2.0):
    """Is 5 enough for a limit of 1, at least 5 in need, by way of another entry?"""
    x, t, z, other = (cp.Variable(name=name) for name in ("x", "t", "z", "other"))
    y = sl.Uncertain(4, name="y")
    limits = [z >= 1, x >= z, y[0] * x <= t, other >= 0]
    limits += [each(x, y, other) for each in further]
    box = sl.sets.Box(np.full(4, low), np.array([high, *[max(1.0, low)] * 3]))
    problem = sl.RobustProblem(cp.Minimize(t), limits, {y: box})

    def passed(limit):
        return problem.audit({"x": 5.0, "t": limit, "z": 1.0, "other": 0.1}).passed

    return passed(1.0), passed(10.0)


LOOSE = {
    "a bound": lambda x, y, other: x <= 1e8,
    "a bound in other units": lambda x, y, other: 1e-9 * x <= 5,
    "a sum": lambda x, y, other: x + other <= 1e9,
    "an uncertain row": lambda x, y, other: y[0] * x <= 1e12,
    "a curve": lambda x, y, other: cp.exp(other) + 1e-12 * x <= 7,
    "no hold": lambda x, y, other: 1e-17 * x + other <= 5,
}
TENTHS = np.array([0.1, 0.2, -0.3])
CANCELLING = {
    "at an outcome": lambda x, y, other: other + (TENTHS @ y[1:]) * x <= 5,
    "in numbers": lambda x, y, other: other + 0.1 * x + 0.2 * x - 0.3 * x <= 5,
    "in a curve": lambda x, y, other: cp.exp(other) + (TENTHS @ y[1:]) * x <= 5,
}


@pytest.mark.parametrize("name", LOOSE)
def test_a_loose_row_hides_no_miss(name):
    assert held(LOOSE[name]) == (False, True)


@pytest.mark.parametrize("name", CANCELLING)
def test_a_slope_of_rounding_hides_no_miss(name):
    assert held(CANCELLING[name]) == (False, True)


@pytest.mark.parametrize("affine", [True, False])
def test_a_slope_of_rounding_is_none(affine):
    """At outcomes of ones the terms of x0 cancel to 5e-17; at others they do not."""
    weights = np.array([[0.1, 0.2, -0.3]])
    x, y = cp.Variable(2, name="x"), sl.Uncertain(3, name="y")
    row = x[1] + (weights @ y) * x[0] <= 5
    box = {y: sl.sets.Box(np.ones(3), np.ones(3))}
    ruler = sl.RobustProblem(cp.Minimize(x[1]), [row], box).prepared().ruler
    if not affine:
        vars(ruler)["affine"] = [None] * len(ruler.tapes)
    leaves = leaves_of([[5.0, 1.0]] * 2, [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0 + 1e-6]])
    slopes = materiality._derivatives(materiality._every(ruler), leaves)
    assert slopes[0, 0, 0] == 0
    np.testing.assert_allclose(slopes[1, 0, 0], -0.3e-6, rtol=1e-3)
    np.testing.assert_allclose(slopes[:, 0, 1], 1.0)


def test_what_holds_an_entry_may_be_far_away():
    """A chain of flows, and a bound that none of them comes near."""
    flows, t, y = cp.Variable(6, name="flows"), cp.Variable(name="t"), sl.Uncertain()
    limits = [flows[0] == 10, flows[1:] == flows[:-1], y * flows[5] <= t, flows <= 1e9]
    box = {y: sl.sets.Box([1.0], [2.0])}
    problem = sl.RobustProblem(cp.Minimize(t), limits, box)
    values = {"flows": np.full(6, 10.0)}
    assert not problem.audit({**values, "t": 10.0}).passed
    assert problem.audit({**values, "t": 20.0}).passed


DEMAND = cp.Parameter(value=5.0, name="demand")
#: Ways to say that x is at least 5, or 5, with what they need beside; all of them met.
SAID = {
    "two sides": lambda x, s: [x >= 5],
    "one side": lambda x, s: [5 - x <= 0],
    "other units": lambda x, s: [1e6 * (5 - x) <= 0],
    "one side, equal": lambda x, s: [x - 5 == 0],
    "a parameter": lambda x, s: [DEMAND - x <= 0],
    "a balance": lambda x, s: [s == s + x - 5],
    "a shortage": lambda x, s: [5 - x <= s, s >= 0, s <= 0],
    "a positive part": lambda x, s: [cp.pos(5 - x) <= s, s == 0],
    "a distance": lambda x, s: [cp.abs(x - 5) <= s, s == 0],
    "a logarithm": lambda x, s: [cp.log(x) >= np.log(5)],
    "an inverse": lambda x, s: [cp.inv_pos(x) <= 0.2],
    "an exponential": lambda x, s: [cp.exp(-x) <= np.exp(-5)],
}


@pytest.mark.parametrize("far", [None, 1e9])
@pytest.mark.parametrize("name", [*SAID, "declared", "declared twice"])
def test_what_holds_may_be_said_in_any_way(name, far):
    bounds = {"declared": [5, None], "declared twice": [5, 5]}.get(name)
    x, s, t = cp.Variable(name="x", bounds=bounds), cp.Variable(name="s"), cp.Variable()
    y = sl.Uncertain()
    limits = [y * x <= t, *SAID.get(name, lambda x, s: [])(x, s)]
    limits += [] if far is None else [x <= far, s <= far, t <= far]
    box = {y: sl.sets.Box([1.0], [2.0])}
    problem = sl.RobustProblem(cp.Minimize(t), limits, box)

    def passed(enough):
        values = {v.name(): 0.0 for v in problem.prepared().model.variables}
        values |= {x.name(): 5.0, t.name(): enough}
        return problem.audit(values).passed

    assert not passed(5.0)
    assert not passed(9.9)
    assert passed(10.0)


@pytest.mark.parametrize(
    ("far", "idle"), [(None, 0.0), (None, 5e-6), (1e12, 1e-9), (1e12, 2e-5)]
)
def test_noise_holds_nothing(far, idle):
    """Arcs that are not used: what one has more than the next is no miss."""
    used, unused = cp.Variable(3, name="used"), cp.Variable(3, name="unused")
    y, t = sl.Uncertain(), cp.Variable(name="t")
    limits = [used[0] == 10, used[1:] == used[:-1], unused[1:] == unused[:-1]]
    limits += [unused[0] + used[2] == 10 + unused[2], y * cp.sum(used) <= t]
    if far is not None:
        limits += [used <= far, unused <= far]
    box = {y: sl.sets.Box([1.0], [2.0])}
    problem = sl.RobustProblem(cp.Minimize(t), limits, box)
    noise = idle * np.array([1.0, 0.995, 0.99])
    values = {"used": np.full(3, 10.0), "unused": noise}
    assert problem.audit({**values, "t": 60.0}).passed
    assert not problem.audit({**values, "t": 59.0}).passed


def test_an_entry_worth_much_is_no_reason_to_forgive_its_row():
    """What holds x to 1 has an entry beside it that might be 1e12, and is not."""
    x, z, e, t = (cp.Variable(name=name) for name in "xzet")
    y = sl.Uncertain(name="y")
    limits = [z >= 1, x >= z + 1e-3 * e, x <= 1e12, e >= 0, e <= 1e12, y * x <= t]
    box = {y: sl.sets.Box([1.0], [2.0])}
    problem = sl.RobustProblem(cp.Minimize(t), limits, box)
    values = {"x": 5.0, "z": 1.0, "e": 0.0}
    assert not problem.audit({**values, "t": 1.0}).passed
    assert problem.audit({**values, "t": 10.0}).passed


def test_misses_are_forgiven_up_to_the_noise_and_no_further():
    ruler = ruler_of(limits)
    values, outcome, feared = (
        np.array([v]) for v in ([2.0, 3.0], [5.0, 1.0], [3, 2.0])
    )
    noise = materiality.noise(ruler, leaves_of(values, outcome), [feared])[0, 0]
    for share, violated in ((0.5, False), (2.0, True), (500.0, True)):
        # The row is y @ x - 40; what the audit allowed is less than that by an excess.
        slack = np.array([[5 * 2 + 3 - 40 - share * noise]])
        found = ruler.realise(
            ["optimal"],
            values,
            slack,
            np.array([np.nan]),
            [feared],
            [outcome],
            np.zeros(0),
        )
        assert found.violated == [violated]


# -- by hand ---------------------------------------------------------------------------


def ruler_of(limits, whole=False):
    """The judge of  min x0, with an outcome y of two entries."""
    x = cp.Variable(2, name="x", integer=whole)
    y = sl.Uncertain(2, name="y")
    box = {y: sl.sets.Box(np.zeros(2), np.ones(2))}
    rows = limits(x, y)
    return sl.RobustProblem(cp.Minimize(x[0]), rows, box).prepared().ruler


def leaves_of(values, outcomes):
    values = np.atleast_2d(np.asarray(values, dtype=float))
    return Leaves(values, [np.atleast_2d(np.asarray(outcomes, float))], np.zeros(0))


def limits(x, y):
    """x0 is worth 2 and x1 is worth 6, by the second row and the third."""
    return [y @ x <= 40, x[0] >= 2, x[1] <= 6]


def test_noise_is_what_digits_are_worth_between_two_outcomes():
    ruler = ruler_of(limits)
    leaves = leaves_of([2.0, 3.0], [5.0, 1.0])
    feared = [np.array([[3.0, 2.0]])]
    # Digits of x0, of size 2, and of x1, worth 6; the slopes move by 2 and 1.
    found = materiality.noise(ruler, leaves, feared)
    np.testing.assert_allclose(found, [[RESOLUTION * (2 * 2 + 6 * 1)]], rtol=1e-9)
    same = materiality.noise(ruler, leaves, leaves.outcomes)
    np.testing.assert_array_equal(same, [[0.0]])


@pytest.mark.parametrize(("zeros", "digits"), [(True, 2e-6), (False, 6 * RESOLUTION)])
def test_a_solvers_zero_might_be_on_the_other_side(zeros, digits):
    ruler = ruler_of(limits)
    leaves = leaves_of([2.0, 1e-6], [5.0, 1.0])
    found = materiality.noise(ruler, leaves, [np.array([[5.0, 4.0]])], zeros=zeros)
    np.testing.assert_allclose(found, [[3 * digits]], rtol=1e-6)


def test_contexts_in_pieces_have_each_their_own_noise(monkeypatch):
    ruler, rng = ruler_of(limits), np.random.default_rng(0)
    leaves = leaves_of(rng.uniform(1, 5, (9, 2)), rng.uniform(0, 9, (9, 2)))
    feared = [rng.uniform(0, 9, (9, 2))]
    whole = materiality.noise(ruler, leaves, feared)
    sizes = materiality.sizes_elsewhere(ruler, leaves)
    monkeypatch.setattr(materiality, "MOST_TRIALS", 6)
    np.testing.assert_array_equal(materiality.noise(ruler, leaves, feared), whole)
    np.testing.assert_array_equal(materiality.sizes_elsewhere(ruler, leaves), sizes)


def test_sizes_elsewhere_are_those_of_entries_at_zero():
    """x1 is a zero, and worth 6; x0 is not one."""
    ruler = ruler_of(limits)
    found = materiality.sizes_elsewhere(ruler, leaves_of([2.0, 1e-7], [5.0, 3.0]))
    # The objective by what it is made of, zero or not.
    np.testing.assert_allclose(found, [[18.0, 0.0, 6.0, 2.0]], rtol=1e-6)


def test_certain_rows_are_mended_by_the_second_of_their_entries():
    ruler = ruler_of(lambda x, y: [*limits(x, y), 3 * x[0] - x[1] == 0])
    found = materiality.sizes_elsewhere(ruler, leaves_of([2.0, 6.0], [5.0, 3.0]))
    np.testing.assert_allclose(found, [[0.0, 0.0, 0.0, 6.0, 2.0]], rtol=1e-6)


def test_whole_numbers_are_no_solvers_zero():
    ruler = ruler_of(limits, whole=True)
    found = materiality.sizes_elsewhere(ruler, leaves_of([2.0, 0.0], [5.0, 3.0]))
    np.testing.assert_array_equal(found[:, 0], [0.0])


def test_where_no_constant_is_the_row_that_lets_it_move_furthest():
    """x1 is next to nothing beside x0, and no row with a number sees either."""
    ruler = ruler_of(lambda x, y: [y @ x <= 0, x[1] <= x[0]])
    found = materiality.sizes_elsewhere(ruler, leaves_of([1.0, 1e-9], [5.0, 3.0]))
    assert found[0, -1] >= 1.0


@pytest.mark.parametrize("others", [False, True])
def test_derivatives_are_found_beside_constants(others):
    """Of a decision of nothing but noise, with curved rows or without."""
    curved = (lambda x: [cp.exp(x[1]) <= 3e6]) if others else (lambda x: [])
    ruler = ruler_of(lambda x, y: [y @ x <= 1e6, 3 * x[0] <= 1e6, *curved(x)])
    leaves = leaves_of([1e-12, 1e-12], [5.0, 3.0])
    if not others:
        vars(ruler)["affine"] = [None] * len(ruler.tapes)
    slopes = materiality._derivatives(materiality._every(ruler), leaves)
    wanted = [[5, 3], [3, 0], *[[0, 1]] * others]
    np.testing.assert_allclose(slopes[0, :-1], wanted, rtol=1e-2)


def test_where_nothing_is_held_rows_of_a_size_say_what_entries_are_worth():
    """y @ x moves by all of its 8 as x0 moves by 1.6; x1 <= x0 by its 2, as x1 does."""
    ruler = ruler_of(lambda x, y: [y @ x <= 0, x[1] <= x[0]])
    leaves = leaves_of([1.0, 1.0], [5.0, 3.0])
    for slopes, worth in (([6.0, 3.0], 1.0), ([5.0, 4.0], 2.0)):
        found = materiality.noise(ruler, leaves, [np.array([slopes])])
        np.testing.assert_allclose(found, [[RESOLUTION * worth]], rtol=1e-6)
