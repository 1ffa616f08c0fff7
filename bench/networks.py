"""What training many small networks at once saves, and what it costs in accuracy.

One `fit_many` call against scikit-learn's MLPRegressor, one network after another, on
the same data: 5 hidden units, 1000 rows, 4 covariates, early stopping on 30 % of the
rows. scikit-learn trains a sample of the networks, on one thread, which is its fastest
here; its time is scaled up. Test errors are mean squared errors in units of the noise
variance: 1 is the best possible. L-BFGS does not stop early.
Run with `python bench/networks.py [networks] [sample for scikit-learn]`.
"""

import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits

from sublevel.models.nets import NetworkRegressor, fit_many

ROWS, COVARIATES, NOISE = 1000, 4, 0.1
STOPPED = {"early_stopping": True, "validation_fraction": 0.3, "n_iter_no_change": 10}
RIVALS = {
    "MLPRegressor": STOPPED,
    "MLPRegressor, rate 0.01": {**STOPPED, "learning_rate_init": 0.01},
    "MLPRegressor, L-BFGS": {"solver": "lbfgs", "max_iter": 1000},
}


def draw(networks):
    """Training rows and test rows of each network."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(networks, 2 * ROWS, COVARIATES))
    kinks = rng.normal(size=(networks, COVARIATES, 3)) / np.sqrt(COVARIATES)
    mean = np.maximum(X @ kinks + 0.3, 0) @ [1.0, -1.0, 0.7]
    Y = mean + NOISE * rng.normal(size=mean.shape)
    return X[:, :ROWS], Y[:, :ROWS], X[:, ROWS:], Y[:, ROWS:]


def timed(task):
    wall, cpu = time.perf_counter(), time.process_time()
    found = task()
    return found, time.perf_counter() - wall, time.process_time() - cpu


def one_by_one(X, Y, settings):
    with threadpool_limits(1):
        return [
            MLPRegressor(hidden_layer_sizes=(5,), random_state=i, **settings).fit(*data)
            for i, data in enumerate(zip(X, Y, strict=True))
        ]


def show(name, networks, wall, cpu, X, Y, ours=None):
    errors = [
        np.mean((network.predict(x) - y) ** 2) / NOISE**2
        for network, x, y in zip(networks, X, Y, strict=False)
    ]
    ratios = f"{wall / ours[0]:>8.1f}{cpu / ours[1]:>8.1f}" if ours else f"{'':16}"
    print(f"{name:<26}{wall:>9.1f}{cpu:>9.1f}{ratios}", end="")
    print(f"{np.mean(errors):>10.3f}{np.median(errors):>9.3f}")


def main(networks, sample):
    X, Y, X_test, Y_test = draw(networks)
    # The first call also loads torch.
    fit_many(NetworkRegressor(random_state=0), X[:1], Y[:1])
    print(f"{networks} networks, {ROWS} rows, {COVARIATES} covariates, 5 hidden units")
    print(f"{'':<26}{'seconds':>9}{'CPU s':>9}{'ratio':>8}{'CPU':>8}", end="")
    print(f"{'error':>10}{'median':>9}")
    for restarts in (1, 3):
        template = NetworkRegressor(n_restarts=restarts, random_state=0)
        found, *ours = timed(lambda template=template: fit_many(template, X, Y))
        show(f"fit_many, {restarts} start(s)", found, *ours, X_test, Y_test)
    for name, settings in RIVALS.items():
        found, wall, cpu = timed(
            lambda settings=settings: one_by_one(X[:sample], Y[:sample], settings)
        )
        scale = networks / len(found)
        show(name, found, scale * wall, scale * cpu, X_test, Y_test, ours)
    print(f"Ratios are to fit_many with {restarts} starts, its default.")


if __name__ == "__main__":
    # The settings compared do stop at scikit-learn's default number of epochs.
    warnings.simplefilter("ignore", ConvergenceWarning)
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [500, 15][len(given) :]))
