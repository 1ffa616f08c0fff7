"""Every worst case against a conic program written from the set's definition."""

from collections.abc import Callable
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sublevel.sets import (
    AffineImage,
    Box,
    Budget,
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
)

Rng = np.random.Generator
seeds = st.integers(0, 2**32 - 1)
some = settings(max_examples=8, deadline=None, derandomize=True)


@dataclass(frozen=True)
class Case:
    """A random set and what its definition says, as CVXPY constraints on y."""

    value: UncertaintySet
    definition: Callable[[cp.Variable], list]


def ellipsoid(rng: Rng) -> Case:
    m = int(rng.integers(1, 6))
    center, scale = rng.normal(size=m), rng.normal(size=(m, m)) + 3 * np.eye(m)
    radius = float(rng.uniform(0.1, 3))
    inverse = np.linalg.inv(scale)
    return Case(
        Ellipsoid(center, scale, radius),
        lambda y: [cp.sum_squares(inverse @ (y - center)) <= radius**2],
    )


def l1_ball(rng: Rng) -> Case:
    m = int(rng.integers(1, 6))
    center, scale = rng.normal(size=m), rng.uniform(0.2, 2, m)
    radius = float(rng.uniform(0.1, 3))
    return Case(
        L1Ball(center, scale, radius),
        lambda y: [cp.sum(cp.abs((y - center) / scale)) <= radius],
    )


def box(rng: Rng) -> Case:
    m = int(rng.integers(1, 6))
    lower = rng.normal(size=m)
    upper = lower + rng.exponential(size=m) * (rng.random(m) < 0.8)
    return Case(Box(lower, upper), lambda y: [y - lower >= 0, upper - y >= 0])


def budget(rng: Rng) -> Case:
    m = int(rng.integers(1, 7))
    center, deviation = rng.normal(size=m), rng.exponential(size=m) + 0.1
    gamma = float(rng.uniform(0, m + 1))
    return Case(
        Budget(center, deviation, gamma),
        lambda y: [
            cp.abs(y - center) <= deviation,
            cp.sum(cp.abs(y - center) / deviation) <= gamma,
        ],
    )


def polytope(rng: Rng) -> Case:
    m = int(rng.integers(1, 5))
    rows = np.vstack([rng.normal(size=(3, m)), np.eye(m), -np.eye(m)])
    point = rng.normal(size=m)
    bound = rows @ point + rng.exponential(size=len(rows))
    return Case(Polytope(rows, bound), lambda y: [bound - rows @ y >= 0])


def probabilities(rng: Rng) -> np.ndarray:
    nominal = rng.dirichlet(np.ones(int(rng.integers(2, 6))) * 2)
    if rng.random() < 0.3 and nominal.size > 2:
        nominal[int(rng.integers(nominal.size))] = 0.0
    return nominal / nominal.sum()


def kl_ball(rng: Rng) -> Case:
    nominal = probabilities(rng)
    radius = float(10 ** rng.uniform(-3, 0.7))
    on = np.flatnonzero(nominal > 0)

    def definition(y: cp.Variable) -> list:
        # D(p || phat) = sum kl_div(p, phat) where both sum to one.
        close = cp.sum(cp.kl_div(y[on], nominal[on])) <= radius
        return [cp.sum(y) == 1, y >= 0, y <= (nominal > 0).astype(float), close]

    return Case(KLBall(nominal, radius), definition)


def variation_ball(rng: Rng) -> Case:
    nominal, radius = probabilities(rng), float(rng.uniform(0.01, 2.2))
    return Case(
        VariationBall(nominal, radius),
        lambda y: [cp.sum(y) == 1, y >= 0, cp.norm1(y - nominal) <= radius],
    )


def label_set(rng: Rng) -> Case:
    sizes = rng.integers(1, 4, size=int(rng.integers(1, 5)))
    costs = tuple(-np.log(rng.dirichlet(np.ones(k))) for k in sizes)
    limit = sum(c.min() for c in costs) + float(rng.exponential())
    sums = np.repeat(np.eye(len(sizes)), sizes, axis=1)

    def definition(y: cp.Variable) -> list:
        label = cp.Variable(int(sizes.sum()), boolean=True)
        return [y == label, sums @ label == 1, np.concatenate(costs) @ label <= limit]

    return Case(LabelSet(costs, limit), definition)


def finite(rng: Rng) -> Case:
    points = rng.normal(size=(int(rng.integers(1, 6)), int(rng.integers(1, 4))))
    share = cp.Variable(len(points), nonneg=True)
    return Case(Finite(points), lambda y: [y == points.T @ share, cp.sum(share) == 1])


def intersection(rng: Rng) -> Case:
    ball = ellipsoid(rng)
    middle, m = ball.value.center, ball.value.dim
    lower, upper = middle - rng.exponential(size=m), middle + rng.exponential(size=m)
    return Case(
        Intersection([ball.value, Box(lower, upper)]),
        lambda y: [*ball.definition(y), y >= lower, y <= upper],
    )


def product(rng: Rng) -> Case:
    one, two = ellipsoid(rng), variation_ball(rng)
    cut = one.value.dim
    return Case(
        Product([one.value, two.value]),
        lambda y: [*one.definition(y[:cut]), *two.definition(y[cut:])],
    )


def affine_image(rng: Rng) -> Case:
    source = ellipsoid(rng)
    matrix = rng.normal(size=(int(rng.integers(1, 5)), source.value.dim))
    offset = rng.normal(size=len(matrix))

    def definition(y: cp.Variable) -> list:
        z = cp.Variable(source.value.dim)
        return [y == matrix @ z + offset, *source.definition(z)]

    return Case(AffineImage(source.value, matrix, offset), definition)


CONVEX = [
    ellipsoid,
    l1_ball,
    box,
    budget,
    polytope,
    kl_ball,
    variation_ball,
    intersection,
    product,
    affine_image,
]
ALL = [*CONVEX, finite, label_set]


def conic_support(case: Case, direction: np.ndarray) -> float:
    y = cp.Variable(case.value.dim)
    problem = cp.Problem(cp.Maximize(direction @ y), case.definition(y))
    solver = cp.HIGHS if problem.is_mixed_integer() else cp.CLARABEL
    problem.solve(solver=solver)
    assert problem.status == cp.OPTIMAL
    return float(problem.value)


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
@some
@given(seed=seeds)
def test_support_is_that_of_the_definition(make, seed):
    rng = np.random.default_rng(seed)
    case = make(rng)
    direction = rng.normal(size=case.value.dim)
    truth = conic_support(case, direction)
    assert case.value.support(direction) == pytest.approx(truth, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
@some
@given(seed=seeds)
def test_constraints_describe_the_set(make, seed):
    rng = np.random.default_rng(seed)
    case = make(rng)
    direction = rng.normal(size=case.value.dim)
    described = conic_support(Case(case.value, case.value.constraints), direction)
    assert case.value.support(direction) == pytest.approx(described, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
@some
@given(seed=seeds)
def test_worst_case_is_inside_and_attains_the_support(make, seed):
    rng = np.random.default_rng(seed)
    value = make(rng).value
    direction = rng.normal(size=value.dim)
    worst = value.worst_case(direction)
    assert value.contains(worst)
    assert direction @ worst == pytest.approx(value.support(direction), rel=1e-9)
    lower, upper = value.bounds()
    assert (worst >= lower - 1e-6).all()
    assert (worst <= upper + 1e-6).all()


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
@some
@given(seed=seeds)
def test_support_is_sublinear(make, seed):
    rng = np.random.default_rng(seed)
    value = make(rng).value
    one, two = rng.normal(size=(2, value.dim))
    size = 1 + abs(value.support(one)) + abs(value.support(two))
    assert (
        value.support(one + two)
        <= value.support(one) + value.support(two) + 1e-6 * size
    )
    assert value.support(3 * one) == pytest.approx(
        3 * value.support(one), abs=1e-6 * size
    )
    assert value.support(0 * one) == pytest.approx(0.0, abs=1e-7 * size)


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
@settings(max_examples=4, deadline=None, derandomize=True)
@given(seed=seeds)
def test_samples_are_inside_and_below_the_support(make, seed):
    rng = np.random.default_rng(seed)
    value = make(rng).value
    if make is affine_image and not value._is_injective:
        return
    draws = value.sample(20, random_state=rng)
    direction = rng.normal(size=value.dim)
    assert draws.shape == (20, value.dim)
    assert value.contains(draws).all()
    assert (draws @ direction).max() <= value.support(direction) + 1e-6
    assert np.array_equal(value.sample(3, random_state=1), value.sample(3, 1))


@some
@given(seed=seeds)
def test_intersections_are_within_and_unions_around(seed):
    rng = np.random.default_rng(seed)
    ball = ellipsoid(rng).value
    other = Box(ball.center - 1, ball.center + 1)
    direction = rng.normal(size=ball.dim)
    supports = ball.support(direction), other.support(direction)
    assert (ball & other).support(direction) <= min(supports) + 1e-6
    assert (ball | other).support(direction) == max(supports)


@some
@given(seed=seeds)
def test_membership_of_images_by_solve_equals_by_inverse(seed):
    rng = np.random.default_rng(seed)
    source = Ellipsoid(np.zeros(3), radius=1.0)
    matrix = rng.normal(size=(2, 3))
    image = AffineImage(source, matrix)
    # The same set: y' (M M')^-1 y <= 1.
    twin = Ellipsoid(np.zeros(2), np.linalg.cholesky(matrix @ matrix.T), 1.0)
    outcomes = rng.normal(size=(6, 2)) * 1.5
    clear = np.abs(twin.norm_ball.norm(outcomes) - 1) > 1e-4
    assert np.array_equal(
        image.contains(outcomes)[clear], twin.contains(outcomes)[clear]
    )


@some
@given(seed=seeds)
def test_relaxed_labels_are_around_the_exact_ones(seed):
    rng = np.random.default_rng(seed)
    exact = label_set(rng).value
    direction = rng.normal(size=exact.dim)
    relaxed = exact.relaxation()
    assert relaxed.support(direction) >= exact.support(direction) - 1e-7
    assert relaxed.contains(exact.worst_case(direction))


@some
@given(seed=seeds)
def test_unions_distribute_over_intersections(seed):
    rng = np.random.default_rng(seed)
    one, two = Ellipsoid(rng.normal(size=2)), Ellipsoid(rng.normal(size=2))
    window = Box(one.center - 0.5, one.center + 0.5)
    direction = rng.normal(size=2)
    pieces = [Intersection([one, window])]
    try:
        (two & window).worst_case(direction)
        pieces.append(two & window)
    except ValueError:
        pass
    whole = Intersection([Union([one, two]), window])
    truth = max(piece.support(direction) for piece in pieces)
    assert whole.support(direction) == pytest.approx(truth, abs=1e-6)
