"""Policies next to what else one could use, on the same contexts, in turns.

Portfolios (P1), flows (P2), many uncertain rows (P3), labels (P4), battery storage, two
stages, integers, flows that need exponential and power cones (curved), and calibrating.
CPU time; ratios of the same turn, medians; every objective must be within 1e-6 of the
reference's. Raw Clarabel is what a solver expert would write by hand; "times less" is
what a policy saves of it, and "handed over" the share of its contexts that went to
Clarabel after all. P4 and integers, which it cannot solve, have another reference in
its column: cuts by HiGHS, and trying every choice. Ratios carry over between machines,
times do not.

Run with `sublevel bench`, or `python bench/run.py [--quick] [--out FOLDER]
[--compare earlier.json] [--only P1,storage]`. Writes results.json and costs.svg.
"""

import argparse
import json
import os
import sys
from pathlib import Path

# Threads that wait for each other would be counted as work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from measuring import figures, results
from measuring.turns import cpu, grow, take_turns
from problems import storage
from problems.cases import (
    battery,
    choose,
    flow,
    labels,
    many_rows,
    portfolio,
    two_stage,
)
from problems.curved import congested, counts
from problems.methods import METHODS, foot

import sublevel as sl

#: Family, what builds a case, its arguments, contexts; the large ones last.
CASES = (
    ("P1", portfolio, (5,), 1500),
    ("P1", portfolio, (50,), 300),
    ("P1", portfolio, (500,), 40),
    ("P2", flow, (5, "l2"), 300),
    ("P2", flow, (5, "l1"), 300),
    ("P2", flow, (5, "huber"), 300),
    ("P2", flow, (20, "l2"), 40),
    ("P3", many_rows, (200, 50), 32),
    ("P4", labels, (50,), 6),
    ("storage", battery, (), 200),
    ("two-stage", two_stage, (8,), 100),
    ("integers", choose, (14, 5), 6),
    ("curved", counts, (5,), 300),
    ("curved", congested, (5,), 300),
)
LARGE = (
    ("P1", portfolio, (2000,), 10),
    ("P2", flow, (50, "l2"), 16),
    ("integers", choose, (20, 8), 3),
)


def calibrations(quick):
    """CPU seconds of `Policy.calibrate`, by case: rows and seconds."""
    rng, n = np.random.default_rng(1), 200 if quick else 2000
    location = rng.normal(size=(n, 5))
    X = np.hstack([location, np.ones((n, 5))])
    Y = location + rng.normal(size=(n, 5))
    small = portfolio(5, 1, rng).pose().compile()
    spent, _ = cpu(lambda: small.calibrate(X, Y, alpha=0.1))
    yield {"case": "calibrate P1(5)", "rows": n, "seconds": spent}
    train, days, _ = storage.split(storage.load(), 0)
    from sklearn.linear_model import Ridge

    days = days[:60] if quick else days
    model = Ridge(100.0).fit(train.features, train.prices)
    policy = storage.pose(sl.LossSet(model)).compile()
    spent, _ = cpu(lambda: policy.calibrate(days.features, days.prices, alpha=0.1))
    yield {"case": "calibrate storage", "rows": len(days), "seconds": spent}


def main(arguments=None):
    """The table on the screen, the rest in files; 1 if an objective is wrong."""
    parser = argparse.ArgumentParser(prog="sublevel bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute")
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    parser.add_argument("--compare", type=Path, help="an earlier results.json")
    parser.add_argument("--only", help="families, as P1,storage")
    given = parser.parse_args(arguments)
    earlier = None if given.compare is None else json.loads(given.compare.read_text())
    given.out.mkdir(parents=True, exist_ok=True)
    families = None if given.only is None else set(given.only.split(","))
    every = CASES if given.quick else CASES + LARGE
    wanted = [c for c in every if families is None or c[0] in families]
    share, turns, turn = (4, 3, 0.1) if given.quick else (1, 5, 1.0)
    names = [method.name for method in METHODS]
    rng, timed = np.random.default_rng(0), []
    print(results.heading(names), flush=True)
    for _, build, how, contexts in wanted:
        case = build(*how, max(2, contexts // share), rng)
        timed += (own := take_turns(case, METHODS, turns, turn))
        print(results.row(own, names), flush=True)
    for line in foot(METHODS):
        print(line)
    curves, extras = {}, []
    if families is None or "P1" in families:
        counts = (1, 10, 100, 1000) if given.quick else (1, 10, 100, 1000, 10_000)
        curves = grow(portfolio(50, 300, rng), METHODS, counts, turns)
    if families is None or "calibrate" in families:
        extras = list(calibrations(given.quick))
        for extra in extras:
            print("{case:<20}{rows:>6} rows{seconds:>9.2f} CPU s".format(**extra))
    path = given.out / "results.json"
    path.write_text(results.as_json(results.about(given.quick), timed, curves, extras))
    drawn = figures.draw(timed, curves, given.out / "costs.svg")
    print(f"Wrote {path}" + (f" and {given.out / 'costs.svg'}" if drawn else ""))
    if earlier is not None:
        print("\n".join(["", *results.compared(timed, earlier)]))
    return int(any(t.is_wrong for t in timed))


if __name__ == "__main__":
    sys.exit(main())
