"""Finite, Intersection, Product, AffineImage and Union."""

from math import inf, pi

import cvxpy as cp
import numpy as np
import pytest

from sublevel.errors import EmptySet, InvalidParameter, Unbounded
from sublevel.sets import (
    AffineImage,
    Box,
    Ellipsoid,
    Finite,
    Intersection,
    KLBall,
    L1Ball,
    LabelSet,
    Polytope,
    Product,
    UncertaintySet,
    Union,
    VariationBall,
    label_set,
    union,
)

SQUARE = Box([-1.0, -1.0], [1.0, 1.0])
DISC = Ellipsoid([0.0, 0.0])


# -- Finite ----------------------------------------------------------------------


def test_finite_by_hand():
    points = np.array([[0.0, 0.0], [1.0, 2.0], [1.0, 2.0]])
    value = Finite(points)
    points[:] = 9
    assert value.support([1.0, 1.0]) == 3.0
    assert value.volume() == 2.0
    assert value.contains([[1.0, 2.0], [0.5, 1.0]]).tolist() == [True, False]
    assert value.bounds()[1].tolist() == [1.0, 2.0]
    draws = value.sample(4000, 0)
    assert abs(draws[:, 0].mean() - 0.5) <= 5 * 0.5 / np.sqrt(4000)
    assert repr(value) == "Finite(dim=2, points=3)"
    assert value.interior_point().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("points", [[], [[]], [1.0, 2.0], [[np.nan]]])
def test_finite_errors(points):
    with pytest.raises(InvalidParameter, match=r"Finite\(points=...\) must be"):
        Finite(points)


# -- Intersection ----------------------------------------------------------------


def test_intersection_by_hand():
    value = DISC & Box([-2.0, -2.0], [0.5, 2.0])
    assert value.support([1.0, 0.0]) == pytest.approx(0.5, abs=1e-6)
    assert value.support([0.0, 1.0]) == pytest.approx(1.0, abs=1e-6)
    assert value.contains([[0.5, 0.5], [0.6, 0.0]]).tolist() == [True, False]
    assert value.is_bounded


def test_intersection_volume_and_moments():
    # A half disc: area pi / 2, centre of mass 4 / (3 pi) from the diameter.
    half = DISC & Box([-2.0, 0.0], [2.0, 2.0])
    assert half.volume() == pytest.approx(pi / 2, rel=0.02)
    draws = half.sample(3000, random_state=0)
    error = draws.std(axis=0) / np.sqrt(3000)
    assert (np.abs(draws.mean(axis=0) - [0, 4 / (3 * pi)]) <= 5 * error).all()


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e6, 1e9])
@pytest.mark.parametrize("far", [0.0, 1e4])
def test_intersections_do_not_depend_on_the_unit(unit, far):
    center = np.full(3, far * unit)
    matrix = unit * (np.eye(3) + 0.1)
    ball, box = Ellipsoid(center, matrix), Box(center - 0.7 * unit, center + 0.7 * unit)
    rows = np.vstack([np.ones((1, 3)), -np.eye(3)])
    cut = Polytope(rows, rows @ center + unit)
    value = ball & box & cut
    for direction in np.random.default_rng(0).normal(size=(5, 3)):
        worst = value.worst_case(direction)
        assert value.contains(worst)
        z = cp.Variable(3)
        inside = [cp.norm(np.linalg.inv(np.eye(3) + 0.1) @ z) <= 1]
        conditions = [*inside, cp.abs(z) <= 0.7, cp.sum(z) <= 1]
        problem = cp.Problem(cp.Maximize(direction @ z), conditions)
        problem.solve(solver=cp.CLARABEL)
        reach = direction @ (worst - center) / unit
        assert reach == pytest.approx(problem.value, abs=1e-6)


def test_intersection_flattens_and_keeps_members():
    assert len((DISC & SQUARE & L1Ball([0.0, 0.0])).sets) == 3


def test_intersection_with_points():
    value = Intersection([DISC, Finite([[0.5, 0.5], [2.0, 0.0], [0.0, 0.1]])])
    assert value.worst_case([1.0, 0.0]).tolist() == [0.5, 0.5]
    assert value.volume() == 2.0
    assert value.hull_basis().shape == (2, 0)
    assert value.contains(value.sample(10, 0)).all()
    with pytest.raises(EmptySet, match="no outcome is in all of its members"):
        (DISC & Finite([[3.0, 3.0]])).worst_case([1.0, 0.0])
    with pytest.raises(EmptySet):
        (DISC & Finite([[3.0, 3.0]])).sample(1)


def test_empty_intersections():
    apart = DISC & Ellipsoid([5.0, 0.0])
    with pytest.raises(EmptySet, match="Intersection is empty"):
        apart.worst_case([1.0, 0.0])
    with pytest.raises(EmptySet):
        (apart | apart & SQUARE).support([1.0, 0.0])
    with pytest.raises(EmptySet):
        (Union([DISC, SQUARE]) & Ellipsoid([9.0, 0.0])).support([1.0, 0.0])


def test_unbounded_intersections():
    wide = Ellipsoid([0.0, 0.0], radius=inf) & Box([0.0, 0.0], [inf, 1.0])
    assert wide.support([1.0, 0.0]) == inf
    assert wide.support([0.0, 1.0]) == pytest.approx(1.0, abs=1e-6)
    assert not wide.is_bounded
    with pytest.raises(Unbounded):
        wide.worst_case([1.0, 0.0])
    capped = Ellipsoid([0.0, 0.0], radius=inf) & SQUARE
    assert capped.support([1.0, 1.0]) == pytest.approx(2.0)


def test_intersection_bounded_only_together():
    strip = Box([-1.0, -inf], [1.0, inf]) & Box([-inf, -1.0], [inf, 1.0])
    assert strip.is_bounded
    assert strip.volume() == pytest.approx(4.0, rel=0.02)


def test_intersection_within_a_hyperplane():
    nominal = [0.3, 0.3, 0.4]
    value = VariationBall(nominal, 0.4) & Box([0.0] * 3, [0.35, 1.0, 1.0])
    assert value.hull_basis().shape == (3, 2)
    draws = value.sample(50, 0)
    assert value.contains(draws).all()
    assert value.support([1.0, 0.0, 0.0]) == pytest.approx(0.35, abs=1e-6)
    assert 0 < value.volume() < VariationBall(nominal, 0.4).volume()
    both = KLBall(nominal, 0.1) & VariationBall(nominal, 0.2)
    assert both.contains(both.worst_case([1.0, 2.0, 0.0]))


def test_labels_within_convex_sets(monkeypatch):
    labels = LabelSet(([0.0, 1.0], [0.0, 1.0]), 2.0)
    ball = Ellipsoid([0.0, 1.0, 0.0, 1.0], radius=1.5)
    best = (labels & ball).worst_case([1.0, 0.0, 0.9, 0.0])
    assert best.tolist() == [1, 0, 0, 1]
    monkeypatch.setattr(label_set, "MOST_LISTED", 1)
    box = Box([0.0] * 4, [1.0, 1.0, 0.5, 1.0])
    assert (labels & box).worst_case([1.0, 0.0, 1.0, 0.0]) == pytest.approx(
        [1, 0, 0, 1]
    )
    with pytest.raises(InvalidParameter, match="must not combine many labels"):
        (labels & ball).worst_case([1.0, 0.0, 0.9, 0.0])


def test_intersection_distributes_over_unions(monkeypatch):
    monkeypatch.setattr(union, "OVERLAP_DRAWS", 500)
    two = Union([Box([0.0, 0.0], [1.0, 1.0]), Box([4.0, 0.0], [5.0, 1.0])])
    window = Box([0.5, 0.0], [4.5, 1.0])
    value = two & window
    assert value.support([1.0, 0.0]) == pytest.approx(4.5, abs=1e-6)
    assert value.volume() == pytest.approx(1.0, rel=0.02)
    draws = value.sample(400, 0)
    assert value.contains(draws).all()
    assert abs((draws[:, 0] > 2).mean() - 0.5) <= 5 * 0.5 / np.sqrt(400)
    nested = Product([two]) & AffineImage(two, np.eye(2)) & window
    assert nested.support([1.0, 0.0]) == pytest.approx(4.5, abs=1e-6)


# -- Product ---------------------------------------------------------------------


def test_product_by_hand():
    value = Product([Box([0.0], [2.0]), Ellipsoid([1.0, 1.0], radius=3.0)])
    assert value.support([1.0, 3.0, 4.0]) == 2 + 7 + 15
    assert value.worst_case([1.0, 3.0, 4.0]) == pytest.approx([2, 2.8, 3.4])
    assert value.volume() == pytest.approx(2 * pi * 9)
    assert UncertaintySet.measure(value) == pytest.approx(value.volume(), rel=0.02)
    assert value.contains([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0]]).tolist() == [True, False]
    assert value.contains(value.sample(20, 0)).all()
    assert value.bounds()[0].tolist() == [0.0, -2.0, -2.0]
    assert repr(Product([SQUARE])) == "Product(sets=(Box(dim=2),))"


def test_product_with_an_infinite_member():
    value = Product([Ellipsoid([0.0], radius=inf), Box([0.0], [1.0])])
    assert value.support([1.0, 1.0]) == inf
    assert value.support([0.0, 1.0]) == 1.0
    assert value.worst_case([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert not value.is_bounded


def test_product_of_labels_and_points_is_listed():
    value = Product([LabelSet(([0.0, 0.0],), 1.0), Finite([[1.0], [2.0], [3.0]])])
    assert value.listed().shape == (6, 3)
    assert value.volume() == 6.0
    assert Product([SQUARE, Finite([[1.0]])]).listed() is None


# -- AffineImage -----------------------------------------------------------------


def test_affine_image_of_a_disc_is_an_ellipse():
    matrix = np.array([[2.0, 0.0], [1.0, 1.0]])
    image, twin = AffineImage(DISC, matrix, [1.0, 0.0]), Ellipsoid([1.0, 0.0], matrix)
    rng = np.random.default_rng(0)
    for direction in rng.normal(size=(10, 2)):
        assert image.support(direction) == pytest.approx(twin.support(direction))
        assert twin.contains(image.worst_case(direction))
    outcomes = rng.normal(size=(100, 2)) * 2
    assert np.array_equal(image.contains(outcomes), twin.contains(outcomes))
    assert image.volume() == pytest.approx(twin.volume())
    assert UncertaintySet.measure(image) == pytest.approx(twin.volume(), rel=0.02)
    assert image.contains(image.sample(50, 0)).all()
    assert repr(image) == "AffineImage(Ellipsoid(dim=2, radius=1), dim=2)"


def test_flat_images_are_measured_within_their_plane():
    flat = AffineImage(
        Box([0.0, 0.0], [1.0, 1.0]), [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    )
    assert flat.volume() == pytest.approx(np.sqrt(3))
    assert flat.contains([[1.0, 1.0, 2.0], [1.0, 1.0, 1.9]]).tolist() == [True, False]
    assert UncertaintySet.measure(flat) == pytest.approx(np.sqrt(3), rel=0.02)


def test_images_of_images_stay_within_the_hull_of_the_source():
    # A segment of the simplex, stretched: only directions of the hull are stretched.
    segment = VariationBall([0.5, 0.5], 0.4)
    image = AffineImage(segment, [[2.0, 0.0], [0.0, 2.0]])
    assert image.volume() == pytest.approx(2 * segment.volume())


def test_projections():
    shadow = AffineImage(Ellipsoid([0.0] * 3), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 1.0)
    assert shadow.contains([[1.7, 1.7], [1.8, 1.8]]).tolist() == [True, False]
    assert shadow.contains(shadow.worst_case([1.0, 2.0]))
    with pytest.raises(InvalidParameter, match=r"volume\(\) needs a matrix of full"):
        shadow.volume()
    with pytest.raises(InvalidParameter, match=r"sample\(\) needs a matrix of full"):
        shadow.sample(1)


def test_projections_of_points_and_unions():
    corners = AffineImage(Finite([[0.0, 0.0], [1.0, 1.0], [0.0, 2.0]]), [[1.0, 0.0]])
    assert corners.contains([[0.0], [1.0], [0.5]]).tolist() == [True, True, False]
    assert corners.volume() == 2.0
    assert set(corners.sample(50, 0).ravel()) == {0.0, 1.0}
    assert corners.hull_basis().shape == (1, 0)
    pair = Union([SQUARE, Box([5.0, 0.0], [6.0, 1.0])])
    shadow = AffineImage(pair, [[1.0, 0.0]])
    assert shadow.contains([[5.5], [3.0]]).tolist() == [True, False]


def test_images_of_unbounded_sets():
    everything = Ellipsoid([0.0, 0.0], radius=inf)
    image = AffineImage(everything, [[0.1, 0.2], [0.3, 0.6], [1.0, -1.0]])
    assert image.support([0.0, 0.0, 1.0]) == inf
    # 3 y_1 - y_2 is always zero, whatever the rounding of 3 * 0.1 - 0.3.
    assert image.support([3.0, -1.0, 0.0]) == 0.0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("disc", np.eye(2)), r"set=...\) must be an uncertainty set, got str"),
        (
            (DISC, np.eye(3)),
            r"matrix=...\) must be a non-empty matrix of shape \(any, 2",
        ),
        ((DISC, np.eye(2), [1.0]), r"offset=...\) must be of shape \(2,\)"),
    ],
)
def test_affine_image_errors(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        AffineImage(*arguments)


# -- Union -----------------------------------------------------------------------


def test_union_by_hand():
    value = Box([0.0], [2.0]) | Box([1.0], [4.0]) | Box([9.0], [10.0])
    assert len(value.sets) == 3
    assert value.support([1.0]) == 10.0
    assert value.worst_case([-1.0]).tolist() == [0.0]
    assert value.contains([[1.5], [5.0], [9.5]]).tolist() == [True, False, True]
    assert value.volume() == pytest.approx(5.0, rel=0.02)
    lower, upper = value.bounds()
    assert (lower[0], upper[0]) == (0.0, 10.0)


def test_union_samples_are_uniform_across_overlaps():
    value = Box([0.0], [2.0]) | Box([1.0], [4.0])
    n = 8000
    draws = value.sample(n, random_state=0).ravel()
    for start in range(4):
        share = ((draws >= start) & (draws < start + 1)).mean()
        assert abs(share - 0.25) <= 5 * np.sqrt(0.25 * 0.75 / n)


def test_union_of_points():
    value = Finite([[0.0], [1.0]]) | Finite([[1.0], [2.0]])
    assert value.volume() == 3.0
    counts = np.unique(value.sample(3000, 0), return_counts=True)[1]
    assert np.abs(counts - 1000).max() <= 5 * np.sqrt(3000 * 2 / 9)
    two = Ellipsoid([0.0], radius=0.0) | Ellipsoid([1.0], radius=0.0)
    assert two.volume() == 0.0
    assert set(two.sample(50, 0).ravel()) == {0.0, 1.0}
    assert two.interior_point().tolist() == [0.0]


def test_union_has_no_constraints():
    with pytest.raises(InvalidParameter, match=r"each member of Union.sets"):
        (DISC | SQUARE).constraints(cp.Variable(2))


def test_union_of_different_kinds_cannot_be_measured():
    mixed = DISC | Finite([[0.0, 0.0]])
    assert mixed.support([1.0, 0.0]) == 1.0
    with pytest.raises(InvalidParameter, match=r"different dimensions \[2, 0\]"):
        mixed.volume()
    with pytest.raises(InvalidParameter, match="different dimensions"):
        mixed.sample(1)


def test_union_with_an_infinite_member():
    value = DISC | Ellipsoid([0.0, 0.0], radius=inf)
    assert value.support([1.0, 0.0]) == inf
    assert not value.is_bounded
    with pytest.raises(Unbounded):
        value.worst_case([1.0, 0.0])


# -- what they share -------------------------------------------------------------


@pytest.mark.parametrize("kind", [Intersection, Union, Product])
def test_members_are_checked(kind):
    with pytest.raises(InvalidParameter, match=r"non-empty sequence .* got none"):
        kind([])
    with pytest.raises(InvalidParameter, match=r"non-empty sequence .* got str"):
        kind([DISC, "square"])
    with pytest.raises(InvalidParameter, match=r"non-empty sequence .* got int"):
        kind(3)


@pytest.mark.parametrize("kind", [Intersection, Union])
def test_dimensions_are_checked(kind):
    with pytest.raises(InvalidParameter, match=r"same dimension, got \[2, 1\]"):
        kind([DISC, Box([0.0], [1.0])])


def test_interior_is_found_where_axes_see_a_flat_set():
    # Along both axes the extreme points are (0, 0) and (1, 1): a side of the triangle.
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.2, 0.7]])
    rows, bounds = [], []
    for i in range(3):
        one, two, rest = corners[i], corners[i - 1], corners[i - 2]
        normal = np.array([two[1] - one[1], one[0] - two[0]])
        sign = 1.0 if normal @ (rest - one) < 0 else -1.0
        rows.append(sign * normal)
        bounds.append(sign * normal @ one)
    triangle = Polytope(rows, bounds)
    inner = UncertaintySet.interior_point(triangle)
    assert (triangle.A @ inner < triangle.b - 1e-3).all()
    assert UncertaintySet.measure(triangle) == pytest.approx(
        triangle.volume(), rel=0.03
    )
