"""The problems that compiled policies are measured on, each in three ways.

A case poses the robust problem, solves contexts with raw Clarabel, and writes the
counterpart by hand for CVXPY with parameters.
"""

from dataclasses import dataclass
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
    """One problem and its contexts."""

    name: str
    pose: Any  # () -> sl.RobustProblem
    raw: Any  # (rows) -> objectives by a live solver
    by_hand: Any  # () -> cp.Problem with parameters, and the parameters
    X: np.ndarray
    slots: list  # values of the parameters, one row a context

    def resolve(self):
        """CVXPY with parameters: what its users do to solve again and again."""
        problem, parameters = self.by_hand()

        def solve(rows):
            found = []
            for i in rows:
                for parameter, values in zip(parameters, self.slots, strict=True):
                    parameter.value = values[i].reshape(parameter.shape)
                problem.solve(solver=cp.CLARABEL)
                found.append(problem.value)
            return np.array(found)

        return solve


def sets(loss, dim, budget):
    """A LossSet with the budget wanted: nine outcomes whose loss it is."""
    found = sl.LossSet(Given(), loss)
    X = np.tile(np.concatenate([np.zeros(dim), np.ones(dim)]), (9, 1))
    said = sl.Prediction(np.zeros(dim), np.ones(dim))
    top = found.losses_[0].worst_case(said, budget, np.eye(dim)[0])
    return found.calibrate(X, np.tile(top, (9, 1)), alpha=0.1)


def portfolio(n, contexts, rng):
    location = rng.normal(size=(contexts, n))
    spread = rng.uniform(0.2, 1, (contexts, n))
    own = sets("gaussian", n, RADIUS**2)

    def pose():
        r, w = sl.Uncertain(n), cp.Variable(n, nonneg=True)
        return sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: own})

    def by_hand():
        location, reach = cp.Parameter(n), cp.Parameter(n, nonneg=True)
        w = cp.Variable(n, nonneg=True)
        worst = location @ w - cp.norm(cp.multiply(reach, w), 2)
        return cp.Problem(cp.Maximize(worst), [cp.sum(w) == 1]), [location, reach]

    raw = raw_clarabel.portfolio(n)
    X, slots = np.hstack([location, spread]), [location, RADIUS * spread]
    return Case(
        f"P1({n})", pose, lambda s: raw(*[v[s] for v in slots]), by_hand, X, slots
    )


def flow(side, kind, contexts, rng):
    incidence, supply = grid(side)
    m = incidence.shape[1]
    location = rng.uniform(1, 2, (contexts, m))
    spread = (
        rng.uniform(0.2, 1, (contexts, m)) if kind == "l2" else np.ones_like(location)
    )
    budget = RADIUS**2 if kind == "l2" else RADIUS
    own = sets({"l2": "gaussian", "l1": "absolute", "huber": "huber"}[kind], m, budget)

    def pose():
        c, f = sl.Uncertain(m), cp.Variable(m, nonneg=True)
        return sl.RobustProblem(cp.Minimize(c @ f), [incidence @ f == supply], {c: own})

    def by_hand():
        location, f = cp.Parameter(m), cp.Variable(m, nonneg=True)
        conditions = [incidence @ f == supply]
        if kind == "huber":
            level, u = cp.Parameter(nonneg=True), cp.Variable(nonneg=True)
            cost = location @ f + level * u + cp.quad_over_lin(f, 2 * u)
            return cp.Problem(cp.Minimize(cost), [*conditions, f <= u]), [
                location,
                level,
            ]
        reach = cp.Parameter(m, nonneg=True)
        order = 2 if kind == "l2" else "inf"
        cost = location @ f + cp.norm(cp.multiply(reach, f), order)
        return cp.Problem(cp.Minimize(cost), conditions), [location, reach]

    if kind == "huber":
        raw = raw_clarabel.huber_flow(incidence, supply, budget, 1.0)
        slots = [location, np.full((contexts, 1), RADIUS)]
    else:
        raw = raw_clarabel.flow(incidence, supply, kind)
        slots = [location, RADIUS * spread]
    X, name = np.hstack([location, spread]), f"P2({side},{kind})"
    return Case(name, pose, lambda s: raw(*[v[s] for v in slots]), by_hand, X, slots)


def many_rows(n, k, contexts, rng):
    m, limit = n * k, n / 4
    location = rng.uniform(0.5, 1.5, (contexts, m))
    spread = rng.uniform(0.01, 0.1, (contexts, m))
    c, own = rng.uniform(1, 2, n), sets("gaussian", m, RADIUS**2)

    def pose():
        A, x = sl.Uncertain((k, n)), cp.Variable(n, bounds=[0, 1])
        return sl.RobustProblem(cp.Maximize(c @ x), [A @ x <= limit], {A: own})

    def by_hand():
        location, reach = cp.Parameter((k, n)), cp.Parameter((k, n), nonneg=True)
        x = cp.Variable(n, bounds=[0, 1])
        conditions = [
            location[i] @ x + cp.norm(cp.multiply(reach[i], x), 2) <= limit
            for i in range(k)
        ]
        return cp.Problem(cp.Maximize(c @ x), conditions), [location, reach]

    # Entries of a matrix are read column by column; by hand, row by row.
    turn = np.argsort(np.arange(m).reshape(k, n).ravel(order="F"))
    raw = raw_clarabel.rows_lp(c, limit, k)
    X, slots = (
        np.hstack([location, spread]),
        [location[:, turn], RADIUS * spread[:, turn]],
    )
    name = f"P3({n},{k})"
    return Case(name, pose, lambda s: raw(*[v[s] for v in slots]), by_hand, X, slots)
