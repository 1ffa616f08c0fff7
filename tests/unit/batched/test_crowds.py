"""Crowds of contexts: no wrong optimal, no wrong status, whatever their units."""

import numpy as np
import pytest

from sublevel.conic.solver import FAILED, INFEASIBLE, OPTIMAL, UNBOUNDED, Clarabel

pytest.importorskip("numba")

from sublevel.conic.batched.solver import Batched

from .crowds import CROWDS

#: Share of contexts that are certified at least; of the corners a quarter has no end,
#: and is handed to Clarabel.
CERTIFIED = {
    "portfolio": 0.99,
    "flow": 0.99,
    "rows": 0.95,
    "squares": 0.99,
    "corners": 0.7,
    "exponential": 0.99,
    "power": 0.99,
}
#: Share of contexts without a solution, at least.
EMPTY = {
    "portfolio": 0.12,
    "flow": 0.2,
    "rows": 0.3,
    "squares": 0.05,
    "corners": 0.25,
    "exponential": 0.2,
    "power": 0.2,
}
#: Share of contexts that Clarabel itself may fail at.
LOST = 0.003


def assert_right(data):
    """All that is certified is as by Clarabel; how many contexts have which status."""
    together, alone = Batched().attempt(data), Clarabel().solve(data)
    sure = together.status != FAILED
    # Where the two differ a solver that takes more trouble decides.
    apart = sure & (together.status != alone.status)
    apart |= (together.status == OPTIMAL) & ~_near(data, together, alone)
    rows = np.flatnonzero(apart)
    if rows.size:
        careful = Clarabel(effort=2).solve(data.at(rows))
        for mine, its in ((alone.status, careful.status), (alone.x, careful.x)):
            mine[rows] = its
        alone.objective[rows] = careful.objective
    open_end = sure & (alone.status == FAILED)
    assert open_end.mean() <= LOST
    settled = sure & ~open_end
    wrong = settled & (together.status != alone.status)
    # Where nothing is feasible a direction without end says nothing.
    wrong &= ~((together.status == INFEASIBLE) & (alone.status == UNBOUNDED))
    assert not wrong.any(), np.flatnonzero(wrong)
    best = settled & (together.status == OPTIMAL)
    assert _near(data, together, alone)[best].all()
    return sure.mean(), np.bincount(together.status, minlength=4)


def _near(data, one, other):
    """Whether objectives agree to six digits of their own size, or of their unit."""
    q, b = np.abs(data.q.rows()[:, :-1]), np.abs(data.b.rows())
    # Where all of b is zero, so is the best value.
    unit = np.maximum(q.max(axis=1) * b.max(axis=1), 1e-6)
    size = np.maximum(np.abs(other.objective), unit)
    return np.abs(one.objective - other.objective) <= 1e-6 * size


@pytest.mark.parametrize("name", CROWDS)
def test_two_thousand_contexts(name):
    data = CROWDS[name](2000, np.random.default_rng(1))
    certified, counts = assert_right(data)
    assert certified >= CERTIFIED[name]
    assert counts[OPTIMAL] >= 600
    assert counts[INFEASIBLE] >= EMPTY[name] * 2000


@pytest.mark.slow
@pytest.mark.parametrize("name", CROWDS)
def test_a_hundred_thousand_contexts(name):
    rng, shares = np.random.default_rng(2), []
    for _ in range(20):
        share, _ = assert_right(CROWDS[name](5000, rng))
        shares.append(share)
    assert np.mean(shares) >= CERTIFIED[name]
