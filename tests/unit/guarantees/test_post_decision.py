"""A bound on the cost of decisions already chosen: exact, like any order statistic."""

import numpy as np
import pytest
from scipy.stats import binom

import sublevel as sl
from sublevel.errors import InvalidParameter
from sublevel.guarantees import PAC, certify_cost

REPLICATIONS, N, ALPHA = 4000, 49, 0.1


def hits(shrink=1.0, seed=0):
    """How often a fresh cost stays within the bound of a fresh calibration."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(REPLICATIONS):
        x = rng.uniform(1, 3, size=N + 1)
        costs = x + x**2 * rng.gumbel(size=N + 1)
        # The spread assumed is not the true one: validity does not depend on it.
        bound = certify_cost(costs[:N], predicted=x[:N], spread=x[:N], alpha=ALPHA)
        found += costs[N] <= bound.at(x[N], shrink * x[N])
    return found


def test_the_bound_is_exact_and_a_smaller_one_is_found_out():
    low = binom.ppf(1e-6, REPLICATIONS, 1 - ALPHA)
    high = binom.isf(1e-6, REPLICATIONS, 1 - ALPHA + 1 / (N + 1))
    assert low <= hits() <= high
    assert hits(shrink=0.8) < low


def test_by_hand():
    bound = certify_cost(np.arange(1.0, 20.0), predicted=1.0, spread=2.0, alpha=0.25)
    # Rank 15 of 19: (15 - 1) / 2 = 7.
    assert bound.quantile == 7.0
    np.testing.assert_allclose(bound.at([0.0, 1.0], [1.0, 2.0]), [7.0, 15.0])
    assert bound.certificate.rank == 15
    assert "costs more than its bound" in " ".join(str(bound.certificate).split())


def test_with_confidence():
    costs = np.random.default_rng(1).normal(size=100)
    bound = certify_cost(costs, alpha=0.1, delta=0.05)
    assert bound.quantile == np.sort(costs)[PAC(0.05).rank(100, 0.1) - 1]
    assert bound.certificate.confidence == pytest.approx(0.95)


def test_too_few_costs_say_how_many_would_do():
    bound = certify_cost([1.0, 2.0], alpha=0.1)
    assert bound.at() == np.inf
    assert "at least 9" in bound.certificate.note


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"costs": [1.0, np.nan]}, "finite"),
        ({"costs": [1.0, 2.0], "predicted": [1.0]}, "one for each of the 2 costs"),
        ({"costs": [1.0, 2.0], "spread": [1.0, np.inf]}, "finite number"),
        ({"costs": [1.0, 2.0], "spread": [1.0, 0.0]}, "must be positive, got 0.0"),
        ({"costs": [1.0], "alpha": 2.0}, "strictly between"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(InvalidParameter, match=message):
        sl.guarantees.certify_cost(**given)
