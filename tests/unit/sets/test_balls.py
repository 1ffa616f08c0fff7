"""Ellipsoid and L1Ball: hand-worked values, limits of the radius, errors."""

from math import inf, pi

import cvxpy as cp
import numpy as np
import pytest

from sublevel.errors import InvalidParameter, Unbounded
from sublevel.sets import Ellipsoid, L1Ball, UncertaintySet

BALLS = [Ellipsoid, L1Ball]


def test_ellipsoid_by_hand():
    ball = Ellipsoid([1.0, 2.0], [1.0, 0.5], 2.0)
    assert ball.support([3.0, 8.0]) == 3 + 16 + 2 * 5
    assert ball.worst_case([3.0, 8.0]) == pytest.approx([1 + 1.2, 2 + 0.8])
    assert ball.contains([[3.0, 2.0], [1.0, 3.0], [3.0, 3.0]]).tolist() == [1, 1, 0]
    assert ball.volume() == pytest.approx(pi * 2 * 1)
    lower, upper = ball.bounds()
    assert lower == pytest.approx([-1, 1])
    assert upper == pytest.approx([3, 3])


def test_l1_ball_by_hand():
    ball = L1Ball([1.0, 2.0], 2.0, 3.0)
    assert ball.support([1.0, -4.0]) == 1 - 8 + 24
    assert ball.worst_case([1.0, -4.0]) == pytest.approx([1, -4])
    assert ball.contains([4.0, 5.0])
    assert not ball.contains([4.0, 5.1])


def test_from_covariance_is_the_mahalanobis_ball():
    covariance = np.array([[2.0, 0.6], [0.6, 1.0]])
    ball = Ellipsoid.from_covariance([1.0, 0.0], covariance, 1.5)
    direction = np.array([1.0, -2.0])
    reach = 1.5 * np.sqrt(direction @ covariance @ direction)
    assert ball.support(direction) == pytest.approx(1.0 + reach)
    residual = ball.worst_case(direction) - [1.0, 0.0]
    distance = residual @ np.linalg.solve(covariance, residual)
    assert distance == pytest.approx(1.5**2)


@pytest.mark.parametrize("kind", BALLS)
def test_radius_zero_is_a_point(kind):
    point = kind([1.0, 2.0], [[1.0, 1.0], [0.0, 1.0]], 0.0)
    assert point.contains([1.0, 2.0])
    assert not point.contains([1.0, 2.1])
    assert point.worst_case([1.0, 1.0]) == pytest.approx([1, 2])
    assert point.volume() == 0.0
    assert point.sample(2, 0) == pytest.approx(np.array([[1, 2], [1, 2]]))
    y = cp.Variable(2)
    cp.Problem(cp.Maximize(y[0]), point.constraints(y)).solve(solver=cp.CLARABEL)
    assert y.value == pytest.approx([1, 2])


@pytest.mark.parametrize("kind", BALLS)
def test_radius_infinity_is_everything(kind):
    everything = kind([0.0, 0.0], radius=inf)
    assert everything.contains([1e300, -1e300])
    assert everything.support([0.0, 1.0]) == inf
    assert everything.support([0.0, 0.0]) == 0.0
    assert everything.worst_case([0.0, 0.0]) == pytest.approx([0, 0])
    assert not everything.is_bounded
    assert everything.constraints(cp.Variable(2)) == []
    with pytest.raises(Unbounded, match="the radius is inf"):
        everything.worst_case([0.0, 1.0])
    with pytest.raises(Unbounded, match=r"sample\(\) needs a bounded set"):
        everything.sample(1)
    with pytest.raises(Unbounded, match=r"volume\(\) needs a bounded set"):
        everything.volume()


@pytest.mark.parametrize("kind", BALLS)
def test_worst_case_is_inside_far_from_the_origin(kind):
    ball = kind([1e9, -1e9], [1e-3, 1.0], 1e-2)
    for direction in np.random.default_rng(0).normal(size=(50, 2)):
        assert ball.contains(ball.worst_case(direction))


@pytest.mark.parametrize("kind", BALLS)
def test_generic_volume_and_sample_agree_with_the_exact_ones(kind):
    ball = kind([1.0, 2.0, 0.0], [1.0, 0.2, 3.0], 0.7)
    assert UncertaintySet.measure(ball) == pytest.approx(ball.volume(), rel=0.02)
    n = 4000
    draws = UncertaintySet.draw(ball, n, np.random.default_rng(0))
    unit = (draws - ball.center) / (0.7 * ball.scale)
    variance = 1 / 5 if kind is Ellipsoid else 2 / 20
    assert np.abs(unit.mean(axis=0)).max() <= 5 * np.sqrt(variance / n)
    squares = unit**2
    error = squares.std(axis=0) / np.sqrt(n)
    assert (np.abs(squares.mean(axis=0) - variance) <= 5 * error).all()


@pytest.mark.parametrize("kind", BALLS)
def test_changing_the_callers_arrays_changes_nothing(kind):
    center, scale = np.zeros(2), np.ones(2)
    ball = kind(center, scale, 1.0)
    center += 5
    scale *= 5
    assert ball.support([1.0, 0.0]) == 1.0
    with pytest.raises(ValueError, match="read-only"):
        ball.center[0] = 1.0


@pytest.mark.parametrize("kind", BALLS)
@pytest.mark.parametrize(
    "arguments, message",
    [
        (([],), r"center=...\) must be a non-empty vector"),
        (([np.nan],), r"center=...\) must be finite, got nan at index 0"),
        (([0.0, 0.0], [1.0]), r"scale=...\) must be of shape \(2,\)"),
        (([0.0, 0.0], [1.0, 0.0]), r"scale=...\) must be positive, got scale\[1\]=0.0"),
        (([0.0], -1.0), r"scale=...\) must be positive"),
        (
            ([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]]),
            "invertible matrix, got one of rank 1",
        ),
        (([0.0, 0.0], np.eye(3)), r"shape \(2, 2\)"),
        (([0.0], 1.0, -1.0), r"radius=...\) must be a number of at least 0"),
        (([0.0], 1.0, np.nan), r"radius=...\) must be a number of at least 0"),
        ((["a"],), r"center=...\) must be numeric"),
    ],
)
def test_errors(kind, arguments, message):
    with pytest.raises(InvalidParameter, match=message) as caught:
        kind(*arguments)
    assert str(caught.value).startswith(kind.__name__)


@pytest.mark.parametrize(
    "covariance, message",
    [
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite, got least eigenvalue -1"),
        ([[1.0, 2.0], [0.0, 1.0]], "must be symmetric"),
        ([[1.0]], r"shape \(2, 2\)"),
    ],
)
def test_covariance_errors(covariance, message):
    with pytest.raises(InvalidParameter, match=message):
        Ellipsoid.from_covariance([0.0, 0.0], covariance)


def test_directions_and_outcomes_are_checked():
    ball = Ellipsoid([0.0, 0.0])
    with pytest.raises(InvalidParameter, match=r"direction=...\) must be of shape"):
        ball.support([1.0])
    with pytest.raises(InvalidParameter, match=r"direction=...\) must be finite"):
        ball.worst_case([np.nan, 1.0])
    with pytest.raises(InvalidParameter, match=r"must be of shape \(2,\) or \(n, 2\)"):
        ball.contains([1.0, 2.0, 3.0])
    with pytest.raises(InvalidParameter, match="free of NaN"):
        ball.contains([np.nan, 1.0])
    with pytest.raises(
        InvalidParameter, match=r"sample\(size=...\) must be an integer"
    ):
        ball.sample(-1)
    assert ball.sample(0).shape == (0, 2)


def test_repr_is_short():
    assert (
        repr(Ellipsoid(np.zeros(1000), radius=1.5)) == "Ellipsoid(dim=1000, radius=1.5)"
    )
    assert repr(L1Ball([0.0])) == "L1Ball(dim=1, radius=1)"
