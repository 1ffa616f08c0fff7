"""A compiled policy next to raw Clarabel and to CVXPY's own re-solve.

The same contexts go through all three in turns, CPU time is counted, and the medians
of their ratios are shown. `decide` is what a user calls: prediction, solve and audit;
"together" with numba, "ours" with Clarabel for one context after another. "handed over"
is the share of contexts that were not certified, and went to Clarabel.
Raw Clarabel is what a solver expert would write by hand (bench/problems). Compiling is
counted in canonicalisations by CVXPY of the counterpart written by hand; "with model"
has the RobustProblem on top.
Run with `python bench/compiled.py [quick]`.
"""

import os
import sys
import time
from statistics import median

# Threads that wait for each other would be counted as work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import cvxpy as cp
import numpy as np
from problems.cases import flow, many_rows, portfolio

from sublevel.conic.solver import FAILED
from sublevel.robust import Batched

HEADS = (
    ("problem", 12),
    ("raw", 9),
    ("ours", 9),
    ("CVXPY DPP", 11),
    ("ours/raw", 10),
    ("together", 10),
    ("raw/together", 14),
    ("handed over", 13),
    ("DPP/ours", 10),
    ("compile x", 11),
    ("with model", 12),
    ("differ", 9),
)


class Counting:
    """Contexts together, and how many of them were handed to Clarabel."""

    def __init__(self):
        self.solver = Batched()
        self.seen = self.failed = 0

    def solve(self, data):
        solved = self.solver.attempt(data)
        rest = solved.status == FAILED
        self.seen, self.failed = self.seen + len(data), self.failed + rest.sum()
        return self.solver.completed(data, solved)


def cpu(task):
    start = time.process_time()
    found = task()
    return time.process_time() - start, found


def preparation(case, repetitions):
    """Compiling, and posing and compiling, in canonicalisations by CVXPY."""
    alone, whole = [], []
    for _ in range(repetitions):
        theirs, _ = cpu(lambda: case.by_hand()[0].get_problem_data(cp.CLARABEL))
        posing, problem = cpu(case.pose)
        ours, _ = cpu(problem.compile)
        alone.append(ours / theirs)
        whole.append((posing + ours) / theirs)
    return median(alone), median(whole)


def measure(case, repetitions, resolves):
    """Medians over alternating turns, times in microseconds of CPU a context."""
    prepared = preparation(case, 3)
    policy = case.pose().compile(solver="CLARABEL")
    solver, again = Counting(), case.resolve()
    together = case.pose().compile(solver=solver)
    every = np.arange(len(case.X))
    case.raw(every[:1]), again(every[:1])
    policy.decide(case.X[:1]), together.decide(case.X[:1])
    times = {"raw": [], "ours": [], "dpp": [], "together": []}
    solver.seen = solver.failed = 0
    for _ in range(repetitions):
        spent, expected = cpu(lambda: case.raw(every))
        times["raw"].append(spent / len(every))
        spent, decisions = cpu(lambda: policy.decide(case.X))
        times["ours"].append(spent / len(every))
        spent, _ = cpu(lambda: again(every[:resolves]))
        times["dpp"].append(spent / resolves)
        spent, joint = cpu(lambda: together.decide(case.X))
        times["together"].append(spent / len(every))
        for objective in (decisions.objective, joint.objective):
            gap = np.abs(objective - expected)
            differ = np.max(gap / (1 + np.abs(expected)))
            assert differ < 1e-6, (case.name, differ)
    ratio = median(a / b for a, b in zip(times["ours"], times["raw"], strict=True))
    faster = median(a / b for a, b in zip(times["dpp"], times["ours"], strict=True))
    gain = median(a / b for a, b in zip(times["raw"], times["together"], strict=True))
    micro = {name: f"{1e6 * median(spent):.0f}" for name, spent in times.items()}
    return [
        case.name,
        micro["raw"],
        micro["ours"],
        micro["dpp"],
        f"{ratio:.2f}",
        micro["together"],
        f"{gain:.2f}",
        f"{solver.failed / solver.seen:.1%}",
        *(f"{value:.2f}" for value in (faster, *prepared)),
        f"{differ:.0e}",
    ]


def show(cells):
    widths = [width for _, width in HEADS]
    first, *rest = (str(cell).rjust(w) for cell, w in zip(cells, widths, strict=True))
    print(first.strip().ljust(widths[0]) + "".join(rest), flush=True)


def main(quick):
    rng = np.random.default_rng(0)
    print("The aims: ours/raw 1.15 (1.2 at n=5), with model 2, raw/together 4")
    show([head for head, _ in HEADS])
    scale, turns = (5, 3) if quick else (1, 5)
    cases = [
        (portfolio, (5, 1500 // scale), 20),
        (portfolio, (50, 300 // scale), 10),
        (portfolio, (500, 50 // scale), 5),
        (flow, (5, "l2", 400 // scale), 10),
        (flow, (5, "l1", 400 // scale), 10),
        (flow, (5, "huber", 400 // scale), 10),
        (flow, (20, "l2", 40 // scale), 5),
        (many_rows, (200, 50, 20 // scale), 2),
    ]
    if not quick:
        cases += [(portfolio, (2000, 10), 1), (flow, (50, "l2", 6), 1)]
    for build, given, resolves in cases:
        show(measure(build(*given, rng), turns, resolves))


if __name__ == "__main__":
    main("quick" in sys.argv)
