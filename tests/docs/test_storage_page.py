"""The benchmark's page has the tables that its commands print."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
PAGE = ROOT / "docs" / "explanation" / "storage-benchmark.md"


def printed(script, call, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(BENCH))
    call(runpy.run_path(str(BENCH / script)))
    return [line.rstrip() for line in capsys.readouterr().out.splitlines() if line]


@pytest.mark.parametrize(
    ("script", "call"),
    [
        ("storage.py", lambda names: names["show"](shift=False)),
        ("storage.py", lambda names: names["show"](shift=True)),
        ("storage.py", lambda names: names["show_resplits"]()),
        ("storage_drift.py", lambda names: names["show"]()),
        ("shapes.py", lambda names: [names["show"](n) for n in names["PROBLEMS"]]),
    ],
    ids=["no shift", "shift", "resplits", "drift", "known laws"],
)
def test_every_line_of_the_table_is_on_the_page(script, call, monkeypatch, capsys):
    lines = printed(script, call, monkeypatch, capsys)
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert lines
    assert [line for line in lines if line not in page] == []


def test_a_changed_number_is_seen(monkeypatch, capsys):
    lines = printed("storage_drift.py", lambda n: n["show"](), monkeypatch, capsys)
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert any(line.replace("0.1", "0.7") not in page for line in lines)
