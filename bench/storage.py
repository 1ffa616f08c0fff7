"""Battery storage on real prices: the published table beside ours.

    python bench/storage.py --seeds 10               # resumable: one JSON a cell
    python bench/storage.py --seeds 10 --shift
    python bench/storage.py --print                  # the table of what is there

Methods of the published table promise that the *set* holds the prices of a new day;
ours that the *decision* costs no more than certified. The second is weaker, and is what
the battery's owner is after. Their models are networks trained through the optimizer.

Ours: the mean is the average of kernel ridge regression of log prices and of extremely
randomised trees; the covariance at a day is predicted spread x shrunk correlation x
predicted spread (`sl.MeanCovarianceRegressor`), all from the 1400 training days alone.
Shapes differ in how much of the spread's ups and downs they trust. `Policy.calibrate`
runs once a shape, down to the largest alpha; smaller ones are order statistics of the
same scores. Under shift the promise does not hold, whatever the method: the violation
says by how much.
"""

import argparse
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from problems import storage
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.kernel_ridge import KernelRidge

import sublevel as sl

ALPHAS = (0.01, 0.05, 0.1, 0.2)
#: Budgets that calibration looks at, fixed in advance. The top is above all losses: a
#: level above the grid would have to be one at which the set holds the outcome.
GRID = 0.02 * 1.15 ** np.arange(110)
#: How much of the spread's ups and downs is used, by shape.
TRUSTS = {"half": 0.5, "none": 0.0}
CELLS = Path("bench-results") / "storage"

#: Mean test task loss over ten seeds, lower is better: no shift, then shift.
PUBLISHED = {
    "ETO box": ((-26.37, -32.74, -34.51, -36.81), (-17.45, -21.30, -22.91, -24.73)),
    "ETO ellipsoid": ((-8.62, -18.15, -18.98, -19.77), (-8.64, -14.00, -14.64, -15.24)),
    "ETO PICNN": ((-10.69, -16.25, -18.33, -19.77), (-6.77, -11.07, -12.15, -12.95)),
    "PtC box": ((-12.88, -24.46, -28.00, -31.29), (-10.87, -15.96, -17.46, -20.22)),
    "PtC ellipsoid": (
        (-24.21, -28.87, -30.77, -32.60),
        (-18.24, -21.99, -23.69, -24.50),
    ),
    "Johnstone-Cox": ((-9.04, -27.97, -33.05, -35.69), (-4.77, -16.55, -20.37, -22.66)),
    "E2E box": ((-30.84, -34.58, -35.91, -37.80), (-20.44, -23.58, -24.59, -25.72)),
    "E2E ellipsoid": (
        (-37.78, -39.45, -39.77, -40.96),
        (-28.60, -29.77, -30.47, -31.09),
    ),
    "E2E PICNN": ((-39.79, -40.89, -42.97, -43.17), (-27.38, -29.24, -30.55, -30.82)),
}


class Prices(RegressorMixin, BaseEstimator):
    """The average of kernel ridge regression of log prices and of trees."""

    def __init__(self, gamma=0.003, penalty=0.1, trees=80):
        self.gamma, self.penalty, self.trees = gamma, penalty, trees

    def fit(self, X, Y):
        """Both, on all hours at once."""
        logs = np.log(np.maximum(Y, 1.0) + 10.0)
        self.middle_ = logs.mean(axis=0)
        kernel = KernelRidge(alpha=self.penalty, kernel="rbf", gamma=self.gamma)
        self.kernel_ = kernel.fit(X, logs - self.middle_)
        trees = ExtraTreesRegressor(
            self.trees, min_samples_leaf=2, max_features=0.4, random_state=0
        )
        self.trees_ = trees.fit(X, Y)
        # The largest that was seen: what is extrapolated in logarithms explodes.
        self.most_ = float(logs.max())
        return self

    def predict(self, X):
        """Prices of 24 hours."""
        logs = np.minimum(self.kernel_.predict(X) + self.middle_, self.most_)
        return (np.exp(logs) - 10.0 + self.trees_.predict(X)) / 2

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@dataclass(frozen=True)
class Kept(sl.guarantees.Marginal):
    """The marginal promise, which keeps the scores it was given."""

    scores: list = field(default_factory=list, compare=False)

    def calibrate(self, scores, alpha, X=None):
        """As it is."""
        self.scores.append(np.asarray(scores))
        return super().calibrate(scores, alpha, X)


def fitted(days):
    """Mean and covariance from training days."""
    spread = ExtraTreesRegressor(
        80, min_samples_leaf=10, max_features=0.4, random_state=0
    )
    model = sl.MeanCovarianceRegressor(Prices(), spread)
    return model.fit(days.features, days.prices)


def tempered(model, days, trust):
    """The model with the ups and downs of its spread raised to a power."""
    usual = np.median(model.predict(days.features, return_std=True)[1], axis=0)

    def predict(X):
        mean, std, factor = model.predict(X, return_std=True, return_factor=True)
        ratio = (std / usual) ** (trust - 1.0)
        return mean, ratio[:, :, None] * factor

    return predict


def cell(seed, shift):
    """One seed: what each shape certifies, costs and violates, by alpha."""
    start = time.process_time()
    train, calibration, test = storage.split(storage.load(), seed, shift)
    model = fitted(train)
    rows = []
    for shape, trust in TRUSTS.items():
        begun = time.process_time()
        sets = sl.LossSet(tempered(model, train, trust), "gaussian")
        policy = storage.pose(sets).compile()
        kept = Kept()
        policy.calibrate(
            calibration.features,
            calibration.prices,
            max(ALPHAS),
            guarantee=kept,
            grid=GRID,
        )
        for alpha in ALPHAS:
            budget = sl.guarantees.Marginal().calibrate(kept.scores[-1], alpha).budget
            rows.append(looked_at(policy, sets, budget, test) | {"alpha": alpha})
            rows[-1] |= {"shape": shape, "seconds": time.process_time() - begun}
    return {
        "seed": seed,
        "shift": shift,
        "seconds": time.process_time() - start,
        "rows": rows,
    }


def looked_at(policy, sets, budget, test):
    """A budget on test days, by decisions and by sets."""
    decisions = policy.at(budget).decide(test.features)
    if not (decisions.status == "optimal").all():
        raise RuntimeError(f"{np.sum(decisions.status != 'optimal')} days undecided")
    states = [decisions.value(name) for name in ("state", "in", "out")]
    realised = storage.task_loss(test.prices, *states)
    certified = decisions.objective
    slack = 1e-6 * (1 + np.abs(certified))
    inside = sets.predict_set(test.features, budget=budget).contains(test.prices)
    return {
        "budget": float(budget),
        "realised": float(realised.mean()),
        "certified": float(certified.mean()),
        "violation": float(np.mean(realised > certified + slack)),
        "coverage": float(np.mean(inside)),
    }


def path_of(seed, shift):
    """Where a cell is kept."""
    return CELLS / f"{'shift' if shift else 'none'}-{seed}.json"


def show(shift):
    """The published table, and ours from the cells there are."""
    kept = sorted(CELLS.glob(f"{'shift' if shift else 'none'}-*.json"))
    cells = [json.loads(path.read_text()) for path in kept]
    title = "shift" if shift else "no shift"
    print(f"\n{title}: mean test task loss at alpha {ALPHAS}")
    for name, both in PUBLISHED.items():
        values = "  ".join(f"{v:7.2f}" for v in both[int(shift)])
        print(f"  {name:<26} {values}   the set holds the prices")
    if not cells:
        return
    for shape in TRUSTS:
        for fact in ("realised", "certified", "violation", "coverage"):
            means, spreads = [], []
            for alpha in ALPHAS:
                every = [
                    row[fact]
                    for each in cells
                    for row in each["rows"]
                    if row["shape"] == shape and row["alpha"] == alpha
                ]
                means.append(np.mean(every))
                spreads.append(np.std(every))
            digits = 2 if fact in ("realised", "certified") else 3
            values = "  ".join(f"{v:7.{digits}f}" for v in means)
            over = "  ".join(f"{v:.{digits}f}" for v in spreads)
            print(f"  ours, {shape}, {fact:<12} {values}   sd over seeds {over}")
    seconds = np.mean([each["seconds"] for each in cells])
    print(
        f"  {len(cells)} seeds; {seconds:.0f} s CPU a seed; ours promises the decision"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--shift", action="store_true")
    parser.add_argument("--print", action="store_true", dest="only")
    given = parser.parse_args()
    CELLS.mkdir(parents=True, exist_ok=True)
    for number in range(0 if given.only else given.seeds):
        place = path_of(number, given.shift)
        if not place.exists():
            came_to = cell(number, given.shift)
            part = place.with_suffix(".part")
            part.write_text(json.dumps(came_to))
            part.rename(place)
            print(f"seed {number}: {came_to['seconds']:.0f} s CPU", flush=True)
    for moved in (False, True):
        show(moved)
