"""Robust decisions against labels: the exact oracle next to a mixed-integer one.

50 one-hot blocks of four classes, a cross-entropy budget, a cost linear in the labels:
which ten blocks to protect so that the worst loss of the others is least. Four ways to
the same decisions:

- sublevel: `RobustProblem.solve`, cutting planes with the exact oracle, audited;
- HiGHS: the cutting planes an expert would write, a live HiGHS master and a live HiGHS
  integer program as the oracle, no audit;
- exact by hand: the same loop with the exact oracle;
- CVXPY: the same loop with master and oracle as CVXPY problems.

The ways alternate on the same contexts; CPU time. Aim: at least 30 times faster than
HiGHS. Run with `python bench/label_oracle.py [contexts]`.
"""

import sys
import time
from statistics import median

import cvxpy as cp
import highspy
import numpy as np

import sublevel as sl

BLOCKS, CLASSES, PROTECTED, ALPHA = 50, 4, 10, 0.1
SIZE = BLOCKS * CLASSES
TOLERANCE = 1e-7
# CVXPY is slow and its ratio large: a few contexts are enough.
CVXPY_CONTEXTS = 3


class Contexts:
    """Label sets by number of the context, in the place of a LossSet."""

    def __init__(self, regions):
        self.regions = regions

    def predict_set(self, X):
        return [self.regions[int(i)] for i in X]


def region(rng):
    """Predicted probabilities, and the budget that holds 90 % of the outcomes."""
    probabilities = rng.dirichlet(np.ones(CLASSES), size=BLOCKS)
    costs = -np.log(probabilities)
    drawn = [rng.choice(CLASSES, size=2000, p=p) for p in probabilities]
    totals = sum(cost[labels] for cost, labels in zip(costs, drawn, strict=True))
    return sl.sets.LabelSet(tuple(costs), float(np.quantile(totals, 1 - ALPHA)))


def robust_problem(loss, regions):
    labels = sl.Uncertain(SIZE, name="labels", nonneg=True)
    protect = cp.Variable(BLOCKS, bounds=[0, 1])
    share = np.kron(np.eye(BLOCKS), np.ones((CLASSES, 1)))
    left = loss - cp.multiply(loss, share @ protect)
    limit = [cp.sum(protect) <= PROTECTED]
    return sl.RobustProblem(
        cp.Minimize(labels @ left), limit, {labels: Contexts(regions)}
    )


def hits(loss, labels):
    """Loss of each block under the labels."""
    return (loss * labels).reshape(BLOCKS, CLASSES).sum(axis=1)


def quiet():
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    return model


class HighsOracle:
    """The worst labels by a live integer program: only its costs change."""

    def __init__(self, U):
        self.model, self.every = quiet(), np.arange(SIZE, dtype=np.int32)
        self.model.setOptionValue("mip_rel_gap", 0.0)
        self.model.addVars(SIZE, np.zeros(SIZE), np.ones(SIZE))
        kinds = np.full(SIZE, highspy.HighsVarType.kInteger)
        self.model.changeColsIntegrality(SIZE, self.every, kinds)
        for block in self.every.reshape(BLOCKS, CLASSES):
            self.model.addRow(1.0, 1.0, CLASSES, block, np.ones(CLASSES))
        budget = U.effective_budget * (1 + TOLERANCE)
        costs = np.concatenate(U.costs)
        self.model.addRow(-np.inf, budget, SIZE, self.every, costs)

    def __call__(self, direction):
        self.model.changeColsCost(SIZE, self.every, -direction)
        self.model.run()
        return np.round(self.model.getSolution().col_value)


class CvxpyOracle:
    def __init__(self, U):
        self.label = cp.Variable((BLOCKS, CLASSES), boolean=True)
        budget = U.effective_budget * (1 + TOLERANCE)
        spent = cp.sum(cp.multiply(np.array(U.costs), self.label))
        self.limits = [cp.sum(self.label, axis=1) == 1, spent <= budget]

    def __call__(self, direction):
        gain = cp.sum(cp.multiply(direction.reshape(BLOCKS, CLASSES), self.label))
        problem = cp.Problem(cp.Maximize(gain), self.limits)
        problem.solve(solver=cp.HIGHS, mip_rel_gap=0.0)
        return np.round(self.label.value).ravel()


class HighsMaster:
    """Minimise t over rows t >= hits'(1 - x)."""

    def __init__(self, loss):
        self.loss, self.model = loss, quiet()
        self.every = np.arange(BLOCKS + 1, dtype=np.int32)
        lower, upper = np.zeros(BLOCKS + 1), np.ones(BLOCKS + 1)
        lower[-1], upper[-1] = -np.inf, np.inf
        self.model.addVars(BLOCKS + 1, lower, upper)
        self.model.changeColCost(BLOCKS, 1.0)
        ones = np.ones(BLOCKS)
        self.model.addRow(-np.inf, PROTECTED, BLOCKS, self.every[:-1], ones)

    def add(self, labels):
        hit = hits(self.loss, labels)
        row = np.append(hit, 1.0)
        self.model.addRow(hit.sum(), np.inf, BLOCKS + 1, self.every, row)

    def solve(self):
        self.model.run()
        point = np.array(self.model.getSolution().col_value)
        return point[:-1], point[-1]


class CvxpyMaster:
    def __init__(self, loss):
        self.loss = loss
        self.x, self.t = cp.Variable(BLOCKS), cp.Variable()
        self.rows = [self.x >= 0, self.x <= 1, cp.sum(self.x) <= PROTECTED]

    def add(self, labels):
        self.rows.append(self.t >= hits(self.loss, labels) @ (1 - self.x))

    def solve(self):
        cp.Problem(cp.Minimize(self.t), self.rows).solve(solver=cp.HIGHS)
        return self.x.value, float(self.t.value)


def by_hand(master, oracle, loss, seconds):
    """The loop with neither library nor audit; times of the oracle are kept."""
    for sign in (1.0, -1.0):
        master.add(oracle(np.full(SIZE, sign)))
    while True:
        x, bound = master.solve()
        direction = loss * np.repeat(1 - x, CLASSES)
        spent, labels = cpu(lambda: oracle(direction))  # noqa: B023
        seconds.append(spent)
        value = float(direction @ labels)
        if value - bound <= TOLERANCE * (1 + abs(bound)):
            return value
        master.add(labels)


def cpu(task):
    start = time.process_time()
    found = task()
    return time.process_time() - start, found


def run(ways, contexts):
    """CPU seconds of every way at every context; their decisions must agree."""
    seconds = {name: [] for name in ways}
    for i in range(contexts):
        values = []
        for name, way in ways.items():
            if name != "CVXPY" or i < CVXPY_CONTEXTS:
                spent, value = cpu(lambda: way(i))  # noqa: B023
                seconds[name].append(spent)
                values.append(value)
        if np.ptp(values) > 1e-6 * (1 + abs(values[0])):
            raise SystemExit(f"context {i}: the ways disagree, {values}")
    return seconds


def main(contexts):
    rng = np.random.default_rng(0)
    loss = rng.uniform(0, 1, size=SIZE)
    regions = [region(rng) for _ in range(contexts)]
    problem = robust_problem(loss, regions)
    problem.solve([0])
    calls = {"exact by hand": [], "HiGHS": [], "CVXPY": []}

    def sublevel(i):
        return problem.solve([i]).objective

    def exact(i):
        oracle = regions[i].worst_case
        return by_hand(HighsMaster(loss), oracle, loss, calls["exact by hand"])

    def highs(i):
        oracle = HighsOracle(regions[i])
        return by_hand(HighsMaster(loss), oracle, loss, calls["HiGHS"])

    def cvxpy(i):
        oracle = CvxpyOracle(regions[i])
        return by_hand(CvxpyMaster(loss), oracle, loss, calls["CVXPY"])

    ways = {
        "sublevel": sublevel,
        "exact by hand": exact,
        "HiGHS": highs,
        "CVXPY": cvxpy,
    }
    show(run(ways, contexts), calls, contexts)


def show(seconds, calls, contexts):
    print(f"{contexts} contexts, CPU ms: medians, and the median ratio at one context")
    print(f"{'':<15}{'solve':>9}{'ratio':>8}{'call':>9}{'ratio':>8}")
    call = median(calls["exact by hand"])
    for name, spent in seconds.items():
        ratios = [a / b for a, b in zip(spent, seconds["sublevel"], strict=False)]
        line = f"{name:<15}{1e3 * median(spent):>9.1f}{median(ratios):>8.1f}"
        if name in calls:
            one = median(calls[name])
            line += f"{1e3 * one:>9.2f}{one / call:>8.1f}"
        print(line)
    total = sum(seconds["HiGHS"]) / sum(seconds["sublevel"])
    print(f"all contexts together: HiGHS takes {total:.1f} times the CPU time")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
