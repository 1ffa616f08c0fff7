"""Scenarios from the truth, for the policy that knows the law of the outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import as_generator, as_numbers, require_having
from ..errors import InvalidParameter
from ..guarantees.exact import require_whole
from ..predictions import count_rows
from .weights import Sample


@dataclass(frozen=True)
class TrueLaw:
    """Equally weighted draws from the true conditional law.

    `WeightedSample(problem, TrueLaw(draw, 1000))` decides what is best on average, as
    closely as the number of draws allows.

    Parameters
    ----------
    draw : callable
        draw(X, size, rng) returns outcomes of shape (n, size, m).
    size : int
        Draws at each context.
    random_state : int
        Seed.

    Examples
    --------
    >>> law = TrueLaw(lambda X, size, rng: rng.normal(size=(len(X), size, 1)), 500)
    >>> sample = law.sample(np.zeros((2, 1)))
    >>> sample.weights.shape, bool(np.abs(sample.mean).max() < 0.2)
    ((2, 500), True)
    """

    draw: Callable[[Any, int, np.random.Generator], Any]
    size: int = 200
    random_state: int = 0

    def __post_init__(self) -> None:
        require_whole("TrueLaw", least=1, size=self.size)
        require_having("TrueLaw", "__call__", "a function", draw=self.draw)

    def sample(self, X: Any) -> Sample:
        """Draws at every row of X."""
        rng = as_generator("TrueLaw", self.random_state)
        found = as_numbers("TrueLaw", "draw", self.draw(X, self.size, rng))
        n = count_rows(X)
        if found.ndim != 3 or found.shape[:2] != (n, self.size):
            raise InvalidParameter(
                f"TrueLaw(draw=...) must return outcomes of shape ({n}, {self.size}, "
                f"m), got {found.shape}."
            )
        if not np.isfinite(found).all():
            raise InvalidParameter(
                "TrueLaw(draw=...) must return finite outcomes, got nan or infinity."
            )
        return Sample(np.full((n, self.size), 1 / self.size), found)
