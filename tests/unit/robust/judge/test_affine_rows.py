"""Rows that are affine in the decision are seen, and others are not taken for them."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.robust.judge import materiality
from sublevel.robust.judge.affine_rows import as_affine
from sublevel.robust.judge.tape import Leaves, Step, Tape

MATRIX = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 4.0]])


def ruler_of(constraint, objective=None):
    """The judge of a model, x (3), y (3), z and an ordinary parameter p beside."""
    x, y, p = cp.Variable(3), sl.Uncertain(3, name="y"), cp.Parameter(3)
    p.value = np.array([1.0, 2.0, 3.0])
    box = sl.sets.Box(np.zeros(3), np.ones(3))
    cost = cp.sum(x) + y @ x if objective is None else objective(x, y)
    limits = [constraint(x, p), x >= -1]
    problem = sl.RobustProblem(cp.Minimize(cost), limits, {y: box})
    return problem.prepared().ruler


@pytest.mark.parametrize(
    "constraint",
    [
        lambda x, p: x <= 2,
        lambda x, p: MATRIX @ x == np.ones(2),
        lambda x, p: cp.sum(x[1:]) - 3 * x[0] / 4 <= 1,
        lambda x, p: cp.hstack([x, -x]) >= -5,
        lambda x, p: cp.diff(x) <= 1,
    ],
)
def test_affine_rows_are_the_rows(constraint):
    ruler = ruler_of(constraint)
    affine = ruler.affine[0]
    values = np.random.default_rng(0).normal(size=(5, 3))
    leaves = Leaves(values, [np.zeros((5, 3))], np.zeros(0))
    np.testing.assert_allclose(affine.at(leaves), ruler.tapes[0].rows(leaves))
    step = np.full((5, 3), 0.5)
    moved = Leaves(values + step * np.eye(3)[1], leaves.outcomes, leaves.ordinary)
    change = ruler.tapes[0].rows(moved) - ruler.tapes[0].rows(leaves)
    changes = affine.changes(step, leaves.outcomes)
    np.testing.assert_allclose(changes[:, :, 1], change, atol=1e-12)


def test_a_large_constant_takes_no_digit_of_a_slope():
    affine = ruler_of(lambda x, p: 0.3 * x <= 1e17).affine[0]
    np.testing.assert_allclose(affine.slopes, 0.3 * np.eye(3), rtol=1e-15)
    np.testing.assert_array_equal(affine.constant, np.full(3, -1e17))


@pytest.mark.parametrize(
    "constraint",
    [
        lambda x, p: cp.sum_squares(x) <= 2,
        lambda x, p: cp.abs(x) <= 2,
        lambda x, p: p @ x <= 2,
        lambda x, p: x <= p,
        lambda x, p: cp.max(x) <= 1,
    ],
)
def test_other_rows_are_evaluated(constraint):
    assert ruler_of(constraint).affine[0] is None


@pytest.mark.parametrize(
    "objective",
    [
        lambda x, y: cp.sum(x) + y @ x,
        lambda x, y: (2 * y - 1) @ (MATRIX.T @ (MATRIX @ x)) / 3 + cp.sum(y[1:]),
        lambda x, y: cp.sum(cp.multiply(cp.hstack([x[0], 4 - x[1:]]), y)),
    ],
)
def test_what_an_outcome_multiplies_is_affine_at_each_outcome(objective):
    ruler = ruler_of(lambda x, p: x <= 2, objective)
    affine, tape = ruler.affine[-1], ruler.tapes[-1]
    values, outcomes, step = np.random.default_rng(3).normal(size=(3, 6, 3))
    leaves = Leaves(values, [outcomes], np.zeros(0))
    np.testing.assert_allclose(affine.at(leaves), tape.rows(leaves), atol=1e-12)
    changes = affine.changes(step, [outcomes])
    for entry in range(3):
        moved = replace(leaves, values=values + step * np.eye(3)[entry])
        change = tape.rows(moved) - tape.rows(leaves)
        np.testing.assert_allclose(changes[:, :, entry], change, atol=1e-12)
    # The broken twin: at another outcome the slopes are others.
    others = affine.changes(step, [outcomes + 1])
    assert not np.allclose(others, changes)


@pytest.mark.parametrize(
    "objective",
    [
        lambda x, y: y @ x + cp.sum_squares(x),
        lambda x, y: y @ x + cp.abs(x[0]),
        lambda x, y: cp.maximum(y @ x, 1.0),
    ],
)
def test_costs_that_bend_are_evaluated(objective):
    assert ruler_of(lambda x, p: x <= 2, objective).affine[-1] is None


def test_an_outcome_that_is_no_number_is_felt_where_it_matters():
    affine = ruler_of(lambda x, p: x <= 2).affine[-1]
    values, outcomes = np.ones((2, 3)), np.array([[1.0, np.nan, 2.0], [1.0, 2.0, 3.0]])
    changes = affine.changes(values, [outcomes])
    np.testing.assert_array_equal(changes[0, 0], [2.0, np.nan, 3.0])
    np.testing.assert_array_equal(changes[1, 0], [2.0, 3.0, 4.0])


def test_no_slope_is_made_of_rounding():
    """Beside numbers of another size, what an outcome does not multiply stays zero."""
    affine = ruler_of(
        lambda x, p: x <= 2, lambda x, y: 0.3 * x[0] + 1e17 * y[1] + 0.1 * y[2] * x[2]
    ).affine[-1]
    moved = affine.moved[0]
    assert np.argwhere(moved.slopes).tolist() == [[2, 0, 2]]
    np.testing.assert_allclose(moved.slopes[2, 0, 2], 0.1, rtol=1e-14)
    np.testing.assert_allclose(affine.slopes, [[0.3, 0, 0]], rtol=1e-15)
    np.testing.assert_allclose(moved.constant[:, 0], [0, 1e17, 0], rtol=1e-15)


def test_several_keys_and_several_parts_of_a_key():
    """Parts of a key meet rows in pieces, keys one after another."""
    x = cp.Variable(3)
    a, b, c = (sl.Uncertain(n, name=name) for n, name in ((2, "a"), (3, "b"), (3, "c")))
    row = a @ x[:2] - 2 * (b[1:] @ x[1:]) + c @ x + 3 * c[2] - cp.sum(a) <= 1
    joint, own = (
        sl.sets.Box(np.zeros(5), np.ones(5)),
        sl.sets.Box(np.zeros(3), np.ones(3)),
    )
    problem = sl.RobustProblem(
        cp.Minimize(x[0]), [row, x >= 0], {(a, b): joint, c: own}
    )
    ruler = problem.prepared().ruler
    affine, tape = ruler.affine[0], ruler.tapes[0]
    assert sorted(affine.moved) == [0, 1]
    rng = np.random.default_rng(8)
    values, first, second = rng.normal(size=(4, 3)), *rng.normal(size=(2, 4, 5))
    leaves = Leaves(values, [first, second[:, :3]], np.zeros(0))
    np.testing.assert_allclose(affine.at(leaves), tape.rows(leaves), atol=1e-12)
    step = rng.normal(size=(4, 3))
    changes = affine.changes(step, leaves.outcomes)
    for entry in range(3):
        moved = replace(leaves, values=values + step * np.eye(3)[entry])
        change = tape.rows(moved) - tape.rows(leaves)
        np.testing.assert_allclose(changes[:, :, entry], change, atol=1e-12)


X = Step("variable", (), (2,), (0,))
Y = Step("outcome", (), (2,), (0, 0))
ONE = Step("constant", (), (2,), (np.ones(2),))
BENT = {
    "x * x": (X, Step("multiply", (0, 0), (2,))),
    "x @ x": (X, Step("product", (0, 0), ())),
    "1 / x": (X, ONE, Step("divide", (1, 0), (2,))),
    "x / y": (X, Y, Step("divide", (0, 1), (2,))),
    "y * y": (X, Y, Step("multiply", (1, 1), (2,)), Step("add", (0, 2), (2,))),
    "exp(y) * x": (X, Y, Step("exp", (1,), (2,)), Step("multiply", (0, 2), (2,))),
    "exp(x)": (X, Step("exp", (0,), (2,))),
    "1e300 x": (
        X,
        Step("constant", (), (2,), (np.full(2, 1e300),)),
        Step("multiply", (0, 1), (2,)),
    ),
}


@pytest.mark.parametrize("name", BENT)
def test_what_bends_or_is_beyond_all_numbers_is_evaluated(name):
    assert as_affine(Tape(BENT[name]), 2) is None


def test_a_tape_of_another_kind_is_evaluated():
    class Other(Tape):
        pass

    steps = (X, Step("negate", (0,), (2,)))
    assert as_affine(Tape(steps), 2) is not None
    assert as_affine(Other(steps), 2) is None


def test_large_tables_are_not_kept(monkeypatch):
    tape = ruler_of(lambda x, p: x <= 2).tapes[0]
    assert as_affine(tape, 3) is not None
    for most in ("MOST_NUMBERS", "MOST_MADE"):
        with monkeypatch.context() as patch:
            patch.setattr(f"sublevel.robust.judge.affine_rows.{most}", 8)
            assert as_affine(tape, 3) is None


def test_what_digits_are_worth_is_the_same_either_way(monkeypatch):
    ruler = ruler_of(lambda x, p: cp.diff(x) <= 1)
    rng = np.random.default_rng(1)
    values = np.where(rng.random((20, 3)) < 0.3, 1e-9, rng.normal(size=(20, 3)))
    outcomes, feared = rng.random((2, 20, 3))
    leaves = Leaves(values, [outcomes], np.zeros(0))
    fast = [
        materiality.noise(ruler, leaves, [feared]),
        materiality.sizes_elsewhere(ruler, leaves),
    ]
    vars(ruler)["affine"] = [None] * len(ruler.tapes)
    np.testing.assert_allclose(fast[0], materiality.noise(ruler, leaves, [feared]))
    slow = materiality.sizes_elsewhere(ruler, leaves)
    np.testing.assert_allclose(fast[1], slow, rtol=1e-6)
