"""Battery storage on real prices: a published benchmark.

A battery is charged and discharged over 24 hours, bought and sold at tomorrow's hourly
prices, which are uncertain:

    minimise   price'(in - out) + lam |state - B/2|^2 + eps |in|^2 + eps |out|^2
    subject to state[0] = B/2,  state[t + 1] = state[t] + efficiency in[t] - out[t],
               0 <= state <= B,  0 <= in <= charge,  0 <= out <= discharge.

Yeh, Christianson, Wu, Wierman and Yue (2024), arXiv 2409.20534; the source of the data
and their licence are in bench/data/README.md.
"""

from dataclasses import dataclass
from pathlib import Path

import cvxpy as cp
import numpy as np

import sublevel as sl

FILE = Path(__file__).parents[1] / "data" / "storage.npz"
HOURS = 24
CAPACITY, CHARGE, DISCHARGE, EFFICIENCY = 1.0, 0.5, 0.2, 0.9
LAM, EPS = 0.1, 0.05


@dataclass(frozen=True)
class Days:
    """Features (days, 101), hourly prices in USD (days, 24) and dates (days,)."""

    features: np.ndarray
    prices: np.ndarray
    dates: np.ndarray

    def __len__(self):
        return len(self.dates)

    def __getitem__(self, rows):
        return Days(self.features[rows], self.prices[rows], self.dates[rows])


def load():
    """All 2189 days, in the order of the calendar."""
    with np.load(FILE) as kept:
        features, prices = kept["features"].astype(float), kept["prices"].astype(float)
        return Days(features, np.round(prices, 2), kept["dates"])


def split(days, seed, shift=False):
    """Train (1400), calibration (351) and test (438) days, as published.

    Without shift the days are permuted first; with it the last fifth of the years is
    the test. `seed` (0 to 9 in the paper) parts training from calibration.
    """
    if not shift:
        days = days[np.random.default_rng(100).permutation(len(days))]
    seen = int(0.8 * len(days))
    order = np.random.default_rng(seed).permutation(seen)
    train = int(0.8 * seen)
    return days[order[:train]], days[order[train:]], days[seen:]


def model():
    """Variables state, in and out; wear; and what limits them."""
    state = cp.Variable(HOURS + 1, nonneg=True, name="state")
    into = cp.Variable(HOURS, nonneg=True, name="in")
    out = cp.Variable(HOURS, nonneg=True, name="out")
    wear = LAM * cp.sum_squares(state - CAPACITY / 2)
    wear += EPS * cp.sum_squares(into) + EPS * cp.sum_squares(out)
    limits = [
        state[0] == CAPACITY / 2,
        state[1:] == state[:-1] + EFFICIENCY * into - out,
        state <= CAPACITY,
        into <= CHARGE,
        out <= DISCHARGE,
    ]
    return (state, into, out), wear, limits


def pose(sets):
    """The robust problem, with the sets of the prices."""
    price = sl.Uncertain(HOURS, name="price")
    (_, into, out), wear, limits = model()
    return sl.RobustProblem(
        cp.Minimize(price @ (into - out) + wear), limits, {price: sets}
    )


def task_loss(prices, state, into, out):
    """What decisions cost at these prices, one a row."""
    wear = LAM * np.sum((state - CAPACITY / 2) ** 2, axis=1)
    wear += EPS * (np.sum(into**2, axis=1) + np.sum(out**2, axis=1))
    return np.sum(prices * (into - out), axis=1) + wear
