"""Tempering finds the best level and power, and believes nothing outside its range."""

import numpy as np
import pytest
from scipy.optimize import minimize

from sublevel.errors import InvalidParameter
from sublevel.models.families import nix_weigend
from sublevel.models.spread import MOST_POWER, Tempering, temper

RNG = np.random.default_rng(8)
N = 2000
TRUE = np.exp(RNG.normal(size=N))
TRUE /= TRUE.mean()
SQUARES = TRUE * RNG.normal(size=N) ** 2
EQUAL = np.full(N, 1 / N)


@pytest.mark.parametrize("exponent", [0.7, 1.0, 2.5])
def test_level_and_power_minimise_the_loss(exponent):
    shares = RNG.uniform(size=N)
    shares /= shares.sum()
    raw = TRUE**exponent
    found = temper(raw, SQUARES, shares, floor=1e-8)
    believed = np.log(np.clip(raw, found.floor, found.ceiling))

    def loss(q):
        return shares @ nix_weigend(SQUARES, np.exp(q[0] + q[1] * believed))

    best = minimize(loss, [0.0, 1.0], method="Nelder-Mead", tol=1e-10)
    assert np.allclose([np.log(found.level), found.power], best.x, atol=1e-4)


def test_an_exaggeration_is_undone():
    # Twice the log-variance: the power that undoes it is 1/2, to sampling error.
    assert abs(temper(TRUE**2, SQUARES, EQUAL, 1e-8).power - 0.5) < 0.05


def test_noise_is_not_believed():
    found = temper(TRUE[::-1].copy(), SQUARES, EQUAL, 1e-8)
    assert found.power < 0.1
    # Predictions that rank rows backwards are no better than a constant.
    assert temper(1 / TRUE, SQUARES, EQUAL, 1e-8).power == 0.0


def test_standardised_residuals_have_mean_square_one():
    found = temper(TRUE**1.4, SQUARES, EQUAL, 1e-8)
    assert np.isclose(np.mean(SQUARES / found(TRUE**1.4)), 1.0)


def test_the_power_is_bounded():
    assert temper(TRUE**0.1, SQUARES, EQUAL, 1e-8).power == MOST_POWER


def test_what_cannot_be_is_clipped():
    found = Tempering(level=2.0, power=1.0, floor=0.5, ceiling=10.0)
    assert found([-1.0, 0.0, 1.0, 1e300, np.inf]).tolist() == [
        1.0,
        1.0,
        2.0,
        20.0,
        20.0,
    ]
    low = Tempering(level=0.1, power=1.0, floor=0.5, ceiling=10.0)
    assert low([0.0, 1.0]).tolist() == [0.5, 0.5]


def test_nan_is_refused():
    with pytest.raises(InvalidParameter, match="got nan for row 1"):
        Tempering(1.0, 1.0, 0.1, 1.0)([1.0, np.nan])
