"""Variance proxies against the moment generating function itself."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sublevel.errors import InvalidParameter
from sublevel.guarantees import kappa_of_coin, kappa_of_range


def proxy_by_search(values, weights):
    """sup over u of 2 log E exp(u (y - E y)) / u^2, divided by the variance."""
    centred = values - weights @ values

    def rate(u):
        return -2 * np.log(weights @ np.exp(u * centred)) / u**2

    found = [
        minimize_scalar(rate, bounds=bounds, method="bounded", options={"xatol": 1e-9})
        for bounds in ((0.01, 5), (5, 40), (-5, -0.01), (-40, -5))
    ]
    return -min(each.fun for each in found) / (weights @ centred**2)


@pytest.mark.parametrize("chance", [0.3, 0.1, 0.05, 0.01, 0.9])
def test_kappa_of_a_coin(chance):
    values, weights = np.array([0.0, 1.0]), np.array([1 - chance, chance])
    by_search = proxy_by_search(values, weights)
    assert kappa_of_coin(chance) == pytest.approx(by_search, rel=1e-5)


def test_kappa_of_a_coin_near_fairness():
    # A series replaces 0/0 near 1/2; the two agree where they meet.
    for tilt in (0.99e-4, 1.01e-4):
        chance = (1 - tilt) / 2
        series = (1 - tilt**2 / 3) / (1 - tilt**2)
        assert kappa_of_coin(chance) == pytest.approx(series, rel=1e-9)
    assert kappa_of_coin(0.5) == 1.0


def test_kappa_of_a_range_covers_every_law_on_it():
    rng = np.random.default_rng(0)
    for _ in range(20):
        values, weights = rng.random(3), rng.dirichlet(np.ones(3))
        spread = np.sqrt(weights @ (values - weights @ values) ** 2)
        assert kappa_of_range(np.ptp(values), spread) >= proxy_by_search(
            values, weights
        )


def test_kappa_of_a_range_is_that_of_the_worst_component():
    assert kappa_of_range([2.0, 4.0], [1.0, 0.5]) == 16.0
    assert kappa_of_range(2.0, 1.0) == 1.0


@pytest.mark.parametrize("spread", [0.0, -1.0, 0.6])
def test_a_spread_is_at_most_half_the_width(spread):
    with pytest.raises(InvalidParameter, match="at most half the width"):
        kappa_of_range(1.0, spread)


def test_a_chance_is_a_level():
    with pytest.raises(InvalidParameter, match=r"kappa_of_coin\(probability="):
        kappa_of_coin(1.0)
