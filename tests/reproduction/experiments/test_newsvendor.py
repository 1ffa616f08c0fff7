"""The newsvendor's orders and costs, by brute force."""

import numpy as np
import pytest

from reproduction.experiments.newsvendor import (
    DEMANDS,
    Shop,
    _Judge,
    kl_interval,
    relative_information_gain,
)

ORDERS = np.linspace(0, 12, 120_001)


@pytest.mark.parametrize("holding", [2.0, 4.0])
def test_robust_order_is_the_best_of_all_orders(holding):
    shop = Shop(holding)
    worst = np.maximum(shop.cost(ORDERS, 1.0), shop.cost(ORDERS, 10.0))
    order, value = shop.both
    assert value == pytest.approx(worst.min(), abs=1e-3)
    assert order == pytest.approx(ORDERS[worst.argmin()], abs=1e-3)


@pytest.mark.parametrize("high", [0.2, 0.5, 0.53])
def test_divergence_order_is_the_best_of_all_orders(high):
    shop = Shop(4.0)
    interval = kl_interval(high, 0.001)
    costs = [shop.cost(ORDERS, demand) for demand in DEMANDS]
    worst = np.max([costs[0] + p * (costs[1] - costs[0]) for p in interval], axis=0)
    found = shop.expected(lambda c: max(c[0] + p * (c[1] - c[0]) for p in interval))
    assert found[1] == pytest.approx(worst.min(), abs=1e-3)


def test_kl_interval_ends_on_the_ball():
    for p in kl_interval(0.3, 0.01):
        spent = p * np.log(p / 0.3) + (1 - p) * np.log((1 - p) / 0.7)
        assert spent == pytest.approx(0.01, abs=1e-9)


def test_sets_of_one_of_both_and_never_none():
    chance, label = np.array([0.95, 0.6, 0.05]), np.array([1, 0, 1])
    judge = _Judge(Shop(4.0), chance, label)
    none = judge.labels("m", 0.1, budget=0.0)
    # High, high, low are taken alone: certified 10, 10, 1; the last two are misses.
    assert none["objective"] == pytest.approx(7.0)
    assert none["violation"] == pytest.approx(2 / 3)
    assert none["regret"] == pytest.approx((0 + 45 + 45) / 3)
    wide = judge.labels("m", 0.1, budget=10.0)
    assert wide["objective"] == pytest.approx(28.0)
    assert wide["violation"] == 0.0
    some = judge.labels("m", 0.1, budget=1.0)  # 0.6 and 0.4 are both within
    assert some["objective"] == pytest.approx((10 + 28 + 1) / 3)


def test_information_gain_of_certainty_is_all():
    label = np.array([0.0, 1.0, 1.0])
    assert relative_information_gain(label, label) == pytest.approx(100.0)
    assert relative_information_gain(np.full(3, 2 / 3), label) == pytest.approx(0.0)
