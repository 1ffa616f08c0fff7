"""Pictures show exactly what their tables say, and outlines lie on the boundary."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import beta
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.errors import InvalidParameter, NotCalibrated, Unbounded

mpl.use("Agg")
import matplotlib.pyplot as plt

SETS = {
    "ellipsoid": sl.sets.Ellipsoid([1.0, 2.0, 0.0], [1.0, 100.0, 1.0], radius=2.0),
    "box": sl.sets.Box([0.0, 0.0, 0.0], [1.0, 2.0, 3.0]),
    "huber": sl.sets.Sublevel("huber", [1.0, -1.0, 0.5], 3.0),
    "absolute": sl.sets.Sublevel("absolute", [1.0, -1.0, 0.5], 3.0),
    "intersection": sl.sets.Ellipsoid(np.zeros(3), np.ones(3), radius=1.0)
    & sl.sets.Box(-0.8 * np.ones(3), 0.8 * np.ones(3)),
}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    return np.zeros((700, 1)), rng.normal(size=(700, 2))


@pytest.fixture
def calibrated(sample):
    X, Y = sample
    return sl.LossSet(lambda X: np.zeros((len(X), 2))).calibrate(X[:200], Y[:200])


@pytest.mark.parametrize("name", SETS)
def test_outline_lies_on_the_boundary(name):
    U = SETS[name]
    table = sl.plots.set_table(U, components=(0, 2))
    outline = table[["first", "second"]].to_numpy()
    rng = np.random.default_rng(0)
    for _ in range(20):
        flat = rng.normal(size=2)
        direction = np.array([flat[0], 0.0, flat[1]])
        support = U.support(direction)
        width = support + U.support(-direction)
        # No outline point is beyond the set, and the outline reaches all around.
        reached = (outline @ flat).max()
        assert support - 2e-3 * width <= reached <= support + 1e-6 * width


def test_outline_of_a_needle_is_as_fine_as_that_of_a_disc():
    table = sl.plots.set_table(SETS["ellipsoid"], components=(0, 1))
    unit = (table[["first", "second"]] - [1.0, 2.0]) / [2.0, 200.0]
    steps = np.diff(unit.to_numpy(), axis=0)
    assert np.linalg.norm(unit, axis=1) == pytest.approx(1.0)
    assert np.linalg.norm(steps, axis=1).max() < 0.05


def test_labels_and_scenarios_are_dots():
    labels = sl.sets.LabelSet(([0.1, 0.5, 2.0],), budget=1.0)
    table = sl.plots.set_table(labels)
    assert table["isolated"].all()
    assert table[["first", "second"]].to_numpy().tolist() == [[0, 1], [1, 0]]
    scenarios = sl.sets.Finite([[0.0, 1.0, 5.0], [2.0, 3.0, 5.0], [2.0, 3.0, 6.0]])
    table = sl.plots.set_table(scenarios)
    assert table[["first", "second"]].to_numpy().tolist() == [[0, 1], [2, 3]]
    ax = sl.plots.plot_set(scenarios)
    assert ax.lines[0].get_xydata().tolist() == [[0, 1], [2, 3]]
    assert ax.lines[0].get_linestyle() == "None"


def test_a_union_is_drawn_member_by_member():
    union = sl.sets.Box([0, 0], [1, 1]) | sl.sets.Box([5, 5], [6, 6])
    table = sl.plots.set_table(union)
    assert table["part"].nunique() == 2
    ax = sl.plots.plot_set(union, label="both")
    assert [line.get_xdata().max() for line in ax.lines] == [1, 6]
    assert ax.get_legend_handles_labels()[1] == ["both"]


def test_plot_shows_outline_prediction_and_points():
    U = SETS["absolute"]
    given = plt.subplots()[1]
    points = np.array([[1.0, -1.0, 0.5], [9.0, 9.0, 9.0]])
    ax = sl.plots.plot_set(U, ax=given, components=(2, 0), points=points, label="U")
    assert ax is given
    outline, prediction, inside, outside = ax.lines
    table = sl.plots.set_table(U, components=(2, 0))
    closed = np.vstack([table[["first", "second"]], table[["first", "second"]][:1]])
    np.testing.assert_array_equal(outline.get_xydata(), closed)
    assert prediction.get_xydata().tolist() == [[0.5, 1.0]]
    assert inside.get_xydata().tolist() == [[0.5, 1.0]]
    assert outside.get_xydata().tolist() == [[9.0, 9.0]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("component 2", "component 0")


def test_calibration_curve_shows_its_table(calibrated, sample):
    X, Y = sample
    alphas = [0.05, 0.1, 0.3]
    table = sl.plots.calibration_table(calibrated, X[200:], Y[200:], alphas)
    ax = sl.plots.calibration_curve(calibrated, X[200:], Y[200:], alphas)
    (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
    drawn = table[["promised", "coverage"]].to_numpy()
    np.testing.assert_array_equal(dots.get_xydata(), drawn)
    band, bars = ax.collections
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, table[["low", "high"]].to_numpy())
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
    for edge in ("band_low", "band_high"):
        assert corners >= set(zip(table["promised"], table[edge], strict=True))


@pytest.mark.parametrize("guarantee", ["marginal", "pac"])
def test_band_is_the_beta_law_of_the_calibration_draw(guarantee):
    # The law of the coverage of an order statistic, met by simulation: uniform scores,
    # so that the budget is the coverage itself.
    rng = np.random.default_rng(0)
    X, Y = np.zeros((200, 1)), rng.uniform(size=(2000, 200))
    sets = sl.LossSet(lambda X: np.zeros(len(X)), loss="absolute")
    sets.calibrate(X, Y[0], guarantee=guarantee)
    row = sl.plots.calibration_table(sets, X, Y[1], [0.1]).iloc[0]
    rank = sets.guarantee_.rank(200, 0.1)
    law = beta(rank, 201 - rank)
    assert row["band_low"] == pytest.approx(law.ppf(0.005))
    assert row["band_high"] == pytest.approx(law.ppf(0.995))
    coverage = np.sort(Y, axis=1)[:, rank - 1]
    within = np.mean((coverage >= row["band_low"]) & (coverage <= row["band_high"]))
    # 2000 draws, standard deviation 0.0022: four of them on each side.
    assert 0.981 < within < 0.999
    # A marginal promise at its level falls short in about half of all draws.
    short = np.mean(coverage < 0.9)
    assert (0.4 < short < 0.5) if guarantee == "marginal" else (short < 0.06)


def test_no_band_where_no_law_is_known(sample):
    X, Y = sample
    sets = sl.LossSet(LinearRegression())
    sets.calibrate(X[:40], Y[:40], guarantee=sl.guarantees.CVPlus(n_splits=20))
    table = sl.plots.calibration_table(sets, X[200:], Y[200:], [0.2, 0.3])
    assert table[["band_low", "band_high"]].isna().all(axis=None)
    sl.plots.calibration_curve(sets, X[200:], Y[200:], [0.2, 0.3])


def test_budgets_are_refused_where_the_promise_does_not_hold(sample):
    X, Y = sample
    guarantees = {
        "CVPlus": sl.guarantees.CVPlus(n_splits=20),
        "Weighted": sl.guarantees.Weighted(lambda X: np.ones(len(X))),
        "Mondrian": sl.guarantees.Mondrian(0),
    }
    for name, guarantee in guarantees.items():
        sets = sl.LossSet(LinearRegression())
        if name != "CVPlus":
            sets.fit(X[100:], Y[100:])
        sets.calibrate(X[:100], Y[:100], guarantee=guarantee)
        for show in (sl.plots.budget_table, sl.plots.budget_curve):
            with pytest.raises(InvalidParameter, match=f"Marginal or PAC.*{name}"):
                show(sets)


def test_calibration_table_by_hand(calibrated, sample):
    X, Y = sample
    table = sl.plots.calibration_table(calibrated, X[200:], Y[200:], [0.1])
    scores = np.sort(np.sum(Y[:200] ** 2, axis=1))
    covered = int(np.sum(np.sum(Y[200:] ** 2, axis=1) <= scores[181 - 1]))
    row = table.iloc[0]
    assert row["budget"] == pytest.approx(scores[181 - 1])
    assert (row["covered"], row["n"]) == (covered, 500)
    # Clopper and Pearson (1934), through the quantiles of the Beta law.
    assert row["low"] == pytest.approx(beta.ppf(0.025, covered, 500 - covered + 1))
    assert row["high"] == pytest.approx(beta.ppf(0.975, covered + 1, 500 - covered))


def test_calibration_table_counts_the_label_a_set_never_loses():
    probabilities = np.array([0.6, 0.4])
    sets = sl.LossSet(lambda X: np.tile(probabilities, (len(X), 1)), "cross_entropy")
    X, Y = np.zeros((100, 1)), np.repeat([0, 1], [60, 40])
    sets.calibrate(X, Y, alpha=0.1)
    table = sl.plots.calibration_table(sets, X, Y, [0.9])
    assert table["coverage"].iloc[0] == 0.6


def test_budget_curve_shows_its_table_and_the_infinite_region(calibrated):
    alphas = [0.001, 0.01, 0.1, 0.2]
    table = sl.plots.budget_table(calibrated, alphas)
    ax = sl.plots.budget_curve(calibrated, alphas)
    for name, line in zip(("Marginal", "PAC"), ax.lines, strict=True):
        rows = table[(table["guarantee"] == name) & np.isfinite(table["budget"])]
        drawn = rows[["alpha", "budget"]].to_numpy()
        np.testing.assert_array_equal(line.get_xydata(), drawn)
        assert line.get_label() == name
    marginal, pac = ax.patches
    # 200 scores: the marginal promise needs 999 at 0.001, PAC 299 at 0.01.
    assert marginal.get_x() + marginal.get_width() == 0.001
    assert pac.get_x() + pac.get_width() == 0.01
    wide = table[np.isfinite(table["budget"])].pivot(
        index="alpha", columns="guarantee", values="budget"
    )
    both = wide.dropna()
    assert (both["PAC"] >= both["Marginal"]).all()


def test_pac_budgets_use_the_confidence_that_was_calibrated(sample):
    X, Y = sample
    sets = sl.LossSet(lambda X: np.zeros((len(X), 2)))
    strict = sl.guarantees.PAC(delta=1e-4)
    sets.calibrate(X[:200], Y[:200], guarantee=strict)
    table = sl.plots.budget_table(sets, [0.1])
    assert table["budget"].iloc[1] == sets.budget_ > table["budget"].iloc[0]


def test_wrong_turns_are_told(calibrated, sample):
    X, Y = sample
    with pytest.raises(InvalidParameter, match="two different components of the 3"):
        sl.plots.plot_set(SETS["box"], components=(0, 0))
    with pytest.raises(InvalidParameter, match=r"got \(0, 3\)"):
        sl.plots.plot_set(SETS["box"], components=(0, 3))
    for drawn in (sl.plots.plot_set, sl.plots.set_table):
        with pytest.raises(InvalidParameter, match=r"got SetBatch.*batch\[0\]"):
            drawn(calibrated.predict_set(X[:3]))
    with pytest.raises(Unbounded, match="infinite"):
        sl.plots.plot_set(sl.sets.Sublevel("squared", [0.0, 0.0], np.inf))
    with pytest.raises(NotCalibrated, match="calibrate"):
        sl.plots.budget_curve(sl.LossSet(lambda X: X))
    with pytest.raises(InvalidParameter, match="strictly between 0 and 1"):
        sl.plots.budget_table(calibrated, alphas=[0.1, 1.0])
    grouped = sl.guarantees.Mondrian(0)
    calibrated.calibrate(X, Y, guarantee=grouped)
    with pytest.raises(InvalidParameter, match="one budget for every context"):
        sl.plots.calibration_curve(calibrated, X, Y)


def test_without_matplotlib_the_install_command_is_told():
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import sublevel as sl\n"
        "box = sl.sets.Box([0.0, 0.0], [1.0, 1.0])\n"
        "assert len(sl.plots.set_table(box)) > 0\n"
        "try:\n"
        "    sl.plots.plot_set(box)\n"
        "except sl.errors.MissingExtra as error:\n"
        "    print(error)\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "pip install 'sublevel[plots]'" in finished.stdout
