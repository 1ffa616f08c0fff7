"""Files changed at random, most of them sealed again: refused, or as good as before.

Run in a process of its own, so that one that dies is seen.
"""

import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.errors import InvalidParameter

from .given import Given, calibrated, contexts, portfolio
from .mutations import MUTATIONS


def policies():
    """A policy of many steps, sets and a fallback; one calibrated itself; a union; one
    of groups.
    """
    rng = np.random.default_rng(5)
    r, a = sl.Uncertain(3, name="r"), sl.Uncertain(2, name="a", nonneg=True)
    w, price = cp.Variable(3, nonneg=True, name="w"), cp.Parameter(3, value=[0.1, 0, 0])
    box = sl.sets.Box([0.2, 0.2], [1.0, 1.5])
    rows = [
        cp.norm(w, 2) <= 2,
        a @ w[:2] <= 1,
        cp.maximum(r @ w, 2 * (r @ w) - 1) <= 30,
        cp.sum_squares(w) + cp.max(w) <= 5,
    ]
    goal = cp.Maximize(r @ w - price @ w)
    problem = sl.RobustProblem(goal, rows, {r: calibrated("gaussian", 3, rng), a: box})
    yield problem.compile(), Given()
    sets = sl.LossSet(Given(), "huber")
    problem = sl.RobustProblem(
        cp.Maximize(cp.minimum(r @ w, 9)), [cp.sum(w) <= 1, r @ w >= 0.1], {r: sets}
    )
    X = contexts(60, 3, rng)
    Y = X[:, :3] + X[:, 3:] * rng.normal(size=(60, 3))
    policy = problem.compile()
    policy.calibrate(X, Y, 0.2, delta=0.1, fallback={w: [0, 0, 0.1]})
    yield policy, Given()
    folds = sl.LossSet(LinearRegression(), "absolute")
    folds.calibrate(X, Y, alpha=0.3, guarantee=sl.guarantees.CVPlus(3))
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: folds})
    yield problem.compile(), folds
    halves = sl.guarantees.Mondrian(groups=6)
    policy = portfolio(sl.LossSet(HalvesGiven(), "gaussian"), 3)[2].compile()
    policy.calibrate(with_halves(X), Y, 0.2, guarantee=halves)
    yield policy, HalvesGiven()


class HalvesGiven(Given):
    """`Given`, with a column behind the numbers that only tells the group."""

    def predict(self, X, return_std=False):
        return super().predict(np.asarray(X)[:, :6], return_std)


def with_halves(X):
    """Covariates with the number of their group behind them."""
    return np.column_stack([X, np.arange(len(X)) % 2])


def campaign(folder, count, seed):
    """How many of `count` mutated files end how, by kind of mutation."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    X, path = contexts(4, 3, rng), Path(folder) / "p"
    every = []
    for policy, model in policies():
        policy.save(path)
        models = {"r": model}
        loaded = sl.load_policy(path, models)
        rows = with_halves(X) if isinstance(model, HalvesGiven) else X
        if loaded.decide(rows).status[0] != "optimal":
            raise AssertionError(loaded.decide(rows))
        every.append((path.read_bytes(), models, rows, loaded.decide(rows)))
    ends = Counter()
    for number in range(count):
        raw, models, rows, before = every[number % len(every)]
        mutation = MUTATIONS[number // len(every) % len(MUTATIONS)]
        path.write_bytes(raw)
        mutation(path, rng)
        kept = path.read_bytes()
        try:
            end = _end(path, models, rows, before)
        except Exception as error:
            end = f"raw {type(error).__name__}"
        if end not in ("refused", "same"):
            end = f"{end} ({number}-{mutation.__name__})"
            (Path(folder) / f"{number}-{mutation.__name__}").write_bytes(kept)
        ends[end] += 1
    return ends


def _end(path, models, X, before):
    try:
        loaded = sl.load_policy(path, models)
        after = loaded.decide(X)
        repr(loaded), repr(after), after.to_pandas()
    except InvalidParameter:
        return "refused"
    same = (after.status == before.status).all()
    same &= np.allclose(after.objective, before.objective, 1e-5, 1e-7, equal_nan=True)
    close = 1e-4 * (1 + np.abs(before.arrays.values))
    same &= bool((np.abs(after.arrays.values - before.arrays.values) <= close).all())
    return "same" if same else "changed"


def run(folder, count, seed):
    """The campaign in a process of its own: its ends."""
    code = (
        "from compiled.test_mutated_files import campaign;"
        f"print('ends', sorted(campaign({str(folder)!r}, {count}, {seed}).items()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        # By a short name: other packages have been seen to install a "tests" too.
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


@pytest.mark.parametrize(
    ("count", "seed"), [(120, 1), pytest.param(2000, 2, marks=pytest.mark.slow)]
)
def test_mutated_files_are_refused_or_harmless(tmp_path, count, seed):
    report = run(tmp_path, count, seed)
    assert "raw" not in report, report
    assert "changed" not in report, report
    assert "refused" in report
