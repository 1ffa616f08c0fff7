"""Theorem A by exact enumeration; its assertions against losses that refute them."""

from itertools import product
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from sublevel.errors import InvalidParameter
from sublevel.guarantees import (
    Certificate,
    Guarantee,
    TheoremA,
    TheoremA1,
    classical,
    conditional_level,
    kappa_of_coin,
)

ALPHAS = (0.1, 0.05, 0.01)
VOUCHED = [
    TheoremA(kappa=1.0, bias=0.2, spread=1.1),
    TheoremA(kappa=2.5, bias=0.0, spread=0.3),
    TheoremA1(kappa=1.0, total=5.0, largest=1.0),
    TheoremA1(kappa=3.0, total=0.2, largest=0.1),
]


def coins(rng):
    """Independent two-point components at one context, and a direction.

    Residuals are in units of the predicted spread: `values` has the two of each
    component, `chances` the probability of the first.
    """
    width = int(rng.integers(1, 6))
    chances = rng.uniform(0.03, 0.97, size=width)
    distance = rng.gamma(2.0, size=width)
    bias = rng.choice([0.0, 0.3, 1.0]) * rng.normal(size=width)
    upper = bias + distance * (1 - chances)
    values = np.stack([upper, upper - distance], axis=1)
    spread = distance * np.sqrt(chances * (1 - chances))
    kappa = max(kappa_of_coin(p) for p in chances)
    direction = rng.normal(size=width) * rng.choice([0.2, 1.0, 5.0], size=width)
    return values, chances, bias, spread, kappa, direction


def violation(values, chances, direction, radius):
    """P(direction'e > radius ||direction||), over all outcomes of the coins.

    The constraint direction'(y - prediction) <= radius ||direction|| is the tightest
    that holds on the whole ball.
    """
    total = 0.0
    for picks in product((0, 1), repeat=len(chances)):
        picked = np.array(picks)
        weight = np.prod(np.where(picked == 0, chances, 1 - chances))
        residual = values[np.arange(len(chances)), picked]
        reach = radius * np.linalg.norm(direction)
        total += weight * (direction @ residual > reach * (1 + 1e-12))
    return total


def ratios(kappa_of, problems=600):
    """True violation over bound, for Theorem A and corollary A2, shape (n, 2)."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(problems):
        values, chances, bias, spread, kappa, direction = coins(rng)
        # At, or just below, the farthest outcome: where a coin is worst.
        farthest = np.abs(direction @ values.max(axis=1)) / np.linalg.norm(direction)
        radius = farthest * rng.choice([1 - 1e-9, 0.8, 0.5])
        true = violation(values, chances, direction, radius)
        asserted = kappa_of(kappa)
        norm = float(np.linalg.norm(bias))
        budget = TheoremA(kappa=asserted, bias=norm, spread=float(spread.max()))
        levels = (
            float(conditional_level(radius, bias, spread, asserted)),
            budget.level(radius),
        )
        found.append([true / level for level in levels])
    return np.array(found)


def test_no_coins_violate_more_often_than_theorem_a_says():
    assert ratios(lambda kappa: kappa).max() <= 1 + 1e-12


def test_with_the_variance_for_a_proxy_they_do():
    # The control: kappa = 1 is what the paper's proof uses.
    assert (ratios(lambda kappa: 1.0).max(axis=0) > 1.5).all()


def test_corollary_a1_is_theorem_a_at_the_bounds():
    rng = np.random.default_rng(1)
    for _ in range(50):
        bias, spread = rng.normal(size=4), rng.gamma(1.0, size=4)
        means = bias**2 + spread**2
        radius = sqrt(means.sum()) * rng.uniform(0.5, 2.0)
        vouched = TheoremA1(kappa=1.7, total=means.sum(), largest=means.max())
        at_context = float(conditional_level(radius, bias, spread, 1.7))
        assert vouched.level(radius) == pytest.approx(at_context)
        looser = TheoremA1(kappa=1.7, total=1.1 * means.sum(), largest=means.max())
        assert looser.level(radius) >= at_context


@given(arrays(float, (3, 4), elements=st.floats(0.01, 3)), st.floats(1.0001, 4))
def test_the_lemma_behind_it(numbers, stretch):
    # radius sqrt(sum u a^2) - sum a sqrt(u L - 1)
    #     >= sqrt(radius^2 - sum L) sqrt(sum a^2 / L).
    losses, a, extra = numbers
    u = (1 + extra) / losses
    radius = sqrt(stretch * losses.sum())
    left = radius * sqrt(u @ a**2) - a @ np.sqrt(u * losses - 1)
    right = sqrt(radius**2 - losses.sum()) * sqrt(np.sum(a**2 / losses))
    assert left >= right - 1e-9


def test_normal_noise_by_hand():
    # Bias .5, sd 2: y <= radius is violated with P(Z > (radius - .5) / 2).
    vouched = TheoremA(kappa=1.0, bias=0.5, spread=2.0)
    for radius in (1.0, 3.0, 5.0, 9.0):
        truth = stats.norm.sf((radius - 0.5) / 2)
        assert truth <= vouched.level(radius) == exp(-((radius - 0.5) ** 2) / 8)
    # The printed main inequality squares a negative number: bias 3, radius 1.
    assert TheoremA(kappa=1.0, bias=3.0, spread=1.0).level(1.0) == 1.0
    assert exp(-((1 - 3) ** 2) / 2) < 0.14 < 0.97 < stats.norm.sf(1 - 3)


def test_classical_is_a_special_case():
    classic = TheoremA(kappa=1.0, bias=0.0, spread=1.0)
    for alpha in ALPHAS:
        assert classic.radius(alpha) == classical.ellipsoid_radius(alpha)
        assert classic.level(classic.radius(alpha)) == pytest.approx(alpha)


@pytest.mark.parametrize("vouched", VOUCHED, ids=repr)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_both_ways(vouched, alpha):
    radius = vouched.radius(alpha)
    assert vouched.level(radius) == pytest.approx(alpha, rel=1e-9)
    assert vouched.level(0.9 * radius) > alpha
    assert vouched.level(np.inf) == 0.0
    assert vouched.level(0.0) == 1.0
    losses = np.full((20, 3), 1e-3)
    calibration = vouched.calibrate(losses, alpha)
    assert calibration.budget == radius**2
    promised = vouched.promise(losses, calibration.budget)
    assert promised.alpha == pytest.approx(alpha, rel=1e-9)
    assert vouched.promise(losses, -1.0).alpha == 1.0
    assert vouched.promise(losses, np.inf).alpha == 0.0


def test_corollary_a1_by_hand():
    vouched = TheoremA1(kappa=2.0, total=5.0, largest=1.5)
    assert vouched.radius(0.1) ** 2 == pytest.approx(5 + 6 * log(10))
    assert vouched.level(4.0) == pytest.approx(exp(-11 / 6))
    assert vouched.level(2.0) == 1.0


def test_conditional_level_broadcasts_over_contexts():
    bias, spread = np.array([[0.0, 0.0], [3.0, 3.0]]), np.ones((2, 2))
    levels = conditional_level(3.0, bias, spread, kappa=1.0)
    assert levels == pytest.approx([exp(-7 / 2), 1.0])
    assert conditional_level(1.0, [0.0], [0.0], kappa=1.0) == 0.0


@pytest.mark.parametrize("vouched", VOUCHED, ids=repr)
def test_certificates_list_what_was_asserted(vouched):
    assert isinstance(vouched, Guarantee)
    certificate = vouched.calibrate(np.full((20, 3), 1e-3), 0.1).certificate
    asserted = [each for each in certificate.assumptions if each.startswith("Asserted")]
    assert len(asserted) == 4
    text = " ".join(str(certificate).split())
    for fact in (
        "a constraint kept on the whole set is violated with probability at most 0.1",
        "at every context, if what was asserted is true",
        "components of the outcome are independent",
        "concave in the outcome",
        "rests on what was asserted",
    ):
        assert fact in text
    assert ("no skewness" in text) == (vouched.kappa == 1)
    assert not certificate.heuristic
    assert (certificate.sample_size, certificate.minimum_sample_size) == (20, 0)
    assert vouched.minimum_sample_size(0.1) == 0
    assert Certificate.from_dict(certificate.to_dict()) == certificate


def test_the_chance_of_large_losses_is_bounded_by_the_formula():
    # Normal noise is the extreme case: the sum of N m squares is noncentral chi-square.
    for size, width, bias in [(10, 1, 0.0), (30, 4, 1.0), (200, 5, 0.3)]:
        total = width + bias**2
        law = stats.ncx2(size * width, max(size * bias**2, 1e-12))
        for surprise in (1.0, 5.0, 14.0):
            seen = (sqrt(2 * surprise) + sqrt(size * total)) ** 2
            assert law.sf(seen) <= exp(-surprise)


def test_losses_that_refute_the_assertions_are_refused():
    vouched = TheoremA(kappa=1.0, bias=0.0, spread=1.0)
    size, width = 100, 2
    # exp(-(sqrt(S) - sqrt(200))^2 / 2) = 1e-6 at S = 374.9.
    limit = (sqrt(size * width) + sqrt(-2 * log(1e-6))) ** 2
    for factor, refused in [(0.999, False), (1.001, True)]:
        losses = np.full((size, width), factor * limit / (size * width))
        if not refused:
            assert vouched.calibrate(losses, 0.1).budget == vouched.radius(0.1) ** 2
            continue
        for call in (vouched.calibrate, vouched.promise):
            with pytest.raises(InvalidParameter, match="the losses contradict what is"):
                call(losses, 0.1)


def test_what_is_checked():
    with pytest.raises(
        InvalidParameter, match=r"at least 1, got 0\.5: a variance proxy"
    ):
        TheoremA(kappa=0.5, bias=0.0, spread=1.0)
    with pytest.raises(InvalidParameter, match=r"TheoremA\(bias=.*at least 0"):
        TheoremA(kappa=1.0, bias=-1.0, spread=1.0)
    with pytest.raises(InvalidParameter, match=r"TheoremA\(spread=.*positive"):
        TheoremA(kappa=1.0, bias=0.0, spread=0.0)
    with pytest.raises(InvalidParameter, match="largest=2 > total=1"):
        TheoremA1(kappa=1.0, total=1.0, largest=2.0)
    with pytest.raises(InvalidParameter, match=r"TheoremA1\(alpha="):
        TheoremA1(kappa=1.0, total=1.0, largest=1.0).radius(0.0)
    with pytest.raises(InvalidParameter, match=r"TheoremA\(radius="):
        TheoremA(kappa=1.0, bias=0.0, spread=1.0).level(-1.0)
    with pytest.raises(TypeError, match="kappa"):
        TheoremA(bias=0.0, spread=1.0)
    with pytest.raises(InvalidParameter, match="losses by component"):
        TheoremA(kappa=1.0, bias=0.0, spread=1.0).calibrate([1.0, 2.0], 0.1)
