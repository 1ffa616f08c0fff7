"""Radii around an observed law, against exact sums over all samples."""

from math import comb, exp, lgamma, log

import numpy as np
import pytest
from scipy import stats
from scipy.special import rel_entr, xlogy

from sublevel.errors import InvalidParameter
from sublevel.guarantees import divergences as d

PHI = {
    "KL": lambda t: xlogy(t, t) - t + 1,
    "BURG": lambda t: -np.log(t) + t - 1,
    "J": lambda t: (t - 1) * np.log(t),
    "CHI_SQUARE": lambda t: (t - 1) ** 2 / t,
    "MODIFIED_CHI_SQUARE": lambda t: (t - 1) ** 2,
    "HELLINGER": lambda t: (np.sqrt(t) - 1) ** 2,
}


def all_samples(size, law):
    """Frequencies of every sample of that size, and their probabilities."""
    if len(law) == 2:
        counts = np.stack([np.arange(size + 1), size - np.arange(size + 1)], axis=1)
    else:
        counts = np.array(
            [(i, j, size - i - j) for i in range(size + 1) for j in range(size + 1 - i)]
        )
    logs = [lgamma(size + 1) - sum(lgamma(c + 1) for c in row) for row in counts]
    return counts / size, np.exp(np.array(logs) + xlogy(counts, law).sum(axis=1))


def distance(name, law, frequencies):
    """sum q phi(p / q); infinite or its limit where a frequency is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = frequencies * PHI[name](law / frequencies)
    # q phi(p / q) tends to p lim phi(t) / t.
    limit = {"BURG": 1.0, "CHI_SQUARE": 1.0, "HELLINGER": 1.0}.get(name, np.inf)
    return np.where(frequencies > 0, terms, limit * law).sum(axis=1)


def coverage(name, law, size, radius_at):
    """P(law in the ball around the frequencies), the radius a function of them."""
    frequencies, weights = all_samples(size, law)
    inside = distance(name, law, frequencies) <= radius_at(frequencies)
    return float(weights @ inside)


@pytest.mark.parametrize("name", PHI)
def test_derivatives_at_one(name):
    # A polynomial through phi near 1; its coefficients are the derivatives.
    t = 1 + 0.05 * np.cos(np.pi * (np.arange(13) + 0.5) / 13)
    fit = np.polynomial.Polynomial.fit(t - 1, PHI[name](t), 10).convert().coef
    found = getattr(d, name)
    assert fit[:2] == pytest.approx([0, 0], abs=1e-10)
    by_fit = (2 * fit[2], 6 * fit[3], 24 * fit[4])
    assert (found.second, found.third, found.fourth) == pytest.approx(by_fit, abs=1e-4)


def test_radius_of_two_thousand_outcomes():
    radii = [d.KL.radius(alpha, 2000, 2) for alpha in (0.1, 0.05, 0.01)]
    assert radii == pytest.approx([0.000676, 0.00096, 0.00166], rel=1e-3)
    assert d.HELLINGER.radius(0.1, 2000, 2) == d.KL.radius(0.1, 2000, 2) / 2
    assert d.CHI_SQUARE.radius(0.1, 500, 4) == pytest.approx(
        stats.chi2.isf(0.1, 3) / 500
    )
    corrected = d.KL.corrected_radius(0.1, 2000, [0.5, 0.5])
    assert corrected == pytest.approx(radii[0], rel=2e-3)


@pytest.mark.parametrize("name", PHI)
@pytest.mark.parametrize("alpha, size, classes", [(0.1, 50, 2), (0.01, 1000, 7)])
def test_level_inverts_radius(name, alpha, size, classes):
    divergence = getattr(d, name)
    radius = divergence.radius(alpha, size, classes)
    assert divergence.level(radius, size, classes) == pytest.approx(alpha)


@pytest.mark.parametrize("name", ["KL", "BURG", "CHI_SQUARE", "J", "HELLINGER"])
@pytest.mark.parametrize("law", [(0.3, 0.7), (0.5, 0.5), (0.2, 0.3, 0.5)])
def test_correction_has_the_right_mean_and_variance(name, law):
    # N (E T - (k-1)) and N (Var T / 2(k-1) - 1) tend to what the correction says; the
    # error is of order 1/N, so that at N it is about half of that at N/2.
    law, degrees = np.array(law), len(law) - 1
    sizes = (200, 400) if len(law) == 2 else (60, 120)
    divergence, errors = getattr(d, name), []
    for size in sizes:
        frequencies, weights = all_samples(size, law)
        seen = (frequencies > 0).all(axis=1)  # all but probability 1e-5
        weights = weights[seen] / weights[seen].sum()
        statistic = (
            2 * size / divergence.second * distance(name, law, frequencies[seen])
        )
        mean = weights @ statistic
        variance = weights @ (statistic - mean) ** 2
        shift, stretch = divergence.correction(size, law)
        said = shift + stretch * degrees, 2 * degrees * stretch**2
        errors.append(size * np.abs(np.array([mean, variance]) - said) / (degrees, 2))
        plain = size * abs(mean - degrees) / degrees
    assert (errors[1] < np.maximum(0.65 * errors[0], 0.02)).all()
    # The control: without the correction the error does not shrink.
    if name not in ("CHI_SQUARE",):
        assert plain > 5 * errors[1][0]


def test_pearson_needs_no_shift_of_its_mean():
    # sum (p - q)^2 / p has mean exactly (k - 1) / N.
    shift, stretch = d.CHI_SQUARE.correction(37, [0.2, 0.3, 0.5])
    assert shift + 2 * stretch == pytest.approx(2)


def test_likelihood_ratio_has_bartletts_factor():
    law, size = np.array([0.3, 0.7]), 200
    frequencies, weights = all_samples(size, law)
    statistic = 2 * size * rel_entr(frequencies, law).sum(axis=1)
    mean, square = weights @ statistic, weights @ statistic**2
    # Exact: .634 and 1.283; the expansion: (S - 1) / 6 = .627, (S - 1) / 3 = 1.254.
    assert size * (mean - 1) == pytest.approx(0.634, abs=5e-4)
    assert size * ((square - mean**2) / 2 - 1) == pytest.approx(1.283, abs=5e-4)
    shift, stretch = d.BURG.correction(size, law)
    assert size * (shift + stretch - 1) == pytest.approx(0.627, abs=5e-4)
    assert size * (stretch**2 - 1) == pytest.approx(1.254, abs=5e-4)


def test_corrected_radius_covers_better_in_the_orientation_of_kl_balls():
    # k = 2, N = 50, 95 %: D(p || q) covers .942 on average over p in [.1, .9]; the
    # corrected radius comes closer to .95.
    laws = [np.array([p, 1 - p]) for p in np.linspace(0.1, 0.9, 81)]
    plain = d.KL.radius(0.05, 50, 2)
    covered = [coverage("KL", law, 50, lambda q: plain) for law in laws]
    better = [
        coverage("KL", law, 50, lambda q, law=law: d.KL.corrected_radius(0.05, 50, law))
        for law in laws
    ]
    assert np.mean(covered) == pytest.approx(0.942, abs=0.004)
    assert abs(np.mean(better) - 0.95) < abs(np.mean(covered) - 0.95)
    burg = d.BURG.radius(0.05, 50, 2)
    burg_covers = [coverage("BURG", law, 50, lambda q: burg) for law in laws]
    assert np.mean(burg_covers) == pytest.approx(0.948, abs=0.004)


@pytest.mark.parametrize("alpha", [0.1, 0.01])
@pytest.mark.parametrize("size", [5, 20, 60])
@pytest.mark.parametrize("law", [(0.5, 0.5), (0.03, 0.97), (0.2, 0.3, 0.5)])
def test_finite_sample_radii_always_cover(alpha, size, law):
    law = np.array(law)
    frequencies, weights = all_samples(size, law)
    entropy = rel_entr(frequencies, law).sum(axis=1)
    variation = np.abs(frequencies - law).sum(axis=1)
    for statistic, radius in [
        (entropy, d.burg_radius(alpha, size, len(law))),
        (variation, d.variation_radius(alpha, size, len(law))),
    ]:
        assert weights @ (statistic > radius) <= alpha


def test_a_shrunk_finite_sample_radius_does_not():
    law, size, alpha = np.array([0.5, 0.5]), 60, 0.1
    frequencies, weights = all_samples(size, law)
    entropy = rel_entr(frequencies, law).sum(axis=1)
    variation = np.abs(frequencies - law).sum(axis=1)
    assert weights @ (entropy > 0.2 * d.burg_radius(alpha, size, 2)) > alpha
    assert weights @ (variation > 0.6 * d.variation_radius(alpha, size, 2)) > alpha


@pytest.mark.parametrize("alpha, size, classes", [(0.1, 2000, 2), (0.01, 50, 6)])
def test_finite_sample_radii_solve_their_equations(alpha, size, classes):
    radius, rest = d.burg_radius(alpha, size, classes), classes - 1
    bound = exp(-size * radius) * (exp(1) * radius * size / rest) ** rest
    assert bound == pytest.approx(alpha, rel=1e-9)
    assert radius > rest / size
    assert d.burg_level(radius, size, classes) == pytest.approx(alpha, rel=1e-9)
    assert d.burg_level(rest / size, size, classes) == 1.0
    assert d.burg_level(np.inf, size, classes) == 0.0
    radius = d.variation_radius(alpha, size, classes)
    subsets = sum(comb(classes, k) for k in range(1, classes))
    assert subsets * exp(-size * radius**2 / 2) == pytest.approx(alpha)
    assert d.variation_level(radius, size, classes) == pytest.approx(alpha)
    assert d.variation_level(0.0, size, classes) == 1.0


def test_many_classes_do_not_overflow():
    radius = d.variation_radius(0.1, 10**6, 5000)
    assert radius**2 == pytest.approx(2 * (5000 * log(2) - log(0.1)) / 10**6)


def test_what_is_checked():
    with pytest.raises(InvalidParameter, match="variation distance use variation_rad"):
        d.Divergence(0.0, 0.0, 0.0)
    with pytest.raises(InvalidParameter, match=r"positive and sum to 1.*burg_radius"):
        d.KL.corrected_radius(0.1, 50, [0.0, 1.0])
    with pytest.raises(InvalidParameter, match="positive and sum to 1"):
        d.KL.correction(50, [0.3, 0.3])
    with pytest.raises(InvalidParameter, match=r"radius\(classes=.*at least 2"):
        d.KL.radius(0.1, 50, 1)
    with pytest.raises(InvalidParameter, match=r"burg_radius\(size=.*at least 1"):
        d.burg_radius(0.1, 0, 2)
    with pytest.raises(InvalidParameter, match="large enough for a positive variance"):
        # Concave enough at the third order to turn the variance of 1 outcome negative.
        d.Divergence(1.0, -3.0, 0.0).correction(1, [0.5, 0.5])
