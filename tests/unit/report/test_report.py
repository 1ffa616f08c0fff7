"""The report: the same facts on every page, on a small run of all problems."""

import csv
import json
import re

import pytest

from sublevel import report
from sublevel.experiments import EXPERIMENTS, Cell, collect, run_all
from sublevel.experiments.settings import Extent
from sublevel.report.panel import linear
from sublevel.report.tables import tables

SMALL = Extent("quick", seeds=2, calibration=120, population=60)


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    cells = [
        Cell(EXPERIMENTS["newsvendor"].settings[3], (0, 1), SMALL),
        Cell(EXPERIMENTS["portfolio"].settings[2], (0, 1), SMALL),
    ]
    folder = tmp_path_factory.mktemp("cells")
    assert run_all(cells, folder, jobs=1) == []
    return collect(cells, folder, SMALL)


@pytest.fixture(scope="module")
def pages(facts, tmp_path_factory):
    paths = report.write(facts, tmp_path_factory.mktemp("report"))
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def test_the_facts_are_plain_data(facts, pages):
    assert json.loads(pages["report.json"]) == facts
    portfolio = facts["problems"][1]
    assert {row["method"] for row in portfolio["promises"]} == {
        "MSE, paper", "MSE, Th. 3.1", "MSE, decision-aware",
        "MSEV, paper", "MSEV, Th. 3.1", "MSEV, decision-aware",
        "Classical", "kNN", "Predict, then calibrate", "Predict, then optimise", "SPO+",
    }  # fmt: skip
    assert len(portfolio["headroom"]) == 6
    for row in portfolio["headroom"]:
        assert row["aware"] < row["proved"] < row["paper"]


def test_every_page_has_the_same_tables(facts, pages):
    found = list(csv.DictReader(pages["cells.csv"].splitlines()))
    assert len(found) == sum(len(one["cells"]) for one in facts["problems"])
    for problem in facts["problems"]:
        for table in tables(problem):
            assert table.title in pages["report.html"]
            for row in table.rows:
                line = "| " + " | ".join(entry.text for entry in row) + " |"
                assert line in pages["report.md"]
    for name, said in facts["assumptions"].items():
        assert f"**{name}** ({said['promise']})" in pages["report.md"]
    assert facts["versions"]["numpy"] in pages["report.html"]


def test_broken_promises_are_red(facts, tmp_path):
    text = json.dumps(facts).replace('"verdict": "kept"', '"verdict": "broken"')
    report.write(json.loads(text), tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert page.count('<tr class="bad">') > 100
    assert "Shown in red" in page
    assert ".bad td { color: #b00020" in page


def test_the_page_needs_nothing_else(pages):
    page = pages["report.html"]
    assert re.findall(r'(?:src|href)="(?!#|data:)', page) == []
    assert "@import" not in page
    assert "url(" not in page


def test_ticks_are_round_and_inside():
    axis = linear("y", [-0.37, 12.1])
    assert [value for value, _ in axis.ticks] == [0.0, 5.0, 10.0]
    assert axis.place(-0.37) > 0
    assert axis.place(12.1) < 1
