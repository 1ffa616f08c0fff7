"""What sets say of themselves: what moves together, corners, many supports at once."""

import numpy as np
import pytest

from sublevel.sets import (
    AffineImage,
    Box,
    Budget,
    Ellipsoid,
    Finite,
    L1Ball,
    Polytope,
    Product,
    Sublevel,
)

SQUARE = Box([0.0, 1.0], [2.0, 3.0])
BALL = Ellipsoid([1.0, 2.0], [[1.0, 0.5], [0.0, 2.0]], 0.7)
CROSS = L1Ball([1.0, 2.0], [0.5, 2.0], 1.5)
TRIANGLE = Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [0.0, 0.0, 1.0])
POINTS = Finite([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]])


@pytest.mark.parametrize(
    ("region", "blocks"),
    [
        (SQUARE, [0, 1]),
        (BALL, [0, 0]),
        (Product([Box([0.0], [1.0]), BALL, SQUARE]), [0, 1, 1, 3, 4]),
        (SQUARE & Box([0.0, 0.0], [1.0, 2.0]), [0, 1]),
        (SQUARE & CROSS, [0, 0]),
        (AffineImage(SQUARE, [[0.0, 2.0], [1.0, 0.0]]), [1, 0]),
        (AffineImage(SQUARE, [[1.0, 2.0], [1.0, 0.0]]), [0, 0]),
        (SQUARE | BALL, [0, 0]),
    ],
)
def test_blocks_are_what_moves_together(region, blocks):
    """The support is the sum of those of the blocks, and of no finer ones."""
    np.testing.assert_array_equal(region.blocks(), blocks)
    rng = np.random.default_rng(0)
    for direction in rng.normal(size=(5, region.dim)):
        apart = [
            region.support(np.where(region.blocks() == label, direction, 0.0))
            for label in np.unique(blocks)
        ]
        assert sum(apart) == pytest.approx(region.support(direction), abs=1e-6)


@pytest.mark.parametrize(
    "region",
    [
        SQUARE,
        CROSS,
        TRIANGLE,
        POINTS,
        SQUARE | CROSS,
        Product([CROSS, TRIANGLE]),
        AffineImage(TRIANGLE, [[1.0, 2.0], [0.0, 1.0], [1.0, 0.0]], 1.0),
    ],
)
def test_corners_are_outcomes_and_as_far_as_the_set_goes(region):
    corners = region.corners(64)
    assert region.contains(corners).all()
    for direction in np.random.default_rng(1).normal(size=(20, region.dim)):
        far = (corners @ direction).max()
        assert far == pytest.approx(region.support(direction), abs=1e-7)
    assert region.corners(2) is None
    assert BALL.corners(64) is None


@pytest.mark.parametrize(
    "region",
    [
        BALL,
        CROSS,
        POINTS,
        Budget([1.0, 2.0, 3.0], [0.5, 1.0, 2.0], 1.5),
        Sublevel("huber", [1.0, 2.0], 0.7),
        Sublevel("squared", [1.0, 2.0], 0.7),
        Sublevel("absolute", [1.0, 2.0], 0.7),
    ],
)
def test_many_supports_at_once_are_those_one_by_one(region):
    directions = np.random.default_rng(2).normal(size=(20, region.dim))
    each = [region.support(direction) for direction in directions]
    np.testing.assert_allclose(region.maxima(directions), each, rtol=1e-9)
    assert SQUARE.maxima(directions[:, :2]) is None
