"""Models with integer variables, next to what is known of their optimum.

Choose 8 of 20 with an uncertain objective (reference: all 125 970 choices), a knapsack
of 60 items with uncertain weights (reference: SCIP, if installed), both over an
ellipsoid, its axes along the items, tilted or dense; and the commitment of 6 units over
24 hours, calibrated by its decisions on 100 days. CPU seconds. Run with
`python bench/integers.py [quick]`.
"""

import sys
import time
from itertools import combinations

import cvxpy as cp
import numpy as np
from sklearn.linear_model import LinearRegression

import sublevel as sl

HOURS, DAYS, TRAINED = 24, 100, 300
#: Most and least power in MW, cost per MWh, per hour on, per start, of each unit.
MOST = np.array([200.0, 150.0, 120.0, 100.0, 80.0, 60.0])
LEAST = 0.4 * MOST
FUEL = np.array([18.0, 20.0, 24.0, 27.0, 31.0, 38.0])
IDLE = np.array([900.0, 700.0, 500.0, 400.0, 250.0, 150.0])
START = np.array([3000.0, 2200.0, 1500.0, 1000.0, 500.0, 200.0])


def cpu(task):
    start = time.process_time()
    result = task()
    return result, time.process_time() - start


def line(name, seconds, aim, objective, reference, by):
    apart = abs(objective - reference) / abs(reference)
    print(
        f"{name:<30}{seconds:>8.2f}{aim:>6}{objective:>14.6f}{apart:>10.1e}  {by}",
        flush=True,
    )


def scale_of(spread, rng, shape):
    """Axes along the items, a few common factors beside them, or any directions."""
    if not shape:
        return spread
    n = len(spread)
    if shape == "dense":
        return spread[:, None] * rng.normal(size=(n, n)) / np.sqrt(n)
    factors = rng.normal(size=(n, 3)) * spread[:, None] / 2
    return np.linalg.cholesky(factors @ factors.T + np.diag(spread**2) / 2)


def choose(seed, shape, n=20, k=8):
    rng = np.random.default_rng(seed)
    gain, spread = rng.normal(1.0, 0.3, n), rng.uniform(0.1, 0.6, n)
    scale = scale_of(spread, rng, shape)
    r, pick = sl.Uncertain(n, name="gain"), cp.Variable(n, boolean=True)
    U = sl.sets.Ellipsoid(gain, scale)
    problem = sl.RobustProblem(cp.Maximize(r @ pick), [cp.sum(pick) == k], {r: U})
    decision, seconds = cpu(problem.solve)
    rows = np.array(list(combinations(range(n), k)))
    every = np.zeros((len(rows), n))
    every[np.arange(len(rows))[:, None], rows] = 1.0
    square = scale if scale.ndim == 2 else np.diag(scale)
    best = np.max(every @ gain - np.linalg.norm(every @ square, axis=1))
    name = f"choose 8 of 20{shape and ', ' + shape}"
    line(name, seconds, 2, decision.objective, best, "enumeration")


def knapsack(seed, shape, n=60):
    rng = np.random.default_rng(seed)
    value = rng.uniform(1, 10, n)
    weight = value * rng.uniform(0.7, 1.3, n) + rng.uniform(0, 2, n)
    U = sl.sets.Ellipsoid(weight, scale_of(0.3 * weight, rng, shape), 2.0)
    w, take = sl.Uncertain(n, name="weight"), cp.Variable(n, boolean=True)
    room = weight.sum() / 3
    problem = sl.RobustProblem(cp.Maximize(value @ take), [w @ take <= room], {w: U})
    decision, seconds = cpu(problem.solve)
    best, by = decision.bound, "its own bound"
    if "SCIP" in cp.installed_solvers():
        other, theirs = cpu(lambda: problem.solve(solver="SCIP"))
        best, by = other.objective, f"SCIP in {theirs:.1f}"
    name = f"knapsack of 60{shape and ', ' + shape}"
    line(name, seconds, 10, decision.objective, best, by)


def days(n, rng):
    """Weather and the demand of a day, in MW."""
    X = rng.normal(size=(n, 3))
    shape = 330 + 90 * np.sin((np.arange(HOURS) - 8) / HOURS * 2 * np.pi)
    swing = np.vstack([np.ones(HOURS), np.linspace(-1, 1, HOURS), np.cos(shape / 60)])
    noise = rng.normal(size=(n, HOURS)) @ np.linalg.cholesky(
        0.6 ** np.abs(np.subtract.outer(np.arange(HOURS), np.arange(HOURS)))
    )
    return X, shape + 15 * X @ swing + 8 * noise.T.reshape(HOURS, n).T


def commitment(sets):
    units = len(MOST)
    demand = sl.Uncertain(HOURS, name="demand")
    on = cp.Variable((units, HOURS), boolean=True, name="on")
    start = cp.Variable((units, HOURS), nonneg=True, name="start")
    power = cp.Variable((units, HOURS), nonneg=True, name="power")
    cost = cp.sum(FUEL @ power) + cp.sum(IDLE @ on) + cp.sum(START @ start)
    limits = [
        cp.sum(power, axis=0) >= demand,
        power <= cp.multiply(MOST[:, None], on),
        power >= cp.multiply(LEAST[:, None], on),
        start[:, 1:] >= on[:, 1:] - on[:, :-1],
        cp.abs(power[:, 1:] - power[:, :-1]) <= 0.6 * MOST[:, None],
    ]
    return sl.RobustProblem(cp.Minimize(cost), limits, {demand: sets})


def calibrate(quick):
    rng = np.random.default_rng(0)
    (X, Y), (X_cal, Y_cal) = days(TRAINED, rng), days(DAYS, rng)
    sets = sl.LossSet(LinearRegression()).fit(X, Y)
    problem = commitment(sets)
    policy = problem.compile()
    some = 3 if quick else 10
    decisions, seconds = cpu(
        lambda: policy.at(sets.scores(X, Y).mean()).decide(X_cal[:some])
    )
    print(f"one day of 6 x 24: {seconds / some:.2f}; {decisions}", flush=True)
    if quick:
        return
    grid = np.quantile(sets.scores(X, Y), 0.99) * 0.85 ** np.arange(18)
    begun = time.monotonic()
    _, seconds = cpu(
        lambda: policy.calibrate(X_cal, Y_cal, alpha=0.1, grid=grid, progress=True)
    )
    print(
        f"calibrated on {DAYS} days in {seconds:.0f} CPU s, "
        f"{time.monotonic() - begun:.0f} s: radius {policy.radius_:.3g}"
    )


def main(quick):
    print(f"{'':<30}{'CPU s':>8}{'aim':>6}{'objective':>14}{'apart':>10}")
    for seed in range(1 if quick else 3):
        for shape in ("", "tilted", "dense"):
            choose(seed, shape)
            knapsack(seed, shape)
    calibrate(quick)


if __name__ == "__main__":
    main("quick" in sys.argv)
