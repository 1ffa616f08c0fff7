"""The envelope of exp(-1/s) is convex, above it and least; a linear program agrees."""

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from sublevel.errors import InvalidParameter
from sublevel.guarantees import envelope as module
from sublevel.theory.envelope import best_bound, decay, envelope

GRID = np.linspace(0, 6, 60_001)
KNEES = [0.0, 1e-6, 0.01, 0.1, 0.3, 0.45, 0.499, 0.5 - 1e-9, 0.5]
laws = st.lists(st.floats(0, 4), min_size=2, max_size=8)


@pytest.mark.parametrize("knee", KNEES)
def test_envelope_is_convex_above_and_touching(knee):
    values = envelope(GRID, knee)
    assert np.diff(values, 2).min() > -1e-13
    gap = values - decay(GRID)
    assert gap.min() > -1e-15
    assert gap[max(knee, 0.4) < GRID].min() < 1e-8


def test_a_flatter_line_is_not_above():
    # 4 exp(-2) is the least slope from the knee at 1/2; exp(-1/2) is steeper.
    for slope, good in [(4 * exp(-2), True), (0.99 * 4 * exp(-2), False)]:
        line = exp(-2) + slope * (GRID - 0.5)
        kept = np.where(GRID > 0.5, line, decay(GRID))
        assert (np.diff(kept, 2).min() > -1e-13) == good
    assert envelope(1.5, 0.5) == pytest.approx(exp(-2) + 4 * exp(-2))
    assert exp(-0.5) > 4 * exp(-2)


def test_special_knees():
    assert envelope(GRID, 0.0) == pytest.approx(GRID / np.e)
    assert decay([0.0, 1e-320, 0.5]) == pytest.approx([0, 0, exp(-2)])


def largest_by_linear_program(values, weights):
    """sup E exp(-1/E[S | G]) over all G, with conditional means on a fine grid.

    share[i, j] is the mass of value i sent to the conditional mean grid[j].
    """
    grid = np.union1d(np.linspace(values.min(), values.max(), 400), values)
    n, k = values.size, grid.size
    masses = np.kron(np.eye(n), np.ones(k))
    balance = np.concatenate([np.diag(value - grid) for value in values], axis=1)
    solved = linprog(
        -np.tile(decay(grid), n),
        A_eq=np.concatenate([masses, balance]),
        b_eq=np.concatenate([weights, np.zeros(k)]),
    )
    assert solved.status == 0
    return -solved.fun


@pytest.mark.parametrize("seed", range(12))
def test_best_bound_equals_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    values = rng.gamma(1.0, rng.choice([0.2, 0.5, 1.5]), size=6)
    weights = rng.dirichlet(np.ones(6))
    found = best_bound(values, weights)
    largest = largest_by_linear_program(values, weights)
    assert largest - 1e-7 <= found <= largest + 1e-4


def test_a_bound_with_one_knee_is_not_the_best():
    # The control of the test above: the knee 1/2 alone is off by more than 1e-4.
    values, weights = np.array([0.05, 1.2]), np.array([0.7, 0.3])
    largest = largest_by_linear_program(values, weights)
    assert weights @ envelope(values, 0.5) > largest + 0.01


@given(laws, st.randoms(use_true_random=False))
def test_best_bound_is_above_every_grouping_and_below_every_knee(values, random):
    values = np.array(values)
    labels = np.array([random.randrange(3) for _ in values])
    means = np.array([values[labels == label].mean() for label in labels])
    found = best_bound(values)
    assert found >= decay(means).mean() - 1e-9
    for knee in (0.0, 0.2, 0.5):
        assert found <= envelope(values, knee).mean() + 1e-12


def test_the_best_knee_may_be_a_ratio():
    values = np.array([1.0, 0.2])
    assert best_bound(values) <= envelope(values, 0.2).mean()


def test_best_bound_of_a_large_mean():
    assert best_bound([0.5, 3.5]) == pytest.approx(exp(-1 / 2))
    assert best_bound([0.0, 0.0]) == 0.0


def test_what_is_checked():
    with pytest.raises(InvalidParameter, match=r"between 0 and 1/2, got 0\.7"):
        envelope(1.0, knee=0.7)
    with pytest.raises(InvalidParameter, match="at least 0, got -1"):
        best_bound([-1.0])
    with pytest.raises(InvalidParameter, match="not all 0"):
        best_bound([1.0, 2.0], weights=[0.0, 0.0])
    with pytest.raises(InvalidParameter, match=r"shape \(2,\)"):
        best_bound([1.0, 2.0], weights=[1.0])
    assert set(module.__all__) == {"best_bound", "decay", "envelope"}
