"""The affine hull found from worst cases is the one the definition of the set has."""

import numpy as np
import pytest

from sublevel import losses, sets
from sublevel.predictions import Prediction
from sublevel.robust.model.affine_hull import affine_hull, whole_space

LAW = [0.2, 0.3, 0.5]
SIMPLEX = np.array([[1.0, 1.0, 1.0]])
#: Set, and the rows of equations that define its hull (none: full-dimensional).
HULLS = {
    "ball": (sets.Ellipsoid([5.0, 0.0, 1e3], [1.0, 1e-4, 1e5], 2.0), np.zeros((0, 3))),
    "point": (sets.Ellipsoid([5.0, 0.0, 1e3], radius=0.0), np.eye(3)),
    "box": (sets.Box([0, 1, 2], [3, 1, 2]), np.eye(3)[1:]),
    "law": (sets.KLBall(LAW, 0.1), SIMPLEX),
    "law-without-a-class": (
        sets.KLBall([0.4, 0.0, 0.6], 0.1),
        np.vstack([SIMPLEX, np.eye(3)[1]]),
    ),
    "law-in-a-box": (sets.KLBall(LAW, 0.1) & sets.Box([0.1] * 3, [0.9] * 3), SIMPLEX),
    "boxes-that-touch": (
        sets.Box([0, 0, 0], [1, 1, 1]) & sets.Box([1, 0, 0], [2, 1, 1]),
        np.eye(3)[:1],
    ),
    "points": (sets.Finite([[0, 0, 1], [2, 1, 1], [4, 2, 1]]), [[1, -2, 0], [0, 0, 1]]),
    "labels": (sets.LabelSet((np.array(LAW),), 1.0), SIMPLEX),
    "union": (sets.Finite([[0, 0, 1.0]]) | sets.Box([0, 1, 1], [1, 1, 1]), [[0, 0, 1]]),
    "image": (
        sets.AffineImage(sets.Box([0], [1]), [[1], [2e6], [0]]),
        [[2e6, -1, 0], [0, 0, 1]],
    ),
    "loss-at-its-floor": (
        sets.Sublevel(losses.Squared(), Prediction(np.ones(3)), 0.0),
        np.eye(3),
    ),
}


@pytest.mark.parametrize("name", HULLS)
def test_hulls(name):
    region, equations = HULLS[name]
    equations = np.asarray(equations, dtype=float)
    hull = affine_hull(region)
    assert hull.basis.shape == (3, 3 - len(equations))
    assert hull.basis.T @ hull.basis == pytest.approx(np.eye(hull.basis.shape[1]))
    moves = hull.units[:, None] * hull.basis
    # A solver-made worst case knows its equations to about 1e-6.
    assert equations @ moves == pytest.approx(0, abs=1e-5)
    assert region.contains(hull.point, tol=1e-5)


def test_what_a_row_sees_of_a_hull():
    """A line seen through one entry moves; through a constant one it does not."""
    line = affine_hull(sets.AffineImage(sets.Box([0], [1]), [[1.0], [2e6], [0.0]]))
    assert abs(line.moves([1])) == pytest.approx(np.array([[2e6]]))
    assert abs(line.moves([0])) == pytest.approx(np.array([[1.0]]))
    assert line.moves([2]).shape == (1, 0)
    both = line.moves([0, 1])
    assert both.shape == (2, 1)
    assert both[1] == pytest.approx(2e6 * both[0])
    assert abs(np.linalg.det(whole_space(3).moves([0, 2]))) == pytest.approx(1)
