"""The ellipsoid, and how much data predict-then-calibrate asks for."""

from math import log, sqrt

import pytest
from scipy.stats import norm

from sublevel.errors import InvalidParameter
from sublevel.guarantees import PAC, Marginal, classical


def sun(size):
    return 1 / size**2 + 4 * log(size) / sqrt(size)


@pytest.mark.parametrize(
    "alpha, least, most",
    [(0.1, 246_639, 246_639), (0.05, 1.25e6, 1.27e6), (0.01, 4.95e7, 5.05e7)],
)
def test_sample_size_is_the_first_that_will_do(alpha, least, most):
    size = classical.sun_sample_size(alpha)
    assert least <= size <= most
    assert sun(size) <= alpha < sun(size - 1)


def test_the_paper_asks_for_too_few():
    assert classical.sun_level(240_000) == pytest.approx(0.1012, abs=5e-5)
    # The same task with Theorem 3.1: 9 outcomes on average, 29 with confidence.
    assert Marginal().minimum_sample_size(0.1) == 9
    assert PAC(delta=0.05).minimum_sample_size(0.1) == 29


def test_level_says_nothing_up_to_680():
    assert all(classical.sun_level(size) == 1.0 for size in range(1, 681))
    assert classical.sun_level(681) == pytest.approx(sun(681))
    assert sun(681) < 1 <= sun(680)


def test_coverage_adds_what_it_lacks():
    for size in (10**4, 10**6):
        full = classical.sun_level(size)
        assert classical.sun_level(size, coverage=0.95) == pytest.approx(full + 0.05)
    size = classical.sun_sample_size(0.1, coverage=0.95)
    assert size == classical.sun_sample_size(0.05)
    with pytest.raises(InvalidParameter, match="no sample is large enough"):
        classical.sun_sample_size(0.1, coverage=0.9)


@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.01, 1e-9])
def test_ellipsoid_both_ways_and_safe_for_normal_noise(alpha):
    radius = classical.ellipsoid_radius(alpha)
    assert classical.ellipsoid_level(radius) == pytest.approx(alpha, rel=1e-9)
    assert norm.sf(radius) <= alpha < norm.sf(0.4 * radius)


def test_what_is_checked():
    with pytest.raises(InvalidParameter, match=r"sun_level\(size=.*at least 1"):
        classical.sun_level(0)
    with pytest.raises(
        InvalidParameter, match=r"sun_level\(coverage=.*between 0 and 1"
    ):
        classical.sun_level(10, coverage=1.5)
    with pytest.raises(InvalidParameter, match=r"ellipsoid_radius\(alpha="):
        classical.ellipsoid_radius(0.0)
    with pytest.raises(InvalidParameter, match=r"ellipsoid_level\(radius="):
        classical.ellipsoid_level(-1.0)
