"""Box: hand-worked values, infinite ends, moments, errors."""

from math import inf

import cvxpy as cp
import numpy as np
import pytest

from sublevel.errors import InvalidParameter, Unbounded
from sublevel.sets import Box, UncertaintySet


def test_values_by_hand():
    box = Box([0.0, -1.0], [2.0, 3.0])
    assert box.support([1.0, -2.0]) == 4.0
    assert box.worst_case([1.0, -2.0]).tolist() == [2.0, -1.0]
    assert box.volume() == 8.0
    assert box.contains([[2.0, 3.0], [2.1, 0.0]]).tolist() == [True, False]


def test_infinite_ends():
    box = Box([0.0, -inf], [inf, 1.0])
    assert box.support([-1.0, 1.0]) == 1.0
    assert box.support([1.0, 0.0]) == inf
    assert box.worst_case([0.0, 0.0]).tolist() == [0.0, 0.0]
    assert not box.is_bounded
    assert box.contains([1e9, -1e9])
    with pytest.raises(Unbounded, match="component 1 is unbounded"):
        box.worst_case([-1.0, -1.0])
    assert len(box.constraints(cp.Variable(2))) == 2
    assert Box([-inf], [inf]).constraints(cp.Variable(1)) == []


def test_slack_is_relative_to_the_bounds():
    assert Box([0.0], [1e6]).contains([1e6 + 0.05])
    assert not Box([0.0], [1e-6]).contains([1.001e-6])


def test_flat_box_is_measured_within_its_hull():
    box = Box([0.0, 5.0], [2.0, 5.0])
    assert box.volume() == 2.0
    assert UncertaintySet.measure(box) == pytest.approx(2.0)
    assert (box.sample(10, 0)[:, 1] == 5.0).all()
    assert Box([1.0], [1.0]).volume() == 0.0


def test_samples_are_uniform():
    n = 20_000
    draws = Box([0.0, 0.0], [1.0, 4.0]).sample(n, random_state=0)
    error = np.array([1.0, 4.0]) / np.sqrt(12 * n)
    assert (np.abs(draws.mean(axis=0) - [0.5, 2.0]) <= 5 * error).all()
    # Var of the sample variance of a uniform on [0, w]: w^4 / (180 n).
    spread = draws.var(axis=0) - np.array([1, 16]) / 12
    assert (np.abs(spread) <= 5 * np.array([1, 16]) / np.sqrt(180 * n)).all()
    assert abs(np.corrcoef(draws.T)[0, 1]) <= 5 / np.sqrt(n)


def test_generic_volume_of_a_cube():
    cube = Box(np.zeros(4), np.full(4, 2.0))
    assert UncertaintySet.measure(cube) == pytest.approx(16.0, rel=0.02)


@pytest.mark.parametrize(
    "lower, upper, message",
    [
        (
            [0.0, 0.0, 1.0],
            [1.0, 1.0, 0.5],
            r"Box\(lower=..., upper=...\) must satisfy lower <= upper, got "
            r"lower\[2\]=1.0 > upper\[2\]=0.5.",
        ),
        ([inf], [inf], r"lower\[0\]=inf and upper\[0\]=inf"),
        ([0.0], [0.0, 1.0], r"upper=...\) must be of shape \(1,\)"),
        ([np.nan], [1.0], r"lower=...\) must be free of NaN"),
        ([], [], "non-empty vector"),
    ],
)
def test_errors(lower, upper, message):
    with pytest.raises(InvalidParameter, match=message):
        Box(lower, upper)


def test_changing_the_callers_arrays_changes_nothing():
    upper = np.ones(2)
    box = Box([0.0, 0.0], upper)
    upper[:] = 9.0
    assert box.support([1.0, 1.0]) == 2.0
    assert repr(box) == "Box(dim=2)"
