"""Evidence against what Theorem A asserts: found where it is, not where it is not."""

import numpy as np
import pytest
from scipy import stats

from sublevel.errors import InvalidParameter
from sublevel.guarantees import Diagnosis, diagnose


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_numbers_are_those_of_scipy(rng):
    residuals = rng.gamma(2.0, size=(500, 3))
    found = diagnose(residuals)
    assert found.skewness == pytest.approx(stats.skew(residuals).max())
    assert found.excess_kurtosis == pytest.approx(stats.kurtosis(residuals).max())
    pairs = np.corrcoef(residuals.T)[np.triu_indices(3, 1)]
    assert found.correlation == pytest.approx(max(pairs, key=abs))
    assert found.r_squared is None


def test_left_skewness_and_negative_correlation_are_seen(rng):
    one = -rng.gamma(1.0, size=(4000, 1))
    found = diagnose(np.hstack([one, -one + 0.1 * rng.normal(size=(4000, 1))]))
    assert found.correlation < -0.9
    assert found.skewness < -1.5 or found.skewness > 1.5
    assert len(found.evidence) == 3


def test_mild_skewness_is_seen(rng):
    # Skewness 2 / sqrt(20) = .45 has standard error sqrt(6 / 700) = .09 if normal. Not
    # counting that the mean is estimated would make it sqrt(15 / 700) = .15.
    found = diagnose(rng.gamma(20.0, size=(700, 1)))
    assert found.skewness < 0.5
    assert "Residuals are skewed" in found.evidence[0]


def test_heavy_tails_are_seen_and_light_ones_are_not(rng):
    heavy = diagnose(rng.standard_t(5, size=(4000, 2)))
    assert ["heavy tails" in sentence for sentence in heavy.evidence] == [True]
    light = diagnose(rng.uniform(-1, 1, size=(4000, 2)))
    assert light.evidence == ()
    assert light.excess_kurtosis == pytest.approx(-1.2, abs=0.1)


def test_nothing_is_seen_in_normal_noise(rng):
    found = diagnose(rng.normal(size=(1000, 4)), rng.normal(size=(1000, 2)))
    assert found.evidence == ()
    assert found.r_squared < 0.02


def test_noise_that_depends_on_the_context_is_seen(rng):
    X = rng.uniform(size=(1000, 2))
    residuals = (1 + 2 * X[:, :1]) * rng.uniform(-1, 1, size=(1000, 3))
    found = diagnose(residuals, X)
    assert found.r_squared > 0.2
    assert "R^2 = 0." in found.evidence[-1]


def test_one_component_has_no_correlation(rng):
    assert diagnose(rng.normal(size=(100, 1))).correlation == 0.0


def test_constant_residuals_are_no_evidence():
    assert diagnose(np.ones((50, 2))) == Diagnosis(0.0, -3.0, 0.0, None, ())


def test_what_is_checked(rng):
    with pytest.raises(InvalidParameter, match="at least 10 rows, got 9"):
        diagnose(np.ones((9, 2)))
    with pytest.raises(InvalidParameter, match="non-empty matrix"):
        diagnose(np.ones(50))
    with pytest.raises(InvalidParameter, match="one row for each of the 50 residuals"):
        diagnose(np.ones((50, 2)), np.ones((49, 1)))
    with pytest.raises(InvalidParameter, match=r"diagnose\(delta="):
        diagnose(np.ones((50, 2)), delta=0.0)
