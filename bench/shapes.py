"""What a shape that fits is worth: certified cost on laws that are known.

    python bench/shapes.py --draws 20      # five problems; resumable
    python bench/shapes.py --draws 1 assets path
    python bench/shapes.py --show          # the table of what is kept

Moments are estimated, from 600 rows. Every shape is calibrated by decisions to the same
violation level on 400 rows and looked at on 400 others; `sl.choose` and
`sl.choose_weights` choose on 400 and on 800 rows of their own. Levels are fine where
the rows of the choice expect them (`Choice.grid`). Results are kept in
data/shapes_results.json.

Two oracles know the law. "At risk" protects each context at its own value at risk;
"oracle" may be wrong more often where it is noisy, as the promise, which is on average
over contexts, allows: nothing that keeps it certifies more. Printed: mean certified
cost (or reward), violation, and how far the choice goes from the best shape of version
0.1.0 (squared, constant Mahalanobis, diagonal gaussian) to either.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import cvxpy as cp
import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.linear_model import Ridge

import sublevel as sl

ALPHA = 0.1
TRAIN, TUNE, CALIBRATE, TEST = 600, 400, 400, 400
#: Further rows to tune weights on, where there are weights.
WEIGH = 800
KEPT = Path(__file__).parent / "data" / "shapes_results.json"
#: The shapes of version 0.1.0.
OLD = ("squared", "mahalanobis", "diagonal")


@dataclass
class Law:
    """A linear mean, spreads that may depend on X, a correlation, normal errors."""

    slopes: np.ndarray
    base: np.ndarray
    spread: np.ndarray
    factor: np.ndarray
    scale: float = 0.5

    def moments(self, X):
        size = np.exp(X @ self.spread)[:, None] * self.scale
        return self.base + X @ self.slopes, size[:, :, None] * self.factor

    def draw(self, n, rng):
        X = rng.normal(size=(n, len(self.slopes)))
        mean, factor = self.moments(X)
        return X, mean + np.einsum("nij,nj->ni", factor, rng.normal(size=mean.shape))


def law_of(width, rng, common, moving, features=4):
    """Errors with a common part, and a spread that moves with X by exp(moving x)."""
    slopes = rng.normal(size=(features, width)) * 0.3
    loadings = common * rng.uniform(0.5, 1.5, size=(width, 1))
    moments = loadings @ loadings.T + np.eye(width)
    size = np.sqrt(np.diag(moments))
    correlation = moments / np.outer(size, size)
    factor = rng.uniform(0.5, 1.5, size=width)[:, None] * np.linalg.cholesky(
        correlation
    )
    spread = np.zeros(features)
    spread[:2] = moving
    return Law(slopes, rng.uniform(1.0, 1.5, size=width), spread, factor)


def assets(rng, common=1.5, moving=0.4):
    """Five assets, long only: the worst return is made large."""
    law = law_of(5, rng, common, moving)

    def pose(sets, *_):
        r, w = sl.Uncertain(5, name="r"), cp.Variable(5, nonneg=True)
        return sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})

    return law, pose, ball_oracle(law, pose)


def correlated(rng):
    """Long and short, errors that go together, a spread that moves a little."""
    law = law_of(6, rng, 2.5, 0.4)

    def pose(sets, *_):
        r, w = sl.Uncertain(6, name="r"), cp.Variable(6)
        limits = [cp.sum(w) == 0, cp.norm(w, 1) <= 1]
        return sl.RobustProblem(cp.Maximize(r @ w), limits, {r: sets})

    return law, pose, ball_oracle(law, pose)


def moving(rng):
    """Independent errors whose spread depends on X."""
    return assets(rng, common=0.0, moving=0.7)


def path(rng, side=3):
    """A shortest path through a grid whose edges' costs have errors in common."""
    nodes = [(i, j) for i in range(side) for j in range(side)]
    edges = [(a, b) for a in nodes for b in nodes if sum(b) - sum(a) == 1]
    edges = [(a, b) for a, b in edges if abs(b[0] - a[0]) + abs(b[1] - a[1]) == 1]
    law = law_of(len(edges), rng, 1.0, 0.4)
    law.base = law.base + 2.0
    flow = np.zeros((len(nodes), len(edges)))
    for k, (a, b) in enumerate(edges):
        flow[nodes.index(a), k], flow[nodes.index(b), k] = 1.0, -1.0
    supply = np.zeros(len(nodes))
    supply[0], supply[-1] = 1.0, -1.0

    def pose(sets, *_):
        c, x = sl.Uncertain(len(edges), name="c"), cp.Variable(len(edges), nonneg=True)
        # The last row follows from the others.
        limits = [flow[:-1] @ x == supply[:-1], x <= 1]
        return sl.RobustProblem(cp.Minimize(c @ x), limits, {c: sets})

    return law, pose, ball_oracle(law, pose)


def unequal(rng):
    """Six needs of unequal spread at one price, each to be met."""
    law = law_of(6, rng, 0.0, 0.0)
    law.factor = np.diag(np.geomspace(0.1, 10.0, 6))
    price = np.ones(6)
    spread = law.scale * np.diag(law.factor)

    def pose(sets, *_):
        need, have = sl.Uncertain(6, name="need"), cp.Variable(6)
        return sl.RobustProblem(cp.Minimize(price @ have), [have >= need], {need: sets})

    def quantiles(price_of_risk):
        # The first-order condition: price spread = lambda hazard(q), by component.
        def root(size):
            def gap(q):
                return size - price_of_risk * np.exp(norm.logpdf(q) - norm.logcdf(q))

            # Below all hazards nothing is worth protecting, above them everything.
            return brentq(gap, -200.0, 40.0) if gap(40.0) > 0 > gap(-200.0) else 40.0

        return np.array([root(size) for size in price * spread])

    def short(log_price):
        return norm.logcdf(quantiles(np.exp(log_price))).sum() - np.log(1 - ALPHA)

    q = quantiles(np.exp(brentq(short, -3.0, 10.0)))

    def oracle(X):
        value = float(np.mean(law.moments(X)[0] @ price) + price @ (spread * q))
        return value, value

    return law, pose, oracle


PROBLEMS = {
    "assets": assets,
    "correlated": correlated,
    "moving": moving,
    "unequal": unequal,
    "path": path,
}


def ball_oracle(law, pose):
    """What someone certifies who knows the law: at risk everywhere alike, and at best.

    A context protected with radius t is wrong with probability 1 - cdf(t). For a price
    of being wrong each context has its best t; the price is such that alpha are wrong.
    """

    def oracle(X):
        def model(X):
            return law.moments(np.asarray(X))

        policy = pose(sl.LossSet(model, "gaussian")).compile()
        maximised = isinstance(policy.problem.objective, cp.Maximize)
        sense = -1.0 if maximised else 1.0
        radii = np.linspace(0.02, 3.5, 20)
        costs = [sense * policy.at(t**2).decide(X).objective for t in radii]
        costs, wrong = np.array(costs), norm.sf(radii)[:, None]

        def best(log_price):
            return np.argmin(costs + np.exp(log_price) * wrong, axis=0)

        def excess(log_price):
            return float(np.mean(wrong[best(log_price), 0])) - ALPHA

        chosen = best(brentq(excess, -12.0, 12.0, xtol=1e-4))
        alike = policy.at(norm.ppf(1 - ALPHA) ** 2).decide(X).objective
        rows = np.arange(costs.shape[1])
        return float(np.mean(alike)), sense * float(costs[chosen, rows].mean())

    return oracle


def candidates(pose, X, Y):
    """Policies by name: shapes of version 0.1.0, and what there is besides."""
    model = sl.MeanCovarianceRegressor(Ridge(), Ridge(), power="outputs").fit(X, Y)
    narrow = sl.losses.NLL(share=1 / Y.shape[1])
    shapes = {
        "squared": (model.predict, "squared"),
        "mahalanobis": (Ridge(), "mahalanobis"),
        "diagonal": (model, sl.losses.Gaussian(full=False)),
        "full": (model, "gaussian"),
        "full, narrow": (model, narrow),
    }
    policies = {
        name: pose(sl.LossSet(*shape).fit(X, Y)).compile()
        for name, shape in shapes.items()
    }
    rationed = sl.Rationed(policies["full"], X, ALPHA)
    sets = sl.LossSet(rationed, "gaussian").fit(X, Y)
    policies["full, rationed"] = pose(sets).compile()
    return policies


def weighted(pose, X, Y, tune):
    """The policy with weights tuned, one a component."""
    mean = Ridge().fit(X, Y).predict
    unit = np.var(Y - mean(X), axis=0)

    def policy_of(weights):
        loss = sl.losses.Squared(weights=weights * unit / unit[0])
        return pose(sl.LossSet(mean, loss)).compile()

    return sl.choose_weights(policy_of, Y.shape[1], *tune, ALPHA).policy


def run(name, seed):
    """One draw of a problem: the choice, what shapes came to, and the oracles."""
    rng = np.random.default_rng(seed)
    law, pose, oracle = PROBLEMS[name](rng)
    train, tune, fresh, test = (
        law.draw(n, rng) for n in (TRAIN, TUNE, CALIBRATE, TEST)
    )
    policies = candidates(pose, *train)
    if name == "unequal":
        # Rows that weights were tuned on are spent: shapes are chosen on others.
        policies["weights tuned"] = weighted(pose, *train, law.draw(WEIGH, rng))
    choice = sl.choose(policies, *tune, ALPHA)
    seen = {}
    for shape, policy in policies.items():
        policy.calibrate(*fresh, ALPHA, grid=choice.grid(shape))
        seen[shape] = policy.evaluate(*test)
    return choice, seen, oracle(test[0])


def cell(name, seed):
    """One draw as plain numbers: certified and violation by shape."""
    start = time.process_time()
    choice, seen, (at_risk, oracle) = run(name, seed)
    return {
        "chosen": choice.best,
        "sense": choice.sense,
        "at risk": round(at_risk, 5),
        "oracle": round(oracle, 5),
        "shapes": {
            shape: [round(float(np.mean(e.certified)), 5), round(e.violation, 4)]
            for shape, e in seen.items()
        },
        "seconds": round(time.process_time() - start, 1),
    }


def read():
    """The draws that there are, by name."""
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def show(name):
    """What came of the draws of a problem."""
    cells = [each for key, each in read().items() if key.split("-")[0] == name]
    if not cells:
        return
    sense, count = cells[0]["sense"], len(cells)
    seconds = sum(each["seconds"] for each in cells)
    print(f"\n{name}: {count} draws, {seconds:.0f} s CPU")
    every = np.array([list(each["shapes"].values()) for each in cells])
    shapes = list(cells[0]["shapes"])
    means = dict(zip(shapes, every.mean(axis=0).tolist(), strict=True))
    own = np.array([each["shapes"][each["chosen"]] for each in cells])
    means["chosen"] = own.mean(axis=0).tolist()
    for shape, (certified, violation) in means.items():
        print(f"  {shape:<18} certified {certified:9.4f}  violation {violation:.3f}")
    ideal = np.array([each["oracle"] for each in cells])
    at_risk = np.array([each["at risk"] for each in cells])
    print(f"  {'at risk':<18} certified {at_risk.mean():9.4f}")
    print(f"  {'oracle':<18} certified {ideal.mean():9.4f}")
    old = shapes.index(min(OLD, key=lambda shape: sense * means[shape][0]))
    best = min(shapes, key=lambda shape: sense * means[shape][0])
    saved = sense * (every[:, old, 0] - own[:, 0])
    behind = sense * (means["chosen"][0] - means[best][0]) / abs(means[best][0])
    times = {shape: sum(each["chosen"] == shape for each in cells) for shape in shapes}
    print(f"  chosen: { {shape: n for shape, n in times.items() if n} }")
    print(f"  {behind:.2%} behind {best!r}, the best single shape")
    print(f"  of the way from {shapes[old]!r}, the best of 0.1.0, the choice goes")
    for end, certified in (("at risk", at_risk), ("oracle", ideal)):
        gap = sense * (every[:, old, 0] - certified)
        if gap.mean() <= 0:
            print(f"    to {end!r}: {shapes[old]!r} is past it already")
            continue
        closed = saved.mean() / gap.mean()
        # The error of a ratio of means, to first order.
        error = np.std(saved - closed * gap, ddof=1) / np.sqrt(count) / gap.mean()
        print(f"    to {end!r}: {closed:.0%} (s.e. {error:.0%})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--draws", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    # A draw of every problem, then the next: whatever ends early has all of them.
    for number in range(given.draws):
        for problem in given.problems:
            label, cells = f"{problem}-{number:02d}", read()
            if label not in cells:
                cells[label] = cell(problem, number)
                part = KEPT.with_suffix(".part")
                part.write_text(json.dumps(dict(sorted(cells.items())), indent=1))
                part.rename(KEPT)
    for problem in given.problems:
        show(problem)
