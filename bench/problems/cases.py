"""The problems that compiled policies are measured on, each in three ways.

A case poses the robust problem, solves contexts with raw Clarabel, and writes the
counterpart by hand for CVXPY with parameters.
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import cvxpy as cp
import numpy as np
from problems import raw_clarabel, storage
from problems.grid import grid
from scipy.optimize import LinearConstraint, linprog, milp
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
    raw: Any  # (rows) -> objectives by a live solver, or another reference
    by_hand: Any  # () -> cp.Problem with parameters, and the parameters; or None
    X: np.ndarray
    slots: list  # values of the parameters, one row a context
    size: int  # decision variables

    @property
    def family(self):
        return self.name.partition("(")[0]

    @property
    def kind(self):
        return self.name.partition(",")[2].strip(" )")

    def resolve(self, solver):
        """CVXPY with parameters: what its users do to solve again and again."""
        problem, parameters = self.by_hand()

        def solve(rows):
            objectives = []
            for i in rows:
                self.set(parameters, i)
                problem.solve(solver=solver)
                objectives.append(problem.value)
            return np.array(objectives)

        return solve

    def set(self, parameters, i):
        """The parameters of context i; slots hold matrices row by row."""
        for parameter, values in zip(parameters, self.slots, strict=True):
            parameter.value = values[i].reshape(parameter.shape)

    def matrices(self):
        """CVXPY's own matrices, one set a context, and the sign of the objective."""
        problem, parameters = self.by_hand()
        matrices = []
        for i in range(len(self.X)):
            self.set(parameters, i)
            matrices.append(problem.get_problem_data(cp.CLARABEL)[0])
        return matrices, 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0

    def live(self):
        """A live Clarabel on CVXPY's own matrices, which are read before the clock."""
        return raw_clarabel.resolved(*self.matrices())


def sets(loss, dim, budget, centre=0.0):
    """A LossSet with the budget wanted: nine outcomes whose loss it is."""
    own = sl.LossSet(Given(), loss)
    location, spread = np.full(dim, centre), np.ones(dim)
    X = np.tile(np.concatenate([location, spread]), (9, 1))
    unit = sl.Prediction(location, spread)
    top = own.losses_[0].worst_case(unit, budget, np.eye(dim)[0])
    return own.calibrate(X, np.tile(top, (9, 1)), alpha=0.1)


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
        f"P1({n})", pose, lambda s: raw(*[v[s] for v in slots]), by_hand, X, slots, n
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
    return Case(name, pose, lambda s: raw(*[v[s] for v in slots]), by_hand, X, slots, m)


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
    return Case(name, pose, lambda s: raw(*[v[s] for v in slots]), by_hand, X, slots, n)


def battery(contexts, rng):
    """Battery storage: real prices as predictions, spreads of a fifth of them."""
    days = storage.load()
    location = days.prices[rng.choice(len(days), contexts, replace=False)]
    spread = 0.2 * location * rng.uniform(0.5, 1.5, location.shape)
    own, hours = sets("gaussian", storage.HOURS, RADIUS**2), storage.HOURS

    def by_hand():
        location, reach = cp.Parameter(hours), cp.Parameter(hours, nonneg=True)
        (_, into, out), wear, limits = storage.model()
        cost = location @ (into - out) + cp.norm(cp.multiply(reach, into - out), 2)
        return cp.Problem(cp.Minimize(cost + wear), limits), [location, reach]

    X, slots = np.hstack([location, spread]), [location, RADIUS * spread]
    case = Case("storage", lambda: storage.pose(own), None, by_hand, X, slots, 73)
    case.raw = case.live()
    return case


def two_stage(n, contexts, rng):
    """Stock now, and more at a dearer price once demand is seen, by an affine rule."""
    location = rng.uniform(5, 10, (contexts, n))
    spread = rng.uniform(0.2, 1, (contexts, n))
    now, later = rng.uniform(1, 2, n), rng.uniform(2, 4, n)
    own = sets("gaussian", n, RADIUS**2)

    def pose():
        demand = sl.Uncertain(n, name="demand")
        stock = cp.Variable(n, nonneg=True, name="stock")
        more = sl.affine_rule(demand, n)
        limits = [stock + more >= demand, more >= 0]
        return sl.RobustProblem(
            cp.Minimize(now @ stock + later @ more), limits, {demand: own}
        )

    def by_hand():
        location, reach = cp.Parameter(n), cp.Parameter(n, nonneg=True)
        stock, base = cp.Variable(n, nonneg=True), cp.Variable(n)
        slope, worst = cp.Variable((n, n)), cp.Variable()
        mean, stretched = base + slope @ location, slope @ cp.diag(reach)
        short = cp.diag(reach) - stretched
        limits = [
            stock + mean - location >= cp.norm(short, 2, axis=1),
            mean >= cp.norm(stretched, 2, axis=1),
            worst >= later @ mean + cp.norm(later @ stretched, 2),
        ]
        return cp.Problem(cp.Minimize(now @ stock + worst), limits), [location, reach]

    X, slots = np.hstack([location, spread]), [location, RADIUS * spread]
    name = f"two-stage({n})"
    case = Case(name, pose, None, by_hand, X, slots, 2 * n + n * n)
    case.raw = case.live()
    return case


def choose(n, k, contexts, rng):
    """The best k of n, gains over an ellipsoid; the reference tries every choice."""
    location = rng.normal(1.0, 0.3, (contexts, n))
    spread = rng.uniform(0.1, 0.6, (contexts, n))
    own = sets("gaussian", n, RADIUS**2)
    every = np.zeros((comb(n, k), n))
    rows = np.array(list(combinations(range(n), k)))
    every[np.arange(len(rows))[:, None], rows] = 1.0

    def pose():
        gain, pick = sl.Uncertain(n, name="gain"), cp.Variable(n, boolean=True)
        return sl.RobustProblem(
            cp.Maximize(gain @ pick), [cp.sum(pick) == k], {gain: own}
        )

    def tried(rows):
        worst = [
            every @ location[i] - RADIUS * np.sqrt(every @ spread[i] ** 2) for i in rows
        ]
        return np.max(worst, axis=1)

    X = np.hstack([location, spread])
    return Case(f"integers({n},{k})", pose, tried, None, X, [], n)


def labels(blocks, contexts, rng):
    """P4: which blocks to protect, labels within a cross-entropy budget.

    The reference is the same model with every worst case by a mixed-integer program.
    """
    classes, protected = 4, blocks // 5
    size = blocks * classes
    loss = rng.uniform(1, 3, size)
    regions = []
    for _ in range(contexts):
        costs = -np.log(rng.dirichlet(np.ones(classes), size=blocks))
        cheapest = costs.min(axis=1).sum()
        regions.append(sl.sets.LabelSet(tuple(costs), float(1.5 * cheapest + 1)))

    def pose(of=lambda i: regions[i]):
        class Numbered:
            def predict_set(self, X):
                return [of(int(i)) for i in np.ravel(X)]

        y = sl.Uncertain(size, name="labels", nonneg=True)
        protect = cp.Variable(blocks, bounds=[0, 1])
        share = np.kron(np.eye(blocks), np.ones((classes, 1)))
        left = loss - cp.multiply(loss, share @ protect)
        limit = [cp.sum(protect) <= protected]
        return sl.RobustProblem(cp.Minimize(y @ left), limit, {y: Numbered()})

    def relaxed(rows):
        return np.array([_by_cuts(loss, regions[i], blocks, protected) for i in rows])

    X = np.arange(contexts, dtype=float)[:, None]
    return Case(f"P4({blocks})", pose, relaxed, None, X, [], blocks)


def _by_cuts(loss, region, blocks, protected):
    """Cutting planes with HiGHS for the master and for the oracle."""
    classes = len(loss) // blocks
    costs = np.concatenate(region.costs)
    shares = np.kron(np.eye(blocks), np.ones(classes))
    cuts, values = [], []
    for _ in range(500):
        bounds = [(0, 1)] * blocks + [(None, None)]
        aim = np.append(np.zeros(blocks), 1.0)
        rows = [np.append(np.ones(blocks), 0.0)]
        right = [protected]
        for y in cuts:
            hit = shares @ (loss * y)
            rows.append(np.append(-hit, -1.0))
            right.append(-hit.sum())
        if cuts:
            master = linprog(aim, np.array(rows), right, bounds=bounds)
            protect, bound = master.x[:-1], master.fun
        else:
            protect, bound = np.zeros(blocks), -np.inf
        left = loss * (1 - shares.T @ protect)
        limits = [
            LinearConstraint(shares, 1, 1),
            LinearConstraint(costs[None], -np.inf, region.budget),
        ]
        exactly = {"mip_rel_gap": 0.0}
        integers = np.ones(len(loss))
        whole = milp(-left, integrality=integers, constraints=limits, options=exactly)
        cuts.append(np.round(whole.x))
        values.append(left @ cuts[-1])
        if len(cuts) > 1 and min(values) - bound <= 1e-9 * max(1.0, abs(bound)):
            return min(values)
    raise RuntimeError("500 rounds of cuts")
