"""Draw the figures of README and docs: `make docs` runs this.

The files come out the same, byte for byte, as long as data, models and Matplotlib do.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import beta
from sklearn.linear_model import LinearRegression

import sublevel as sl

FOLDER = Path(__file__).resolve().parents[1] / "figures"


def sample(n, rng):
    """Two outcomes; the noise of both grows with the first covariate."""
    X = rng.uniform(0, 1, size=(n, 3))
    noise = rng.standard_t(4, size=(n, 2)) * (0.2 + X[:, :1])
    return X, X[:, 1:] * 8 + noise


def spread(X):
    return np.repeat(0.2 + X[:, :1], 2, axis=1)


def draw_sets():
    """One prediction, four losses, two contexts; what was promised, what happened."""
    rng = np.random.default_rng(0)
    (X, Y), (X_cal, Y_cal), (X_test, Y_test) = (
        sample(n, rng) for n in (400, 500, 4000)
    )
    model = LinearRegression().fit(X, Y)

    def with_spread(X):
        return model.predict(X), spread(X)

    contexts = np.array([[0.0, 0.1, 0.5], [1.0, 0.9, 0.5]])
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.7, 1])
    for loss in ("squared", "absolute", "huber", "gaussian"):
        sets = sl.LossSet(with_spread if loss == "gaussian" else model, loss=loss)
        sets.calibrate(X_cal, Y_cal, alpha=0.1)
        for color, U in enumerate(sets.predict_set(contexts)):
            sl.plots.plot_set(U, ax=left, label=None if color else loss)
            for line in left.lines[-2:]:
                line.set_color(COLORS[loss])
            left.patches[-1].set(color=COLORS[loss], alpha=0.06)
        sl.plots.calibration_curve(sets, X_test, Y_test, ax=right)
        right.containers[-1].lines[0].set_color(COLORS[loss])
        for bars in right.containers[-1].lines[2]:
            bars.set_color(COLORS[loss])
    left.set(xlabel="first outcome", ylabel="second outcome", aspect="equal")
    left.set_title("90 % sets in a calm (left) and a noisy context (right)")
    left.set_xlim(left=-4)
    left.legend(loc="lower left", fontsize=8)
    right.set_title("grey: 99 % of calibration draws")
    return figure


def draw_draws():
    """Violation rates of many calibrations of the tutorial's sets, and their law."""
    rng = np.random.default_rng(7)

    def days(n):
        X = np.column_stack(
            [rng.normal(20, 6, n), rng.integers(0, 2, n), rng.uniform(0, 1, n)]
        )
        slopes = [[2.0, -0.5, 0.3], [10, 20, 5], [30, 10, 40]]
        noise = rng.normal(size=(n, 3)) * (4 + 8 * X[:, 2:])
        return X, [60, 40, 80] + X @ np.array(slopes) + noise

    sets = sl.LossSet(LinearRegression(), loss="squared").fit(*days(500))
    X, Y = days(50_000)
    rates = []
    for _ in range(1000):
        sets.calibrate(*days(500), alpha=0.1)
        rates.append(100 * (1 - sets.predict_set(X).contains(Y).mean()))
    rank = sl.guarantees.Marginal().rank(500, alpha=0.1)
    law = beta(501 - rank, rank)
    shares = np.linspace(0.05, 0.16, 300)
    low, high = law.ppf([0.05, 0.95])

    figure = Figure(figsize=(6, 2.6), layout="constrained")
    axes = figure.subplots()
    axes.hist(rates, bins=30, density=True, color="C0", alpha=0.35)
    axes.plot(100 * shares, law.pdf(shares) / 100, color="C0")
    axes.axvspan(100 * low, 100 * high, color="0.5", alpha=0.12, lw=0)
    axes.axvline(np.mean(rates), color="k", lw=1)
    axes.axvline(10, color="C3", lw=1, ls="--")
    axes.set(xlabel="new days outside their set, %", ylabel="density", yticks=[])
    axes.set_title(
        f"1000 calibrations on 500 days each: mean {np.mean(rates):.1f} % (black), "
        "asked 10 % (red)\nline: the law; grey: nine in ten",
        fontsize=9,
    )
    return figure


COLORS = {"squared": "C0", "absolute": "C1", "huber": "C2", "gaussian": "C3"}
FIGURES = {"sets.svg": draw_sets, "draws.svg": draw_draws}


def main():
    FOLDER.mkdir(exist_ok=True)
    style = {"svg.hashsalt": "sublevel", "font.size": 9, "svg.fonttype": "path"}
    for name, draw in FIGURES.items():
        with mpl.rc_context(style):
            draw().savefig(FOLDER / name, metadata={"Date": None})
        print(f"docs/figures/{name}")


if __name__ == "__main__":
    main()
