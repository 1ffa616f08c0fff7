"""The report: the same facts on every page, on a small run of all problems."""

import csv
import json
import re

import pytest
from click import unstyle

from reproduction import paper
from reproduction.experiments import EXPERIMENTS, Cell, collect, run_all
from reproduction.experiments.promises import PROMISES
from reproduction.experiments.settings import Extent
from reproduction.paper.families import FAMILIES
from reproduction.paper.overview import broken, lead
from reproduction.paper.tables import tables
from reproduction.report import linear

SMALL = Extent("quick", seeds=2, calibration=120, population=60)


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    pytest.importorskip("torch", reason="the portfolio's networks are torch's")
    cells = [
        Cell(EXPERIMENTS["newsvendor"].settings[3], (0, 1), SMALL),
        Cell(EXPERIMENTS["portfolio"].settings[2], (0, 1), SMALL),
    ]
    folder = tmp_path_factory.mktemp("cells")
    assert run_all(cells, folder, jobs=1) == []
    return collect(cells, folder, SMALL)


@pytest.fixture(scope="module")
def pages(facts, tmp_path_factory):
    paths = paper.write(facts, tmp_path_factory.mktemp("report"))
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
    cells = list(csv.DictReader(pages["cells.csv"].splitlines()))
    assert len(cells) == sum(len(one["cells"]) for one in facts["problems"])
    for problem in facts["problems"]:
        for table in tables(problem):
            assert table.title in pages["report.html"]
            for row in table.rows:
                line = "| " + " | ".join(entry.text for entry in row) + " |"
                assert line in pages["report.md"]
    for name, assumed in facts["assumptions"].items():
        assert f"**{name} ({assumed['promise']})**" in pages["report.md"]
    assert facts["versions"]["numpy"] in pages["report.html"]


def test_broken_promises_are_red(facts, tmp_path):
    text = json.dumps(facts).replace('"verdict": "kept"', '"verdict": "broken"')
    paper.write(json.loads(text), tmp_path)
    page = (tmp_path / "report.html").read_text()
    rows = [
        (problem["problem"], row["method"])
        for problem in facts["problems"]
        for row in problem["promises"]
        if row["promise"] != "none"
    ]
    off = [row for p in facts["problems"] for row in p["cells"] + p["headroom"]]
    red = [row for row in off if row["verdict"] in ("differs", "other order", "missed")]
    families = {f.title for f in FAMILIES for _, name in rows if name in f.members}
    # A row for each promise, one for each method of a problem, one for each family.
    assert len(rows) > 30
    expected = len(rows) + len(set(rows)) + len(families) + len(red)
    assert page.count('<tr class="bad">') == expected
    assert page.count("broke its claim in") == len(set(rows))
    assert ".bad td { color: var(--bad)" in page


def test_long_tables_are_folded_with_what_is_red_in_them(facts, tmp_path):
    changed = json.loads(json.dumps(facts))
    rows = changed["problems"][1]["promises"]
    for row in rows[:3]:
        row["verdict"] = "broken"
    paper.write(changed, tmp_path)
    page = (tmp_path / "report.html").read_text()
    title = f"<summary>Every method, setting and level ({len(rows)} rows, "
    assert title + '<span class="red">3 red</span>)</summary>' in page
    assert "<h3>Which method keeps its promise</h3>" in page


def test_every_method_belongs_to_one_family(facts):
    members = [name for family in FAMILIES for name in family.members]
    assert sorted(members) == sorted(PROMISES)
    assert sum(len(family.rows(facts)) for family in FAMILIES) == sum(
        len(problem["promises"]) for problem in facts["problems"]
    )


def test_the_lead_has_the_numbers(facts):
    ours = [
        row["violation"]
        for problem in facts["problems"]
        for row in problem["promises"]
        if row["method"].endswith("decision-aware") and row["alpha"] == 0.1
    ]
    assert f"it delivered {sum(ours) / len(ours):.1%}" in lead(facts)
    factors = [row["factor"] for row in facts["problems"][1]["headroom"]]
    assert f"{min(factors):.1f} to {max(factors):.1f} times smaller" in lead(facts)


def test_a_broken_claim_is_told_at_its_worst(facts):
    changed = json.loads(json.dumps(facts))
    rows = [r for r in changed["problems"][1]["promises"] if r["method"] == "Classical"]
    for row, rate in zip(rows, (0.2, 0.2, 0.03), strict=True):
        row.update(verdict="broken", violation=rate)
    (line,) = broken(changed)
    assert line == (
        "Classical broke its claim in 3 cases of the portfolio: at worst 20.0% instead "
        "of 5% (N = 1000, noise 1)."
    )


def test_the_terminal_has_the_same_facts_in_80_columns(facts):
    # As many promises as all settings have.
    many = [
        {**problem, "promises": 20 * problem["promises"]}
        for problem in facts["problems"]
    ]
    rows = unstyle("\n".join(paper.digest({**facts, "problems": many}))).splitlines()
    assert re.search(r"kept in \d{3} of \d{3}", " ".join(rows))
    assert max(map(len, rows)) <= 80
    lines = unstyle("\n".join(paper.digest(facts))).splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(lines).replace("  ", " ").count("Decision-aware (ours)") == 1
    assert any(line.startswith("Portfolio") for line in lines)


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
