"""What calibrating costs next to one np.partition of the same scores.

The two alternate, so a change in the machine's speed hits both; medians are shown.
Run with `python bench/calibration.py [number of scores]`.
"""

import sys
import time
import tracemalloc
from statistics import median

import numpy as np

from sublevel.guarantees import PAC, CVPlus, Marginal

ALPHA = 0.1
REPETITIONS = 9


def cpu_seconds(task):
    start = time.process_time()
    task()
    return time.process_time() - start


def peak_bytes(task):
    tracemalloc.start()
    task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def tasks(scores):
    rank = Marginal().rank(scores.size, ALPHA)
    return {
        "np.partition": lambda: np.partition(scores, rank - 1),
        "Marginal": lambda: Marginal().calibrate(scores, ALPHA),
        "PAC": lambda: PAC().calibrate(scores, ALPHA),
        "CVPlus": lambda: CVPlus().calibrate(scores, ALPHA),
        "Marginal.promise": lambda: Marginal().promise(scores, 2.0),
    }


def main(size):
    scores = np.random.default_rng(0).exponential(size=size)
    todo = tasks(scores)
    seconds = {name: [] for name in todo}
    for _ in range(REPETITIONS):
        for name, task in todo.items():
            seconds[name].append(cpu_seconds(task))
    base = median(seconds["np.partition"])
    print(f"{size:,} scores, alpha={ALPHA}, medians of {REPETITIONS} repetitions")
    print(f"{'':<18}{'CPU ms':>9}{'ratio':>8}{'peak extra MB':>16}{'x scores':>10}")
    for name, task in todo.items():
        cost, peak = median(seconds[name]), peak_bytes(task)
        row = f"{name:<18}{1e3 * cost:>9.1f}{cost / base:>8.2f}"
        print(f"{row}{peak / 1e6:>16.1f}{peak / scores.nbytes:>10.2f}")


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7)
