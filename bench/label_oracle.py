"""Robust decisions against labels: the exact oracle next to a mixed-integer one.

50 one-hot blocks of four classes, a cross-entropy budget, a cost that is linear in the
labels: how much to insure each block for. Three ways to the same decisions:

- sublevel: `RobustProblem.solve`, cutting planes with the exact label oracle, audited;
- HiGHS: the cutting planes an expert would write by hand, a live HiGHS master and a
  live HiGHS integer program as the oracle, no audit;
- CVXPY: the same loop with master and oracle rebuilt in CVXPY each round.

The ways alternate on the same contexts, CPU time, medians. Aim: at least 30 times
faster than HiGHS. Run with `python bench/label_oracle.py [contexts]`.
"""

import sys
import time
from statistics import median

import cvxpy as cp
import highspy
import numpy as np

import sublevel as sl

BLOCKS, CLASSES, ALPHA = 50, 4, 0.1
TOLERANCE = 1e-7
SMALL = np.int32


class Contexts:
    """Label sets by context number, in the place of a LossSet."""

    def __init__(self, regions):
        self.regions = regions

    def predict_set(self, X):
        return [self.regions[int(i)] for i in X]


def region(rng):
    """Probabilities of the classes; the budget holds 90 % of the outcomes."""
    probabilities = rng.dirichlet(np.ones(CLASSES), size=BLOCKS)
    costs = -np.log(probabilities)
    drawn = [rng.choice(CLASSES, size=2000, p=p) for p in probabilities]
    totals = sum(cost[labels] for cost, labels in zip(costs, drawn, strict=True))
    return sl.sets.LabelSet(tuple(costs), float(np.quantile(totals, 1 - ALPHA)))


def robust_problem(loss, price, regions):
    """Minimise price'x + labels' pos(loss - x): what insurance leaves uncovered."""
    labels = sl.Uncertain(loss.size, name="labels", nonneg=True)
    cover = cp.Variable(BLOCKS, bounds=[0, 1])
    share = np.kron(np.eye(BLOCKS), np.ones((CLASSES, 1)))
    cost = price @ cover + labels @ (loss - cp.multiply(loss, share @ cover))
    uncertainty = {labels: Contexts(regions)}
    return sl.RobustProblem(cp.Minimize(cost), [], uncertainty)


class HighsOracle:
    """The worst labels by a live integer program: only its costs change."""

    def __init__(self, U):
        self.size = U.dim
        self.model = quiet()
        self.model.addVars(U.dim, np.zeros(U.dim), np.ones(U.dim))
        every = np.arange(U.dim, dtype=SMALL)
        kinds = np.full(U.dim, highspy.HighsVarType.kInteger)
        self.model.changeColsIntegrality(U.dim, every, kinds)
        for block in every.reshape(BLOCKS, CLASSES):
            self.model.addRow(1.0, 1.0, CLASSES, block, np.ones(CLASSES))
        costs = np.concatenate(U.costs)
        budget = U.effective_budget * (1 + TOLERANCE)
        self.model.addRow(-np.inf, budget, U.dim, every, costs)
        self.model.setOptionValue("mip_rel_gap", 0.0)
        self.every = every

    def __call__(self, direction):
        self.model.changeColsCost(self.size, self.every, -direction)
        self.model.run()
        return np.round(self.model.getSolution().col_value)


def cvxpy_oracle(U):
    def worst(direction):
        label = cp.Variable(U.dim, boolean=True)
        one = cp.sum(cp.reshape(label, (BLOCKS, CLASSES), order="C"), axis=1) == 1
        budget = U.effective_budget * (1 + TOLERANCE)
        spent = np.concatenate(U.costs) @ label <= budget
        problem = cp.Problem(cp.Maximize(direction @ label), [one, spent])
        problem.solve(solver=cp.HIGHS, mip_rel_gap=0.0)
        return np.round(label.value)

    return worst


class HighsMaster:
    """Minimise t over rows t >= price'x + labels'(loss - loss * x)."""

    def __init__(self, loss, price):
        self.loss, self.price = loss, price
        self.model = quiet()
        width = BLOCKS + 1
        bounds = np.append(np.zeros(BLOCKS), -np.inf), np.append(np.ones(BLOCKS), np.inf)
        self.model.addVars(width, *bounds)
        self.model.changeColCost(BLOCKS, 1.0)
        self.every = np.arange(width, dtype=SMALL)

    def add(self, labels):
        hit = (self.loss * labels).reshape(BLOCKS, CLASSES).sum(axis=1)
        row = np.append(hit - self.price, 1.0)
        self.model.addRow(hit.sum(), np.inf, len(row), self.every, row)

    def solve(self):
        self.model.run()
        point = np.array(self.model.getSolution().col_value)
        return point[:-1], point[-1]


class CvxpyMaster:
    def __init__(self, loss, price):
        self.loss, self.price, self.rows = loss, price, []
        self.cover, self.goal = cp.Variable(BLOCKS), cp.Variable()

    def add(self, labels):
        hit = (self.loss * labels).reshape(BLOCKS, CLASSES).sum(axis=1)
        self.rows.append(self.goal >= self.price @ self.cover + hit @ (1 - self.cover))

    def solve(self):
        limits = [self.cover >= 0, self.cover <= 1]
        cp.Problem(cp.Minimize(self.goal), [*limits, *self.rows]).solve(solver=cp.HIGHS)
        return self.cover.value, float(self.goal.value)


def by_hand(master, oracle, loss, price, seconds):
    """The loop without library or audit; the time of each oracle call is kept."""
    for sign in (1.0, -1.0):
        master.add(oracle(np.full(loss.size, sign)))
    while True:
        cover, goal = master.solve()
        direction = loss * np.repeat(1 - cover, CLASSES)
        start = time.process_time()
        labels = oracle(direction)
        seconds.append(time.process_time() - start)
        value = price @ cover + direction @ labels
        if value - goal <= TOLERANCE * (1 + abs(goal)):
            return value
        master.add(labels)


def quiet():
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    return model


def cpu(task):
    start = time.process_time()
    found = task()
    return time.process_time() - start, found


def main(contexts):
    rng = np.random.default_rng(0)
    loss = rng.uniform(0, 1, size=BLOCKS * CLASSES)
    price = rng.uniform(0.2, 0.8, size=BLOCKS) * loss.mean()
    regions = [region(rng) for _ in range(contexts)]
    problem = robust_problem(loss, price, regions)
    calls = {"HiGHS": [], "CVXPY": [], "sublevel": []}
    ways = {
        "sublevel": lambda i: problem.solve([i]).objective,
        "HiGHS": lambda i: by_hand(
            HighsMaster(loss, price),
            HighsOracle(regions[i]),
            loss,
            price,
            calls["HiGHS"],
        ),
        "CVXPY": lambda i: by_hand(
            CvxpyMaster(loss, price),
            cvxpy_oracle(regions[i]),
            loss,
            price,
            calls["CVXPY"],
        ),
    }
    ...


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
