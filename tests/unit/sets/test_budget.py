"""Budget: fractional budgets by hand, volumes, errors."""

import cvxpy as cp
import numpy as np
import pytest

from sublevel.errors import InvalidParameter
from sublevel.sets import Box, Budget, L1Ball, UncertaintySet


def test_values_by_hand():
    budget = Budget([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], 2.5)
    assert budget.support([1.0, -1.0, 1.0]) == 3 + 2 + 0.5
    assert budget.worst_case([1.0, -1.0, 1.0]).tolist() == [0.5, -2.0, 3.0]
    assert budget.bounds()[1].tolist() == [1.0, 2.0, 3.0]
    assert Budget([0.0], 2.0, 0.25).bounds()[1].tolist() == [0.5]


def test_limits_of_gamma():
    direction = np.array([1.0, -2.0])
    whole = Budget([1.0, 1.0], 2.0, np.inf)
    assert whole.support(direction) == Box([-1, -1], [3, 3]).support(direction)
    assert whole.volume() == 16.0
    assert Budget([1.0, 1.0], 2.0, 0.0).worst_case(direction).tolist() == [1.0, 1.0]
    assert Budget([1.0, 1.0], 2.0, 0.0).volume() == 0.0


def test_volumes():
    assert Budget([0.0] * 3, 1.0, 1.0).volume() == pytest.approx(
        L1Ball([0.0] * 3).volume()
    )
    budget = Budget([0.0] * 3, [1.0, 2.0, 0.5], 1.7)
    assert UncertaintySet.measure(budget) == pytest.approx(budget.volume(), rel=0.02)
    # Half of the cube by symmetry, where floating-point sums lose all their digits.
    assert Budget(np.zeros(60), 0.5, 30.0).volume() == pytest.approx(0.5)


def test_components_that_do_not_move():
    budget = Budget([1.0, 2.0], [0.0, 1.0], 1.0)
    assert budget.contains([1.0, 3.0])
    assert not budget.contains([1.1, 2.0])
    assert budget.volume() == 2.0
    assert budget.contains(budget.sample(20, 0)).all()


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_constraints_of_components_that_do_not_move(gamma):
    y = cp.Variable(2)
    budget = Budget([1.0, 2.0], [0.0, 1.0], gamma)
    problem = cp.Problem(cp.Maximize(cp.sum(y)), budget.constraints(y))
    problem.solve(solver=cp.CLARABEL)
    assert problem.value == pytest.approx(3.0 + gamma, abs=1e-6)


def test_tiny_deviations_do_not_hide_the_budget():
    budget = Budget([1.0, 1.0], [1e-9, 1.0], 1.0)
    assert budget.contains([1.0, 2.0])
    assert not Budget([1.0, 1.0, 1.0], [1e-9, 1.0, 1.0], 1.0).contains([1.0, 2.0, 2.0])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ([0.0], [-1.0], 1.0),
            r"deviation=...\) must be at least 0, got deviation\[0\]",
        ),
        (([0.0], [1.0, 1.0], 1.0), r"deviation=...\) must be of shape \(1,\)"),
        (([0.0], 1.0, -0.5), r"gamma=...\) must be a number of at least 0"),
        (([np.inf], 1.0, 1.0), r"center=...\) must be finite"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        Budget(*arguments)


def test_repr_and_copies():
    deviation = np.ones(2)
    budget = Budget([0.0, 0.0], deviation, 1.0)
    deviation[:] = 9
    assert budget.support([1.0, 0.0]) == 1.0
    assert repr(budget) == "Budget(dim=2, gamma=1)"
