"""The demonstration: facts first, then the same facts on every page."""

import json
import re

import numpy as np
import pytest
from click import unstyle
from typer.testing import CliRunner

from reproduction import report as pipeline
from reproduction.commands import app
from reproduction.demo import facts as facts_module
from reproduction.demo import sets
from reproduction.demo.figures import figures
from reproduction.demo.shop import BUSIEST, days
from reproduction.demo.table import COLUMNS, violations
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
    folder = tmp_path_factory.mktemp("report")
    paths = pipeline.write(sets.page(small), small, folder)
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
    for row in violations(small).rows:
        texts = [entry.text for entry in row]
        assert "| " + " | ".join(texts) + " |" in report["report.md"]
        for text in texts:
            assert f">{text.replace('<', '&lt;')}</td>" in report["report.html"]
    assert small["summary"] in report["report.md"]
    for word, meaning in small["verdicts"].items():
        assert f"- **{word}**: {meaning}" in report["report.md"]
        assert f"<dt><b>{word}</b></dt>" in report["report.html"]
    assert all(
        f">{column}</button></th>" in report["report.html"] for column in COLUMNS
    )


def test_the_page_needs_nothing_else(report):
    page = report["report.html"]
    assert page.count("<svg") == 3 + 1 + 1
    assert re.findall(r'(?:src|href)="(?!#|data:)', page) == []


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
    lines = [unstyle(line) for line in sets.lines(small | {"rows": rows}, width)]
    assert max(map(len, lines)) <= width
    head = next(i for i, line in enumerate(lines) if line.startswith("model"))
    assert lines[head].split() == " ".join(sets.HEADS).split()
    table = violations(small | {"rows": rows})
    columns = [COLUMNS.index(column) for column in sets.HEADS]
    for row in table.rows:
        whole = r"\s+".join(re.escape(row[column].text.strip()) for column in columns)
        assert sum(bool(re.fullmatch(whole, line)) for line in lines) == 1
    # The words of the verdicts are explained next to the table.
    text = " ".join(" ".join(lines).split())
    for word, meaning in small["verdicts"].items():
        assert f"{word}: {meaning}" in text


def test_what_is_refuted_is_red(small):
    rows = [row | {"verdict": "agrees"} for row in small["rows"]]
    kept = small | {"rows": rows}
    assert not any("\x1b[31m" in line for line in sets.lines(kept, 80))
    refuted = {"verdict": "refuted"}
    changed = small | {"rows": [*rows[:3], rows[3] | refuted, *rows[4:]]}
    (red,) = [line for line in sets.lines(changed, 80) if "\x1b[31m" in line]
    assert red.startswith(f"\x1b[31m{rows[3]['model']}")
    assert violations(changed).fared.count("bad") == 1
    drawn = [figures(f)[2].panels[0].count("var(--red)") for f in (kept, changed)]
    assert drawn == [0, 3]  # an interval, and the edge and fill of its dot


def test_the_figures_have_every_model_of_numbers(small):
    outlines, coverage, violated = figures(small)
    assert all(panel.count("<polyline") == 2 for panel in outlines.panels)
    (curves,) = coverage.panels
    numeric = [one for one in small["curves"] if one["predicts"] != "busiest"]
    assert curves.count("<circle") == sum(len(one["promised"]) for one in numeric)
    for one in numeric:
        at = f"promised {one['promised'][0]:.1%}, realised {one['coverage'][0]:.1%}"
        assert f"{one['model']}, {one['loss']}: {at}" in curves
    # No flat line: a curve that cannot fall is left out.
    assert "Logistic, cross_entropy" not in curves
    (intervals,) = violated.panels
    assert intervals.count("<circle") == 18
    assert "Logistic, cross_entropy, PAC" in intervals


def test_one_band_is_every_models(small):
    numeric = [one for one in small["curves"] if one["predicts"] != "busiest"]
    for edge in ("band_low", "band_high"):
        assert all(one[edge] == numeric[0][edge] for one in numeric)


def test_days_are_seeded_and_named():
    one, two = (days(50, np.random.default_rng(3)) for _ in range(2))
    assert one.X.equals(two.X)
    assert one.demand.equals(two.demand)
    assert set(one.busiest) <= set(BUSIEST)
    assert list(one.demand.columns) == ["bread", "salad", "drinks"]


def test_command_prints_and_writes(small, tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "collect", lambda seed: small | {"seed": seed})
    asked = []
    monkeypatch.setattr(
        "reproduction.demo.show_problem", lambda *all: asked.append(all[:3]) or []
    )
    command = ["demo", "--out", str(tmp_path / "here"), "--seed", "5"]
    finished = CliRunner().invoke(app, command)
    assert finished.exit_code == 0, finished.output
    assert "Logistic" in finished.output
    written = json.loads((tmp_path / "here" / "report.json").read_text())
    assert written["seed"] == 5
    assert asked == [("portfolio", 5, tmp_path / "here" / "portfolio")]


def test_the_newsvendor_realises_what_its_orders_cost():
    from reproduction.demo.problem_models import (
        DEMANDS,
        HOLDING,
        ORDER,
        SHORT,
        model_of,
    )

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
