"""How often intervals of a mean difference hold it, by law and number of contexts.

    python bench/paired_intervals.py [--draws 4000] [--sizes 20 50 200]

Differences of costs are skewed, heavy in the tails, or exactly zero at most contexts.
For each law: the share of samples whose 0.95 interval holds the true mean, by Student's
interval and by that of `sl.evaluate(...).paired()`; how much wider the latter is, in
the median; and the share of samples for which one of its ends is infinite.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np

from sublevel.intervals import mean_interval, t_interval

LEVEL = 0.95
Rng = np.random.Generator


def often_zero(
    share: float, draw: Callable[[Rng, int], np.ndarray]
) -> Callable[[Rng, int], np.ndarray]:
    """Differences of policies that decide alike at a share of the contexts."""
    return lambda rng, n: np.where(rng.random(n) < share, 0.0, draw(rng, n))


def exponential(rng: Rng, n: int) -> np.ndarray:
    return rng.exponential(size=n)


def lognormal(rng: Rng, n: int) -> np.ndarray:
    return np.exp(rng.normal(size=n))


def normal(rng: Rng, n: int) -> np.ndarray:
    return rng.normal(size=n)


#: From names to a law and its mean.
LAWS: dict[str, tuple[Callable[[Rng, int], np.ndarray], float]] = {
    "normal": (normal, 0.0),
    "exponential": (exponential, 1.0),
    "lognormal": (lognormal, np.exp(0.5)),
    "t, 3 degrees": (lambda rng, n: rng.standard_t(3, size=n), 0.0),
    "half zero, exponential": (often_zero(0.5, exponential), 0.5),
    "half zero, lognormal": (often_zero(0.5, lognormal), 0.5 * np.exp(0.5)),
    "0.8 zero, normal": (often_zero(0.8, normal), 0.0),
    "0.8 zero, exponential": (often_zero(0.8, exponential), 0.2),
}
#: Where it does not hold, and nothing could.
BEYOND: dict[str, tuple[Callable[[Rng, int], np.ndarray], float]] = {
    "0.95 zero, exponential": (often_zero(0.95, exponential), 0.05),
    "lognormal, sigma 2": (lambda rng, n: lognormal(rng, n) ** 2, np.exp(2.0)),
    "one in 200 costs 100": (
        lambda rng, n: np.where(rng.random(n) < 0.005, 100.0, rng.normal(size=n)),
        0.5,
    ),
}


def look(
    law: Callable[[Rng, int], np.ndarray], mean: float, n: int, draws: int, seed: int
) -> tuple[float, float, float, float]:
    """Coverage of both intervals, relative width, and the share without an end."""
    rng = np.random.default_rng(seed)
    samples = [law(rng, n) for _ in range(draws)]
    student = np.array([t_interval(values, LEVEL) for values in samples])
    ours = np.array([mean_interval(values, LEVEL) for values in samples])
    held = [
        np.mean((low <= mean) & (mean <= high)) for low, high in (student.T, ours.T)
    ]
    width = np.diff(student)[:, 0]
    wider = np.median(np.diff(ours)[width > 0, 0] / width[width > 0])
    return held[0], held[1], wider, float(np.mean(np.isinf(ours).any(axis=1)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 200])
    asked = parser.parse_args()
    print(f"{'law':<24}{'n':>5}{'t':>8}{'ours':>8}{'wider':>8}{'no end':>8}")
    for name, (law, mean) in (LAWS | BEYOND).items():
        for n in asked.sizes:
            t, ours, wider, infinite = look(law, mean, n, asked.draws, seed=n)
            row = f"{name:<24}{n:>5}{t:>8.3f}{ours:>8.3f}{wider:>8.2f}{infinite:>8.3f}"
            print(row, flush=True)
    values = np.random.default_rng(0).exponential(size=300)
    start = perf_counter()
    mean_interval(values, LEVEL)
    print(f"one interval of 300 differences: {1e3 * (perf_counter() - start):.1f} ms")


if __name__ == "__main__":
    main()
