"""What a shape that fits is worth: certified cost on laws that are known.

    python bench/shapes.py                 # five problems, three draws of each
    python bench/shapes.py --draws 1 assets path

Moments are estimated, from 600 rows. Every shape is calibrated by decisions to the same
violation level on 500 rows and looked at on 500 others; `sl.choose` and
`sl.choose_weights` choose on 400 rows of their own. Two oracles know the law. "At risk"
protects each context at its own value at risk; "oracle" may be wrong more often where
it is noisy, as the promise, which is on average over contexts, allows: nothing that
keeps it certifies more. Printed: mean certified cost (or reward), violation, and how
much of the gap between the best shape of version 0.1.0 (squared, constant Mahalanobis,
diagonal gaussian) and the oracle the choice closes.
"""

import argparse
import time
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.linear_model import Ridge

import sublevel as sl

ALPHA = 0.1
TRAIN, TUNE, CALIBRATE, TEST = 600, 400, 500, 500
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


def path(rng, side=4):
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
    """Six needs of unequal spread and price, each to be met."""
    law = law_of(6, rng, 0.0, 0.0)
    law.factor = np.diag(np.geomspace(0.1, 10.0, 6))
    price = np.geomspace(8.0, 0.25, 6)
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
        radii = np.linspace(0.02, 3.5, 25)
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
    models = {
        kind: sl.MeanCovarianceRegressor(Ridge(), spread, trust=1.0).fit(X, Y)
        for kind, spread in {"line": Ridge(), "trees": None}.items()
    }
    half = sl.MeanCovarianceRegressor(Ridge(), Ridge(), trust=0.5).fit(X, Y)
    narrow = sl.losses.NLL(share=1 / Y.shape[1])
    shapes = {
        "squared": (models["line"].predict, "squared"),
        "mahalanobis": (Ridge(), "mahalanobis"),
        "diagonal": (models["line"], sl.losses.Gaussian(full=False)),
        "full, line": (models["line"], "gaussian"),
        "full, trees": (models["trees"], "gaussian"),
        "full, half trust": (half, "gaussian"),
        "full, narrow": (models["line"], narrow),
    }
    return {
        name: pose(sl.LossSet(*shape).fit(X, Y)).compile()
        for name, shape in shapes.items()
    }


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
        # Weights and shapes are chosen on halves: the first rows are spent.
        half = TUNE // 2
        first, tune = ([part[s] for part in tune] for s in (np.s_[:half], np.s_[half:]))
        policies["weights tuned"] = weighted(pose, *train, first)
    choice = sl.choose(policies, *tune, ALPHA)
    seen = {}
    for shape, policy in policies.items():
        policy.calibrate(*fresh, ALPHA)
        seen[shape] = policy.evaluate(*test)
    return choice, seen, oracle(test[0])


def report(name, draws):
    """Run a problem some times and print what came of it."""
    start, rows, chosen = time.process_time(), [], []
    for seed in range(draws):
        choice, seen, (at_risk, oracle) = run(name, seed)
        chosen.append(choice.best)
        rows.append(
            {k: (np.mean(e.certified), e.violation) for k, e in seen.items()}
            | {"at risk": (at_risk, ALPHA), "oracle": (oracle, ALPHA), "chosen": None}
        )
        e = seen[choice.best]
        rows[-1]["chosen"] = (np.mean(e.certified), e.violation)
    sense = choice.sense
    means = {k: np.mean([row[k] for row in rows], axis=0) for k in rows[0]}
    print(f"\n{name} ({time.process_time() - start:.0f} s CPU)")
    for shape, (certified, violation) in means.items():
        print(f"  {shape:<18} certified {certified:9.4f}  violation {violation:.3f}")
    old = min(sense * means[k][0] for k in OLD)
    best = min(
        sense * means[k][0] for k in means if k not in ("at risk", "oracle", "chosen")
    )
    own, ideal = sense * means["chosen"][0], sense * means["oracle"][0]
    closed, behind = (old - own) / (old - ideal), (own - best) / abs(best)
    print(f"  chosen: {', '.join(chosen)}")
    print(f"  closes {closed:.0%} of the gap; {behind:.2%} behind the best shape")
    return closed, behind


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--draws", type=int, default=3)
    given = parser.parse_args()
    for each in given.problems:
        report(each, given.draws)
