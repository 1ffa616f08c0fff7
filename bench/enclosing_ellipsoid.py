"""The smallest ellipsoid around a cloud, next to CVXPY's log_det.

In each of several clouds of `points` points in `dim` dimensions:

- sublevel: `enclosing_ellipsoids`, Khachiyan's algorithm with away steps;
- CVXPY: maximise log det A with ||A y + b|| <= 1, by SCS, and up to 20 dimensions by
  Clarabel, which takes minutes at 40.

The ways alternate on the same clouds, CPU time, medians. The volume is that of the
ellipsoid grown until it holds every point, relative to the smaller of the solvers'.
Aim at 40 dimensions: volume within 0.1 %, at least 10 times faster than the faster
solver. Run with `python bench/enclosing_ellipsoid.py [dim] [points] [clouds]`.
"""

import sys
import time
from statistics import median

import cvxpy as cp
import numpy as np

from sublevel.baselines import enclosing_ellipsoids

LARGEST_FOR_CLARABEL = 20


def khachiyan(cloud):
    _, factors = enclosing_ellipsoids(cloud[None])
    return float(np.linalg.slogdet(factors[0])[1])


def log_det(cloud, solver):
    k, m = cloud.shape
    A, b = cp.Variable((m, m), PSD=True), cp.Variable((1, m))
    inside = [cp.norm(cloud @ A + np.ones((k, 1)) @ b, 2, axis=1) <= 1]
    problem = cp.Problem(cp.Maximize(cp.log_det(A)), inside)
    problem.solve(solver=solver)
    # Solvers overshoot by their tolerance: grow until every point is inside.
    reach = np.linalg.norm(cloud @ A.value + b.value, axis=1).max()
    return -float(np.linalg.slogdet(A.value)[1]) + m * max(0.0, float(np.log(reach)))


def timed(task, cloud):
    start = time.process_time()
    volume = task(cloud)
    return time.process_time() - start, volume


def main(dim=40, points=100, clouds=3):
    rng = np.random.default_rng(0)
    solvers = ["SCS"] + ["CLARABEL"] * (dim <= LARGEST_FOR_CLARABEL)
    ways = {"sublevel": khachiyan}
    for solver in solvers:
        ways[f"CVXPY {solver}"] = lambda cloud, solver=solver: log_det(cloud, solver)
    found = {name: [] for name in ways}
    for _ in range(clouds):
        cloud = rng.normal(size=(points, dim)) @ rng.normal(size=(dim, dim))
        for name, task in ways.items():
            found[name].append(timed(task, cloud))
    volumes = {name: np.array([v for _, v in rows]) for name, rows in found.items()}
    best = np.min([v for name, v in volumes.items() if name != "sublevel"], axis=0)
    seconds = {name: median([s for s, _ in rows]) for name, rows in found.items()}
    print(f"{clouds} clouds of {points} points in {dim} dimensions")
    print(f"{'':<16}{'CPU s':>10}{'volume / best':>16}{'ratio':>8}")
    for name in ways:
        worst = float(np.exp(np.max(volumes[name] - best)))
        ratio = seconds[name] / seconds["sublevel"]
        print(f"{name:<16}{seconds[name]:>10.4f}{worst:>16.6f}{ratio:>8.1f}")
    batch = rng.normal(size=(200, points, dim))
    start = time.process_time()
    enclosing_ellipsoids(batch)
    each = (time.process_time() - start) / len(batch)
    print(f"{len(batch)} clouds at once: {1e3 * each:.2f} ms each")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
