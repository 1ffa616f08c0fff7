"""A shop's days: demand for three products, and when the shop is busiest.

Demand is harder to predict the stronger the promotion, a rainy day moves all products
together, and the busiest time of day is one of four. Made up, but with the traits that
break naive uncertainty sets: noise that depends on the context, correlated components,
heavy tails, labels of uneven certainty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

PRODUCTS = ["bread", "salad", "drinks"]
BUSIEST = np.array(["morning", "noon", "evening", "night"])
#: Promotions above this strength are called strong.
STRONG = 0.75

_BASE = np.array([60.0, 40.0, 80.0])
_EFFECTS = np.array([[2.0, -0.5, 0.3], [10.0, 20.0, 5.0], [30.0, 10.0, 40.0]])
_HABITS = np.array(
    [[0.0, 0.05, 0.1, -0.1], [-1.0, 1.0, 0.5, 0.5], [0.0, 0.5, 2.0, 0.0]]
)


@dataclass(frozen=True)
class Days:
    """Contexts and what happened: X (n, 3), demand (n, 3), busiest (n,)."""

    X: pd.DataFrame
    demand: pd.DataFrame
    busiest: np.ndarray[Any, Any]

    @property
    def promoted(self) -> np.ndarray[Any, Any]:
        """Which days had a strong promotion."""
        return self.X["promotion"].to_numpy() > STRONG


def days(n: int, rng: np.random.Generator) -> Days:
    """A random sample of n days."""
    X = pd.DataFrame(
        {
            "temperature": rng.normal(20, 6, n),
            "weekend": rng.integers(0, 2, n),
            "promotion": rng.uniform(0, 1, n),
        }
    )
    together = rng.standard_t(5, size=(n, 1))
    noise = 0.6 * together + 0.8 * rng.standard_t(5, size=(n, 3))
    spread = 3 + 9 * X["promotion"].to_numpy()[:, None]
    demand = _BASE + X.to_numpy() @ _EFFECTS + spread * noise
    appeal = X.to_numpy() @ _HABITS + rng.gumbel(size=(n, 4))
    return Days(
        X,
        pd.DataFrame(demand, columns=PRODUCTS),
        BUSIEST[np.argmax(appeal, axis=1)],
    )
