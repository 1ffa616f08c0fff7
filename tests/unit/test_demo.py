"""The demonstration: facts first, then the same facts on every page."""

import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from sublevel.cli import app
from sublevel.demo import console as console_module
from sublevel.demo import facts as facts_module
from sublevel.demo import report as report_module
from sublevel.demo import show, write
from sublevel.demo.report import COLUMNS, CURVES, cells
from sublevel.demo.shop import BUSIEST, days
from sublevel.guarantees import PAC, Marginal


@pytest.fixture(scope="module")
def small():
    patch = pytest.MonkeyPatch()
    sizes = {"training": 150, "calibration": 80, "test": 200}
    patch.setattr(facts_module, "SIZES", sizes)
    patch.setattr(facts_module, "MEASURED", 10)
    yield facts_module.collect(seed=1)
    patch.undo()


@pytest.fixture(scope="module")
def report(small, tmp_path_factory):
    paths = write(small, tmp_path_factory.mktemp("report"))
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def test_every_model_meets_both_guarantees(small):
    met = {(row["model"], row["loss"], row["guarantee"]) for row in small["rows"]}
    assert len(met) == len(small["rows"]) == 18
    for marginal, pac in zip(small["rows"][::2], small["rows"][1::2], strict=True):
        assert (marginal["guarantee"], pac["guarantee"]) == ("Marginal", "PAC")
        assert pac["budget"] >= marginal["budget"]
        assert pac["violation"] <= marginal["violation"]


def test_facts_are_coherent(small):
    for row in small["rows"]:
        assert row["low"] <= row["violation"] <= row["high"]
        assert (row["half_width"] is None) == (row["predicts"] == "busiest")
        assert (row["labels"] is None) == (row["predicts"] == "demand")
        if row["loss"] == "squared":
            assert row["radius"] == pytest.approx(np.sqrt(row["budget"]))
    # The forest has seen its training days: their residuals promise nothing.
    assert small["control"]["low"] > small["alpha"]
    assert f"{small['control']['violation']:.0%} of the days" in small["summary"]


def test_every_page_has_the_same_facts(small, report):
    assert json.loads(report["report.json"]) == small
    for row in small["rows"]:
        assert "| " + " | ".join(cells(row)) + " |" in report["report.md"]
        for cell in cells(row):
            shown = cell.replace("<", "&lt;").replace("'", "&#39;")
            assert f"<td>{shown}</td>" in report["report.html"]
    assert small["summary"] in report["report.md"]
    for word, meaning in small["verdicts"].items():
        assert f"- *{word}*: {meaning}" in report["report.md"]
        assert f"<dt>{word}</dt>" in report["report.html"]
    assert all(f"<th>{column}</th>" in report["report.html"] for column in COLUMNS)


def test_the_page_needs_nothing_else(report):
    page = report["report.html"]
    assert page.count("<svg") == 1
    assert "src=" not in page
    assert "<link" not in page
    assert "<script" not in page


@pytest.mark.parametrize(
    "guarantee, outside, verdict",
    [
        (Marginal(), 90, "agrees"),
        (Marginal(), 125, "in range"),
        (Marginal(), 200, "refuted"),
        (PAC(), 100, "agrees"),
        (PAC(), 125, "refuted"),
    ],
)
def test_verdicts(guarantee, outside, verdict):
    certificate = guarantee.calibrate(np.arange(500.0), alpha=0.1).certificate
    violated = np.arange(1000) < outside
    assert facts_module._verdict(violated, certificate) == verdict
    assert verdict in facts_module._verdicts()


def test_no_draw_is_said_to_keep_an_average(small):
    rows = [row | {"verdict": "in range"} for row in small["rows"]]
    summary = facts_module._summary(small | {"rows": rows})
    assert "none of the 18 promises is contradicted" in summary
    assert "were kept" not in summary
    rows[0]["verdict"] = "refuted"
    summary = facts_module._summary(small | {"rows": rows})
    assert "1 of the 18 promises is contradicted" in summary


@pytest.mark.parametrize("width", [80, 100])
def test_no_cell_is_broken_over_lines(small, width):
    # The widest of everything a row can hold.
    wide = {"violation": 0.118, "low": 0.108, "high": 0.129, "verdict": "in range"}
    rows = [row | wide for row in small["rows"]]
    page = io.StringIO()
    show(small | {"rows": rows}, Console(file=page, width=width))
    lines = page.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    head = next(i for i, line in enumerate(lines) if line.startswith("model"))
    assert lines[head].split() == " ".join(console_module.COLUMNS).split()
    for row in rows:
        whole = r"\s+".join(map(re.escape, console_module.cells(row)))
        assert sum(bool(re.match(whole, line)) for line in lines) == 1
    # The words of the verdicts are explained next to the table.
    text = " ".join(page.getvalue().split())
    for word, meaning in small["verdicts"].items():
        assert f"{word}: {meaning}" in text


def test_the_figure_names_its_curves(small, monkeypatch):
    figures = []
    monkeypatch.setattr(
        "matplotlib.figure.Figure.savefig",
        lambda figure, buffer, **_: (figures.append(figure), buffer.write("<svg")),
    )
    report_module._figure(small)
    left, middle, right = figures[0].axes
    drawn = [line.get_label() for line in middle.lines[1:]]
    assert drawn == [", ".join(name) for name in CURVES]
    for ax in (left, middle, right):
        texts = [*ax.get_legend().get_texts(), *ax.get_yticklabels(), ax.title]
        assert min(text.get_fontsize() for text in texts) >= 8
    # No flat line: a curve that cannot fall is left out.
    for line in middle.lines[1:]:
        promised, coverage = line.get_data()
        assert np.ptp(coverage) > 0.5 * np.ptp(promised)


def test_days_are_seeded_and_named():
    one, two = (days(50, np.random.default_rng(3)) for _ in range(2))
    assert one.X.equals(two.X)
    assert one.demand.equals(two.demand)
    assert set(one.busiest) <= set(BUSIEST)
    assert list(one.demand.columns) == ["bread", "salad", "drinks"]


def test_command_prints_and_writes(small, tmp_path, monkeypatch):
    monkeypatch.setattr("sublevel.demo.collect", lambda seed: small | {"seed": seed})
    told = []
    monkeypatch.setattr(
        "sublevel.demo.show_problem", lambda *all: told.append(all[:3]) or []
    )
    command = ["demo", "--out", str(tmp_path / "here"), "--seed", "5"]
    finished = CliRunner().invoke(app, command)
    assert finished.exit_code == 0, finished.output
    assert "Logistic" in finished.output
    written = json.loads((tmp_path / "here" / "report.json").read_text())
    assert written["seed"] == 5
    assert told == [("portfolio", 5, tmp_path / "here" / "portfolio")]


def test_module_is_the_command():
    finished = subprocess.run(
        [sys.executable, "-m", "sublevel", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "demo" in finished.stdout


def test_without_typer_the_install_command_is_told():
    program = "import sys; sys.modules['typer'] = None; import sublevel.cli"
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 1
    assert "pip install 'sublevel[report]'" in finished.stderr


def test_the_newsvendor_realises_what_its_orders_cost():
    from sublevel.demo.problem_models import DEMANDS, HOLDING, ORDER, SHORT, model_of

    model = model_of("newsvendor")
    X, Y = model.draw(np.random.default_rng(0), 300)
    sets = model.sets.fit(X[:200], Y[:200]).calibrate(X[200:260], Y[200:260])
    policy = model.build(sets).compile()
    order = policy.decide(X[260:]).value("order")
    demand = np.where(
        np.asarray(Y[260:]).ravel() == "high", DEMANDS.max(), DEMANDS.min()
    )
    cost = ORDER * order + SHORT * np.maximum(demand - order, 0)
    cost += HOLDING * np.maximum(order - demand, 0)
    np.testing.assert_allclose(policy.evaluate(X[260:], Y[260:]).realised, cost)
