"""Draw the figures of the how-to pages: `make docs` runs this.

One function a picture, each on a problem small enough to be drawn in seconds. The files
come out the same, byte for byte, as long as Matplotlib and the solvers do.
"""

import warnings
from pathlib import Path

import cvxpy as cp
import matplotlib as mpl
import numpy as np
from figures import FOLDER
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression, Ridge

import sublevel as sl

RNG = np.random.default_rng(0)
#: Two correlated outcomes whose noise grows with the first covariate; heavy tails.
X = RNG.uniform(0, 1, size=(2400, 3))
_NOISE = RNG.standard_t(4, size=(2400, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
Y = 10 + 4 * X[:, 1:] + _NOISE * (0.3 + X[:, :1])
TRAIN, FOLD, TEST = slice(0, 400), slice(400, 900), slice(900, 2400)
MODEL = LinearRegression().fit(X[TRAIN], Y[TRAIN])


def quantiles(level):
    """A model of a quantile: the mean, and a share of the spread."""
    return lambda X: MODEL.predict(X) + level * (0.3 + X[:, :1])


LOSSES = {
    "squared": (MODEL, "squared"),
    "absolute": (MODEL, "absolute"),
    "huber": (MODEL, "huber"),
    "epsilon-insensitive": (MODEL, sl.losses.EpsilonInsensitive(0.5)),
    "pinball": (MODEL, sl.losses.Pinball(0.8)),
    "mahalanobis": (LinearRegression(), "mahalanobis"),
    "gaussian": (
        lambda X: (MODEL.predict(X), np.repeat(0.3 + X[:, :1], 2, axis=1)),
        "gaussian",
    ),
    "interval": ([quantiles(-1.0), quantiles(1.5)], "interval"),
}


def figure(width=6.0, height=3.2):
    made = Figure(figsize=(width, height), layout="constrained")
    return made, made.subplots()


def draw_loss(name):
    """The calibrated sets of a loss in a calm and in a noisy context."""
    model, loss = LOSSES[name]
    sets = sl.LossSet(model, loss=loss)
    if name == "mahalanobis":
        sets.fit(X[TRAIN], Y[TRAIN])
    sets.calibrate(X[FOLD], Y[FOLD], alpha=0.1)
    made, axes = figure(4.4, 2.5)
    contexts = np.array([[0.0, 0.1, 0.5], [1.0, 0.9, 0.5]])
    for color, U in enumerate(sets.predict_set(contexts)):
        sl.plots.plot_set(U, ax=axes, names=["first outcome", "second"])
        for line in axes.lines[-2:]:
            line.set_color(f"C{color}")
        axes.patches[-1].set(color=f"C{color}", alpha=0.12)
    axes.set_title(f"{name}: calm (left) and noisy context", fontsize=9)
    return made


def stock(sets):
    """Stock that covers two demands, at unequal prices."""
    d, q = sl.Uncertain(2, name="demand"), cp.Variable(2, nonneg=True, name="stock")
    prices = np.array([1.0, 2.0])
    return sl.RobustProblem(cp.Minimize(prices @ q), [q >= d], {d: sets})


def policy(alpha=0.1, **options):
    sets = sl.LossSet(LinearRegression(), loss="mahalanobis").fit(X[TRAIN], Y[TRAIN])
    made = stock(sets).compile()
    return made.calibrate(X[FOLD], Y[FOLD], alpha=alpha, **options)


def draw_frontier():
    """What each level costs, with the band that holds at all of them."""
    made, axes = figure()
    table = stock(sl.LossSet(MODEL)).compile()
    alphas = [0.02, 0.05, 0.1, 0.15, 0.2, 0.3]
    drawn = table.frontier(X[FOLD], Y[FOLD], X[TEST], Y[TEST], alphas=alphas)
    sl.plots.frontier(drawn, ax=axes)
    return made


def draw_band():
    """What may be promised at each level, all at once."""
    made, axes = figure()
    looked = stock(sl.LossSet(MODEL)).compile()
    looked.frontier(X[FOLD], Y[FOLD], alphas=[0.05, 0.1, 0.2, 0.3])
    sl.plots.plot_band(looked.band_, ax=axes)
    return made


def draw_groups():
    """Violations by group: one level for all, and a level for each."""
    groups = {
        "calm": lambda X: X[:, 0] < 0.5,
        "noisy": lambda X: X[:, 0] >= 0.5,
        "busy": lambda X: X[:, 1] > 0.8,
    }
    apart = policy(guarantee=sl.guarantees.Mondrian(groups))
    with warnings.catch_warnings():
        # That one level is not enough for a group is what the picture shows.
        warnings.simplefilter("ignore", sl.errors.GroupsAbove)
        seen = sl.evaluate(
            {"one level": policy(), "a level a group": apart},
            X[TEST],
            Y[TEST],
            groups=groups,
            alpha=0.1,
        )
    made, axes = figure()
    sl.plots.plot_groups(seen, ax=axes)
    return made


def draw_explanation():
    """The outcome that a decision guards against."""
    made, axes = figure(6.0, 2.2)
    sl.plots.plot_explanation(policy().decide(X[TEST][:1])[0].explain(), ax=axes)
    return made


def draw_steps():
    """What a step of alpha or of data would buy."""
    made, axes = figure(6.0, 2.4)
    sl.plots.plot_steps(policy().explain(X[FOLD], Y[FOLD]), ax=axes)
    return made


def draw_budget_curve():
    """Budget against alpha, on average and with confidence."""
    made, axes = figure()
    sets = sl.LossSet(MODEL).calibrate(X[FOLD], Y[FOLD], alpha=0.1)
    sl.plots.budget_curve(sets, ax=axes)
    return made


def draw_calibration_curve():
    """What was promised against what happened, over levels."""
    made, axes = figure()
    sets = sl.LossSet(MODEL).calibrate(X[FOLD], Y[FOLD], alpha=0.1)
    sl.plots.calibration_curve(sets, X[TEST], Y[TEST], ax=axes)
    return made


def draw_findings():
    """What a diagnosis sees in residuals."""
    made, axes = figure(6.0, 3.6)
    sl.plots.plot_findings(sl.diagnose(sl.LossSet(MODEL), X[FOLD], Y[FOLD]), ax=axes)
    return made


def draw_comparison():
    """Policies side by side."""
    sets = sl.LossSet(MODEL).calibrate(X[FOLD], Y[FOLD], alpha=0.1)
    policies = {
        "prediction": stock(sets).compile().at(1e-9),
        "calibrated sets": stock(sets).compile(),
        "calibrated decisions": policy(),
    }
    made, axes = figure()
    seen = sl.evaluate(policies, X[TEST], Y[TEST])
    sl.plots.plot_comparison(seen, alpha=0.1, ax=axes)
    return made


def drifting():
    """The same world, in which the noise doubles half way."""
    later = Y[TEST].copy()
    half = len(later) // 2
    center = MODEL.predict(X[TEST])
    later[half:] = center[half:] + 2 * (later[half:] - center[half:])
    return later


def draw_over_time():
    """A promise over time, that fails when the world changes."""
    made, axes = figure(7.0, 2.8)
    seen = policy().evaluate(X[TEST], drifting())
    sl.plots.plot_over_time(seen, alpha=0.1, window=150, ax=axes)
    axes.set_xlabel("rows since the calibration; the noise doubles half way")
    return made


def draw_monitor():
    """Evidence of a monitor, in the same world."""
    made, axes = figure(7.0, 2.6)
    seen = policy().evaluate(X[TEST], drifting())
    monitor, evidence = sl.drift.Monitor(0.13), []
    for violated in seen.violated:
        monitor.watch([violated])
        evidence.append(monitor.evidence)
    axes.semilogy(evidence, color="C0")
    axes.axhline(20, color="C3", lw=1, ls="--")
    axes.set(xlabel="rows since the calibration", ylabel="evidence")
    axes.set_title("alarm above the line: the noise doubles half way", fontsize=9)
    return made


def draw_small_data():
    """Budgets of the same promise, as calibration data grow."""
    made, axes = figure()
    model = Ridge().fit(X[TRAIN], Y[TRAIN])
    sizes, draws = (20, 40, 80, 160, 320, 640), 40
    for name, guarantee in {
        "on average": sl.guarantees.Marginal(),
        "with confidence 95 %": sl.guarantees.PAC(0.05),
    }.items():
        widths = []
        for size in sizes:
            radii = []
            for _ in range(draws):
                rows = RNG.choice(np.arange(400, 2400), size, replace=False)
                loss = ((Y[rows] - model.predict(X[rows])) ** 2).sum(axis=1)
                rank = guarantee.rank(size, 0.1)
                radii.append(np.nan if rank is None else np.sort(loss)[rank - 1] ** 0.5)
            widths.append(np.mean(radii))
        axes.plot(sizes, widths, "o-", label=name)
    axes.set(xscale="log", xlabel="calibration rows", ylabel="radius, mean of 40 draws")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.legend()
    return made


FIGURES = {
    **{f"loss-{name}.svg": (draw_loss, name) for name in LOSSES},
    "frontier.svg": (draw_frontier,),
    "band.svg": (draw_band,),
    "groups.svg": (draw_groups,),
    "explanation.svg": (draw_explanation,),
    "steps.svg": (draw_steps,),
    "budget-curve.svg": (draw_budget_curve,),
    "calibration-curve.svg": (draw_calibration_curve,),
    "findings.svg": (draw_findings,),
    "comparison.svg": (draw_comparison,),
    "over-time.svg": (draw_over_time,),
    "monitor.svg": (draw_monitor,),
    "small-data.svg": (draw_small_data,),
}


def main(folder=FOLDER):
    Path(folder).mkdir(exist_ok=True)
    style = {"svg.hashsalt": "sublevel", "font.size": 9, "svg.fonttype": "path"}
    for name, (draw, *given) in FIGURES.items():
        with mpl.rc_context(style):
            draw(*given).savefig(Path(folder) / name, metadata={"Date": None})
        print(f"docs/figures/{name}")


if __name__ == "__main__":
    main()
