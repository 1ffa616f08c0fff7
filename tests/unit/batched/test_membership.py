"""How far points are outside exponential and power cones, and their duals."""

import numpy as np
import pytest

from sublevel.conic.membership import change_into_cone, change_into_dual

from .programs import interior, interior_of_duals

CONES = [("exp", 3), ("power", 0.5), ("power", 0.1), ("power", 0.85)]


@pytest.mark.parametrize("kind", CONES)
def test_points_inside_stay_where_they_are(kind):
    rng = np.random.default_rng(0)
    assert not change_into_cone(*kind, interior([kind], 500, rng)).any()
    assert not change_into_dual(*kind, interior_of_duals([kind], 500, rng)).any()


@pytest.mark.parametrize("kind", CONES)
def test_what_is_moved_is_inside(kind):
    """By inner products with points of the other cone, which are not negative."""
    rng = np.random.default_rng(1)
    v = rng.normal(size=(2000, 3)) * 10.0 ** rng.uniform(-3, 3, (2000, 1))
    # Some near the boundary, as what a solver says.
    v[:500] = interior([kind], 500, rng) * (1 + 1e-3 * rng.normal(size=(500, 3)))
    own, its = v + change_into_cone(*kind, v), v + change_into_dual(*kind, v)
    assert np.isfinite(own).all()
    assert np.isfinite(its).all()
    lengths = np.linalg.norm(own, axis=1)[:, None] * np.linalg.norm(its, axis=1)
    assert (own @ its.T >= -1e-9 * lengths).all()
    # What was outside would have been seen by some of them.
    moved = change_into_dual(*kind, v).any(axis=1)
    assert 0.1 < moved.mean() < 1
    assert ((own @ v[moved].T).min(axis=0) < 0).mean() > 0.9


@pytest.mark.parametrize("kind", CONES)
def test_a_little_outside_is_a_little_change(kind):
    rng = np.random.default_rng(2)
    if kind[0] == "exp":
        y, x = rng.uniform(0.2, 2, 300), rng.normal(size=300)
        edge = np.column_stack([x, y, y * np.exp(x / y)])
    else:
        x, y = rng.uniform(0.2, 2, (2, 300))
        edge = np.column_stack([x, y, x ** kind[1] * y ** (1 - kind[1])])
    step = rng.normal(size=(300, 3))
    step *= 1e-6 / np.linalg.norm(step, axis=1)[:, None]
    change = np.abs(change_into_cone(*kind, edge + step)).max(axis=1)
    assert change.max() <= 3e-6
    assert (change > 0).mean() > 0.3


def test_no_numbers_stay_none():
    v = np.array([[np.nan, 1.0, 1.0], [1.0, np.nan, 1.0], [1.0, 1.0, np.nan]])
    for kind in CONES:
        assert np.isnan(change_into_cone(*kind, v)).any(axis=1).all()
        assert np.isnan(change_into_dual(*kind, v)).any(axis=1).all()
