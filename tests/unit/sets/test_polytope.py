"""Polytope: corners, flat and open polytopes, volumes, errors."""

from math import factorial, inf

import numpy as np
import pytest

from sublevel.errors import EmptySet, InvalidParameter, SolverFailed, Unbounded
from sublevel.sets import Polytope, UncertaintySet, polytope


def simplex(m):
    """{ y >= 0, sum y <= 1 }."""
    return Polytope(np.vstack([-np.eye(m), np.ones((1, m))]), np.append(np.zeros(m), 1))


def face(m):
    """{ y >= 0, sum y = 1 }: flat."""
    ones = np.ones((1, m))
    return Polytope(np.vstack([-np.eye(m), ones, -ones]), [0.0] * m + [1.0, -1.0])


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_simplex(m):
    polytope = simplex(m)
    assert polytope.volume() == pytest.approx(1 / factorial(m))
    assert polytope.vertices().shape == (m + 1, m)
    assert polytope.support(np.arange(1.0, m + 1)) == pytest.approx(m)
    assert polytope.is_bounded


@pytest.mark.parametrize("m", [2, 3, 4])
def test_flat_polytopes_are_measured_within_their_hull(m):
    # The face of the standard simplex has area sqrt(m) / (m - 1)!.
    polytope = face(m)
    area = np.sqrt(m) / factorial(m - 1)
    assert polytope.volume() == pytest.approx(area)
    assert UncertaintySet.measure(polytope) == pytest.approx(area, rel=0.02)
    assert sorted(map(tuple, polytope.vertices().round(9))) == sorted(
        map(tuple, np.eye(m))
    )
    draws = polytope.sample(2000, 0)
    assert draws.sum(axis=1) == pytest.approx(np.ones(2000))
    # A uniform point of the face is Dirichlet(1, ..., 1).
    error = np.sqrt((m - 1) / (m**2 * (m + 1)) / 2000)
    assert np.abs(draws.mean(axis=0) - 1 / m).max() <= 5 * error


def test_a_point_is_a_polytope():
    point = Polytope([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [1, -1, 2, -2])
    assert point.volume() == 0.0
    assert point.vertices() == pytest.approx(np.array([[1.0, 2.0]]))
    assert point.sample(3, 0) == pytest.approx(np.tile([1.0, 2.0], (3, 1)))


def test_interval():
    interval = Polytope([[2.0], [-1.0], [1.0]], [6.0, -1.0, 100.0])
    assert interval.volume() == 2.0
    assert sorted(interval.vertices().ravel()) == pytest.approx([1, 3])


def test_unbounded_directions():
    quadrant = Polytope([[-1.0, 0.0], [0.0, -1.0]], [0.0, 0.0])
    assert quadrant.support([1.0, 0.0]) == inf
    assert quadrant.support([-1.0, -1.0]) == pytest.approx(0.0)
    assert not quadrant.is_bounded
    assert not Polytope([[1.0, 0.0], [-1.0, 0.0]], [1.0, 1.0]).is_bounded
    with pytest.raises(Unbounded, match="leaves the direction asked for open"):
        quadrant.worst_case([1.0, 1.0])
    with pytest.raises(Unbounded, match=r"vertices\(\) needs a bounded set"):
        quadrant.vertices()


def test_high_dimensions_are_measured_by_sampling(monkeypatch):
    monkeypatch.setattr(polytope, "MOST_HULL_DIMENSIONS", 2)
    assert simplex(3).volume() == pytest.approx(1 / 6, rel=0.03)


def test_solver_failures_are_reported(monkeypatch):
    value = simplex(2)
    monkeypatch.setattr(polytope, "_linprog", lambda *_, **__: Failure())
    with pytest.raises(SolverFailed, match="HIGHS stopped with status 4"):
        value.worst_case([1.0, 0.0])


class Failure:
    status, message = 4, "numerical trouble"


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (([[1.0], [-1.0]], [0.0, -1.0]), EmptySet, "no outcome satisfies A y <= b"),
        (([[1.0], [0.0]], [0.0, 1.0]), InvalidParameter, "no row of zeros, got row 1"),
        (([[1.0]], [0.0, 1.0]), InvalidParameter, r"b=...\) must be of shape \(1,\)"),
        (([1.0], [0.0]), InvalidParameter, r"A=...\) must be a non-empty matrix"),
        (([[np.nan]], [0.0]), InvalidParameter, r"A=...\) must be finite"),
        ((np.zeros((0, 2)), []), InvalidParameter, "non-empty"),
    ],
)
def test_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        Polytope(*arguments)


def test_repr_and_copies():
    bound = np.array([1.0, 1.0])
    interval = Polytope([[1.0], [-1.0]], bound)
    bound[:] = 9
    assert interval.support([1.0]) == 1.0
    assert repr(interval) == "Polytope(dim=1, inequalities=2)"


@pytest.mark.parametrize("middle", [0.0, 1e6, -1e5])
def test_what_is_well_outside_is_outside_wherever_the_polytope_lies(middle):
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]])
    reach = np.array([0.5, 0.5, 0.5, 0.8])
    region = Polytope(rows, rows @ np.full(2, middle) + reach)
    center = np.full(2, middle)
    steps = np.random.default_rng(0).normal(size=(40, 2))
    # A hundred thousandth of the width beyond the boundary, or short of it.
    slopes = steps @ rows.T
    edge = np.min(np.where(slopes > 0, reach / slopes, np.inf), axis=1)
    assert not region.contains(center + 1.00001 * edge[:, None] * steps).any()
    assert region.contains(center + 0.99999 * edge[:, None] * steps).all()
    for direction in steps:
        assert region.contains(region.worst_case(direction))


@pytest.mark.parametrize("flat", [False, True])
def test_units_of_components_move_corners_volume_and_hull_along(flat):
    """Thirteen orders between components: in the first ones HiGHS gave no answer."""
    rng = np.random.default_rng(3)
    A = np.vstack([np.eye(3), -np.eye(3), rng.normal(size=(4, 3))])
    b = A @ [3.0, 4.0, 5.0] + np.append(rng.uniform(0.3, 0.7, 6), np.full(4, 0.6))
    if flat:
        across = np.array([[1.0, -2.0, 0.5]])
        A, b = np.vstack([A, across, -across]), np.append(b, [-2.5, 2.5])
    units = np.array([1e3, 1e5, 1e-8])
    plain, scaled = Polytope(A, b), Polytope(A / units, b)

    def in_order(corners):
        return corners[np.lexsort(np.round(corners, 6).T)]

    ours, theirs = in_order(scaled.vertices() / units), in_order(plain.vertices())
    np.testing.assert_allclose(ours, theirs, rtol=1e-7)
    assert scaled.contains(scaled.interior_point()[None])[0]
    # Directions of one hull are directions of the other.
    basis, other = scaled.hull_basis() / units[:, None], plain.hull_basis()
    assert basis.shape == other.shape
    basis /= np.linalg.norm(basis, axis=0)
    np.testing.assert_allclose(other @ (other.T @ basis), basis, atol=1e-6)
    if flat:
        normal = np.cross(*(units[:, None] * other).T)
        stretch = np.linalg.norm(normal)
    else:
        stretch = np.prod(units)
    assert scaled.measure() == pytest.approx(stretch * plain.measure(), rel=1e-6)
