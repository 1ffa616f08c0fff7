"""What was slow at the edges: scenarios, labels beside numbers, calibration, one row.

CPU time of this process, medians. With another version's sources, the same is run on
these, in turns, and the table says how many times less it takes here:

    python bench/corners.py [--against OTHER/src] [--turns 3] [--only scenarios,labels]

The calibrations are of battery storage, 351 days, at four violation levels, once each;
what is loaded once in a process is loaded before.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from statistics import median

# Threads that wait for each other would be counted as work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import cvxpy as cp
import numpy as np
from problems import storage

import sublevel as sl

SCENARIOS, CONTEXTS, ALPHAS = 300, 60, (0.01, 0.05, 0.1, 0.2)


def cpu(task, repeat=1):
    start = time.process_time()
    for _ in range(repeat):
        result = task()
    return (time.process_time() - start) / repeat, result


def scenarios():
    """A newsvendor over weighted scenarios: the first decision."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2 * SCENARIOS, 2))
    Y = 10 * X[:, :1] + rng.normal(size=(len(X), 1))
    demand, order = sl.Uncertain(1, name="demand"), cp.Variable(1, nonneg=True)
    cost = cp.maximum(4 * (demand - order), order - demand)
    box = sl.sets.Box([0.0], [12.0])
    problem = sl.RobustProblem(cp.Minimize(cost), [order <= 15], {demand: box})
    weights = sl.baselines.NearestWeights(SCENARIOS).fit(X, Y)
    policy = sl.baselines.WeightedSample(problem, weights)
    spent, decisions = cpu(lambda: policy.decide(X[:1]))
    assert (decisions.status == "optimal").all()
    yield f"{SCENARIOS} scenarios, first decision", spent


def labels():
    """Four numbers and three labels that share a budget."""
    import pandas as pd
    from sklearn.linear_model import LinearRegression, LogisticRegression

    rng = np.random.default_rng(0)
    slopes = rng.normal(size=(3, 4)) / 2

    def draw(n):
        X = rng.normal(size=(n, 3))
        Y = X @ slopes + 5 + rng.normal(size=(n, 4)) / 2
        table = pd.DataFrame(Y, columns=list("abcd"))
        odds = X + rng.gumbel(size=(n, 3))
        table["kind"] = np.array(["u", "v", "w"])[odds.argmax(axis=1)]
        return X, table

    models = sl.ModelBlocks([LinearRegression(), LogisticRegression()], widths=[4, 1])
    loss = sl.losses.Combined(["squared", "cross_entropy"], (1.0, 1.0))
    sets = sl.LossSet(models, loss).fit(*draw(300)).calibrate(*draw(300), alpha=0.1)
    y, x = sl.Uncertain(7, name="y"), cp.Variable(7, nonneg=True, name="x")
    gain = y[:4] @ x[:4] + 5 * (y[4:] @ x[4:]) - cp.sum_squares(x[:4])
    limits = [cp.sum(x[4:]) == 1, cp.sum(x[:4]) <= 3]
    policy = sl.RobustProblem(cp.Maximize(gain), limits, {y: sets}).compile()
    spent, decisions = cpu(lambda: policy.decide(draw(CONTEXTS)[0]))
    assert (decisions.status == "optimal").all()
    yield f"labels beside numbers, {CONTEXTS} contexts", spent


def calibration():
    """`Policy.calibrate` at each level on its own."""
    from sklearn.linear_model import Ridge

    train, days, _ = storage.split(storage.load(), 0)
    model = Ridge(100.0).fit(train.features, train.prices)
    policy = storage.pose(sl.LossSet(model)).compile()
    policy.calibrate(days.features[:120], days.prices[:120], alpha=0.3)
    for alpha in ALPHAS:
        spent, _ = cpu(lambda: policy.calibrate(days.features, days.prices, alpha))  # noqa: B023
        yield f"calibrate storage, alpha {alpha:g}", spent


def one_row():
    """One context of a calibrated policy, less what model and solver take."""
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    Y = X + 0.3 * rng.normal(size=X.shape)
    sets = sl.LossSet(LinearRegression()).fit(X[:300], Y[:300])
    r, w = sl.Uncertain(5, name="r"), cp.Variable(5, nonneg=True, name="w")
    limits = [cp.sum(w) == 1, cp.norm(w) <= 0.8]
    policy = sl.RobustProblem(cp.Maximize(r @ w), limits, {r: sets}).compile()
    policy.calibrate(X[300:], Y[300:], alpha=0.1)
    cpu(lambda: policy.decide(X[:1]), 50)
    each = [cpu(lambda: policy.decide(X[:1]), 50)[0] for _ in range(20)]
    alone = [cpu(lambda: sets.model_.predict(X[:1]), 50)[0] for _ in range(20)]
    # The least of many: what is more is another process's.
    yield "one decision", min(each)
    yield "  its model alone", min(alone)


PARTS = {part.__name__: part for part in (scenarios, labels, calibration, one_row)}


def measured(names):
    """CPU seconds by what was done."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {line: spent for name in names for line, spent in PARTS[name]()}


def in_other(sources, names):
    """The same by another version, in a process of its own."""
    environment = dict(os.environ, PYTHONPATH=str(sources))
    command = [sys.executable, __file__, "--json", "--only", ",".join(names)]
    return json.loads(subprocess.check_output(command, env=environment))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="sources of another version")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--json", action="store_true", help="one turn, as JSON")
    given = parser.parse_args()
    names = given.only.split(",")
    if given.json:
        print(json.dumps(measured(names)))
        return
    here = str(Path(sl.__file__).parents[1])
    ours, theirs = [], []
    for _ in range(given.turns):
        ours.append(in_other(here, names))
        if given.against is not None:
            theirs.append(in_other(given.against, names))
    for line in ours[0]:
        text = f"{line:<42}{1e3 * median(turn[line] for turn in ours):>10.2f} ms"
        if theirs:
            pairs = zip(ours, theirs, strict=True)
            times = median(other[line] / mine[line] for mine, other in pairs)
            text += f"{times:>8.1f} times less"
        print(text)


if __name__ == "__main__":
    main()
