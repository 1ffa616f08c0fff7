"""A compiled policy next to raw Clarabel and to CVXPY's own re-solve.

The same contexts go through all three in turns, CPU time is counted, and the medians
of their ratios are shown. `decide` is what a user calls: prediction, solve and audit.
Raw Clarabel is what a solver expert would write by hand (bench/problems).
Run with `python bench/compiled.py [quick]`.
"""

import sys
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import cvxpy as cp
import numpy as np
from problems import raw_clarabel
from problems.grid import grid
from sklearn.base import BaseEstimator, RegressorMixin

import sublevel as sl

RADIUS = 1.5


class Given(RegressorMixin, BaseEstimator):
    """A model whose covariates are its predictions: location, then spread."""

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X, return_std=False):
        location, scale = np.split(np.asarray(X), 2, axis=1)
        return (location, scale) if return_std else location


@dataclass
class Case:
    name: str
    problem: Any  # sl.RobustProblem
    raw: Any  # (X) -> objectives
    dpp: Any  # (X) -> objectives
    X: np.ndarray
    canonicalise: Any  # builds and canonicalises the hand-written counterpart


def sets(loss, dim, budget):
    found = sl.LossSet(Given(), loss)
    found.calibrate(*calibration(found, dim, budget), alpha=0.1)
    return found


def calibration(found, dim, budget):
    """Nine outcomes whose loss is the budget wanted."""
    X = np.tile(np.concatenate([np.zeros(dim), np.ones(dim)]), (9, 1))
    top = found.losses_[0].worst_case(
        sl.Prediction(np.zeros(dim), np.ones(dim)), budget, np.eye(dim)[0]
    )
    return X, np.tile(top, (9, 1))


def resolve(problem, parameters):
    """CVXPY with parameters: what its users do to solve again and again."""

    def solve(values):
        found = []
        for row in zip(*values, strict=True):
            for parameter, value in zip(parameters, row, strict=True):
                parameter.value = value
            problem.solve(solver=cp.CLARABEL)
            found.append(problem.value)
        return np.array(found)

    return solve


def portfolio(n, contexts, rng):
    X = np.hstack([rng.normal(size=(contexts, n)), rng.uniform(0.2, 1, (contexts, n))])
    r, w = sl.Uncertain(n), cp.Variable(n, nonneg=True)
    problem = sl.RobustProblem(
        cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets("gaussian", n, RADIUS**2)}
    )

    def by_hand():
        location, reach = cp.Parameter(n), cp.Parameter(n, nonneg=True)
        w = cp.Variable(n, nonneg=True)
        worst = location @ w - cp.norm(cp.multiply(reach, w), 2)
        return cp.Problem(cp.Maximize(worst), [cp.sum(w) == 1]), [location, reach]

    return assemble(f"P1({n})", problem, raw_clarabel.portfolio(n), by_hand, X)


def flow(side, kind, contexts, rng):
    incidence, supply = grid(side)
    m = incidence.shape[1]
    X = rng.uniform(1, 2, (contexts, m)), rng.uniform(0.2, 1, (contexts, m))
    loss = {"l2": "gaussian", "l1": sl.losses.Absolute(), "huber": "huber"}[kind]
    budget = RADIUS**2 if kind == "l2" else RADIUS
    c, f = sl.Uncertain(m), cp.Variable(m, nonneg=True)
    problem = sl.RobustProblem(
        cp.Minimize(c @ f), [incidence @ f == supply], {c: sets(loss, m, budget)}
    )
    if kind == "l1":
        X = (X[0], np.ones_like(X[1]))
    raw = (
        raw_clarabel.huber_flow(incidence, supply, budget, 1.0)
        if kind == "huber"
        else raw_clarabel.flow(incidence, supply, kind)
    )

    def by_hand():
        location, reach = cp.Parameter(m), cp.Parameter(m, nonneg=True)
        f = cp.Variable(m, nonneg=True)
        conditions = [incidence @ f == supply]
        if kind == "huber":
            u, level = cp.Variable(nonneg=True), cp.Parameter(nonneg=True)
            cost = location @ f + level * u + cp.quad_over_lin(f, 2 * u)
            return cp.Problem(cp.Minimize(cost), [*conditions, f <= u]), [
                location,
                level,
            ]
        order = 2 if kind == "l2" else "inf"
        cost = location @ f + cp.norm(cp.multiply(reach, f), order)
        return cp.Problem(cp.Minimize(cost), conditions), [location, reach]

    slots = None
    if kind == "huber":
        slots = [X[0], np.full(contexts, RADIUS)]
    name = f"P2({side},{kind})"
    return assemble(name, problem, raw, by_hand, np.hstack(X), slots)


def many_rows(n, k, contexts, rng):
    m = n * k
    X = rng.uniform(0.5, 1.5, (contexts, m)), rng.uniform(0.01, 0.1, (contexts, m))
    c = rng.uniform(1, 2, n)
    limit = n / 4
    A, x = sl.Uncertain((k, n)), cp.Variable(n, bounds=[0, 1])
    problem = sl.RobustProblem(
        cp.Maximize(c @ x), [A @ x <= limit], {A: sets("gaussian", m, RADIUS**2)}
    )
    # Entries of a matrix are read column by column; by hand, row by row.
    turn = np.arange(m).reshape(k, n).ravel(order="F")
    slots = [X[0][:, np.argsort(turn)], RADIUS * X[1][:, np.argsort(turn)]]

    def by_hand():
        location, reach = cp.Parameter((k, n)), cp.Parameter((k, n), nonneg=True)
        x = cp.Variable(n, bounds=[0, 1])
        conditions = [
            location[i] @ x + cp.norm(cp.multiply(reach[i], x), 2) <= limit
            for i in range(k)
        ]
        return cp.Problem(cp.Maximize(c @ x), conditions), [location, reach]

    case = assemble(
        f"P3({n},{k})",
        problem,
        raw_clarabel.rows_lp(c, limit, k),
        by_hand,
        np.hstack(X),
        slots,
    )
    case.dpp = shaped(case.dpp, (k, n))
    return case


def shaped(solve, shape):
    return lambda X: solve(X, shape)


def assemble(name, problem, raw, by_hand, X, slots=None):
    m = X.shape[1] // 2
    values = slots or [X[:, :m], RADIUS * X[:, m:]]
    again = resolve(*by_hand())

    def dpp(some, shape=None):
        given = [v[some] for v in values]
        if shape is not None:
            given = [v.reshape(-1, *shape) for v in given]
        return again(given)

    def canonicalise():
        by_hand()[0].get_problem_data(cp.CLARABEL)

    return Case(
        name, problem, lambda s: raw(*[v[s] for v in values]), dpp, X, canonicalise
    )


def cpu(task):
    start = time.process_time()
    found = task()
    return time.process_time() - start, found


def measure(case, repetitions, resolves):
    """Medians of CPU microseconds a context, over alternating turns."""
    building = median(cpu(case.canonicalise)[0] for _ in range(3))
    compiling = median(cpu(case.problem.compile)[0] for _ in range(3))
    policy = case.problem.compile()
    every = np.arange(len(case.X))
    few = every[:resolves]
    case.raw(every[:1]), case.dpp(every[:1]), policy.decide(case.X[:1])
    times = {"raw": [], "ours": [], "dpp": []}
    for _ in range(repetitions):
        spent, expected = cpu(lambda: case.raw(every))
        times["raw"].append(spent / len(every))
        spent, decisions = cpu(lambda: policy.decide(case.X))
        times["ours"].append(spent / len(every))
        spent, _ = cpu(lambda: case.dpp(few))
        times["dpp"].append(spent / len(few))
        worst = np.max(np.abs(decisions.objective - expected) / (1 + np.abs(expected)))
        assert worst < 1e-6, (case.name, worst)
    ratio = median(a / b for a, b in zip(times["ours"], times["raw"], strict=True))
    faster = median(a / b for a, b in zip(times["dpp"], times["ours"], strict=True))
    micro = {name: 1e6 * median(spent) for name, spent in times.items()}
    print(
        f"{case.name:<13}{micro['raw']:>10.0f}{micro['ours']:>10.0f}{micro['dpp']:>10.0f}"
        f"{ratio:>9.2f}{faster:>9.1f}{compiling / building:>10.2f}{worst:>10.0e}",
        flush=True,
    )


def main(quick):
    rng = np.random.default_rng(0)
    print("CPU microseconds a context; ours/raw: the aim is 1.15 (1.2 at n=5)")
    print(
        f"{'problem':<13}{'raw':>10}{'ours':>10}{'CVXPY DPP':>10}{'ours/raw':>9}"
        f"{'DPP/ours':>9}{'compile x':>10}{'differ':>10}"
    )
    scale = 5 if quick else 1
    cases = [
        (portfolio, (5, 1000 // scale), 50),
        (portfolio, (50, 400 // scale), 30),
        (portfolio, (500, 60 // scale), 5),
        (flow, (5, "l2", 500 // scale), 30),
        (flow, (5, "l1", 500 // scale), 30),
        (flow, (5, "huber", 500 // scale), 30),
        (flow, (20, "l2", 40 // scale), 5),
        (many_rows, (200, 50, 6 if quick else 10), 2),
    ]
    for build, given, resolves in cases:
        measure(build(*given, rng), 3 if quick else 7, resolves)


if __name__ == "__main__":
    main("quick" in sys.argv)
