"""Contexts of a Dask DataFrame, decided by a cluster of this machine's cores.

A portfolio of five assets at 10^6 contexts, made up by the workers part by part and
written to files by them: no part passes through this process. Shown are CPU and wall
time, the most memory any worker had, and whether parts are what one process decides, to
the last bit. Run with `python bench/cluster.py [contexts] [workers]`.
"""

import sys
import tempfile
import time
from pathlib import Path

import cvxpy as cp
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
from distributed import Client, LocalCluster
from sklearn.tree import DecisionTreeRegressor

import sublevel as sl

PART = 20_000


def contexts(seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(PART, 3)), columns=["a", "b", "c"])


def a_policy():
    rng = np.random.default_rng(0)
    X, slopes = contexts(10**6)[:600], rng.normal(size=(3, 5))
    Y = X.to_numpy() @ slopes + 0.3 * rng.normal(size=(600, 5))
    model = DecisionTreeRegressor(min_samples_leaf=5).fit(X[:300], Y[:300])
    r, w = sl.Uncertain(5, name="r"), cp.Variable(5, nonneg=True, name="w")
    goal = cp.Maximize(r @ w)
    policy = sl.RobustProblem(goal, [cp.sum(w) == 1], {r: sl.LossSet(model)}).compile()
    return policy.calibrate(X[300:], Y[300:], alpha=0.1)


def cpu_and_memory():
    own = psutil.Process()
    times = own.cpu_times()
    return times.user + times.system, own.memory_info().rss


def _number(file):
    return int(file.stem.partition(".")[2])


def most_memory():
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(count, workers):
    policy = a_policy()
    seeds = list(range(max(1, count // PART)))
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        before = client.run(cpu_and_memory)
        start = time.monotonic()
        X = dd.from_map(contexts, seeds, meta=contexts(0)[:0])
        policy.decide_lazily(X).to_parquet(folder)
        wall = time.monotonic() - start
        after, most = client.run(cpu_and_memory), client.run(most_memory)
        spent = sum(after[w][0] - before[w][0] for w in after)
        files = sorted(Path(folder).glob("*.parquet"), key=_number)
        numbers = [
            name for name in pd.read_parquet(files[0]).columns if name != "status"
        ]
        rows = sum(len(pd.read_parquet(file, columns=["gap"])) for file in files)
        checked = seeds[:: max(1, len(seeds) // 3)][:3]
        same = all(
            np.array_equal(
                pd.read_parquet(files[k])[numbers],
                policy.decide(contexts(k)).to_pandas()[numbers],
            )
            for k in checked
        )
    base, peak = max(b for _, b in before.values()) / 1e6, max(most.values()) / 1e6
    print(f"{rows:,} contexts, {len(seeds)} parts, {workers} workers")
    print(f"{spent:.0f} CPU s ({1e6 * spent / rows:.0f} us a context), {wall:.0f} s")
    print(f"most memory of a worker {peak:.0f} MB, {base:.0f} MB before")
    print(f"parts {checked} equal the local ones to the last bit: {same}")
    return int(not same or rows != len(seeds) * PART)


if __name__ == "__main__":
    given = [int(float(word)) for word in sys.argv[1:]]
    sys.exit(main(*(given + [10**6, 2][len(given) :])))
