"""What decision-aware calibration costs, next to the bare solves it needs.

The 5-asset portfolio (multiplicative noise of size one, one shared linear model), 500
calibration points and a grid of 60 budgets. The solves needed are counted with a search
that looks after every level; a solver expert's raw Clarabel (bench/problems) solves
just these, and `calibrate` does all of it, prediction, audit and speculation included.
CPU time, in turns, medians. Run with `python bench/decision_aware.py [quick]`.
"""

import sys
import time
from statistics import median

import cvxpy as cp
import numpy as np
from problems import raw_clarabel
from sklearn.linear_model import LinearRegression
from sublevel.robust.calibrating.envelope import envelope_scores
from sublevel.robust.calibrating.reading import TOLERANCE
from sublevel.robust.calibrating.settling import Wish, begin

import sublevel as sl

ASSETS, COVARIATES, ONES = 5, 10, 6


def returns(n, rng):
    """Each asset has its own covariates; standardised."""
    X = rng.uniform(-1, 1, (n, ASSETS, COVARIATES))
    signal = X[:, :, :ONES].sum(axis=2) / np.sqrt(COVARIATES)
    scale = np.sqrt(ONES / 3 / COVARIATES * (1 + 1 / 3))
    return X, signal * rng.uniform(0, 2, (n, ASSETS)) / scale


def problem_of(rng):
    X, Y = returns(2000, rng)
    sets = sl.LossSet(sl.SharedModel(LinearRegression())).fit(X, Y)
    r, w = sl.Uncertain(ASSETS, name="r"), cp.Variable(ASSETS, nonneg=True)
    grid = np.linspace(0.01, 1.6, 60) * sets.scores(X, Y).max()
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    return problem, sets, grid


def needed(policy, X, Y, alpha, grid):
    """Levels and points of the solves that a search level by level makes."""
    search = begin(policy, X, Y, Wish(alpha, grid=grid))
    allowed = len(Y) - sl.guarantees.Marginal().rank(len(Y), alpha)
    levels, points = [], []

    def violates(level, rows):
        levels.append(level)
        points.append(rows)
        return search.excess(level, rows) > TOLERANCE

    envelope_scores(
        search.scores,
        search.levels.downwards(search.scores),
        violates,
        lambda above: above.sum() > allowed,
    )
    return np.concatenate(levels), np.concatenate(points)


def cpu(task):
    start = time.process_time()
    task()
    return time.process_time() - start


def measure(policy, sets, X, Y, alpha, grid, repetitions):
    levels, points = needed(policy, X, Y, alpha, grid)
    location = sets.predict(X)[points]
    reach = np.sqrt(levels)[:, None] * np.ones(ASSETS)
    bare = raw_clarabel.portfolio(ASSETS)
    bare(location[:1], reach[:1])
    times = []
    for _ in range(repetitions):
        raw = cpu(lambda: bare(location, reach))
        ours = cpu(lambda: policy.calibrate(X, Y, alpha, grid=grid))
        times.append((raw, ours))
    ratio = median(ours / raw for raw, ours in times)
    raw, ours = (1e3 * median(column) for column in zip(*times, strict=True))
    print(
        f"{alpha:>6.2f}{len(levels):>9}{raw:>12.1f}{ours:>14.1f}{ratio:>8.2f}"
        f"{policy.radius_:>9.3f}",
        flush=True,
    )


def main(quick):
    rng = np.random.default_rng(0)
    problem, sets, grid = problem_of(rng)
    X, Y = returns(500, rng)
    policy = problem.compile()
    print("CPU milliseconds; the aim is a ratio of at most 2")
    print(
        f"{'alpha':>6}{'solves':>9}{'bare':>12}{'calibrate':>14}{'ratio':>8}{'radius':>9}"
    )
    for alpha in (0.1, 0.05, 0.01):
        measure(policy, sets, X, Y, alpha, grid, 3 if quick else 9)


if __name__ == "__main__":
    main("quick" in sys.argv)
