"""The command line: what it writes, and one sentence for what goes wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import pytest
from typer.testing import CliRunner

import sublevel
from reproduction.commands import INTERRUPTED, MISUSED, app
from reproduction.demo import problem_models
from reproduction.experiments import EXPERIMENTS, EXTENTS, needed, runner
from reproduction.experiments.settings import Extent
from sublevel.errors import MissingExtra

NEWSVENDOR = EXPERIMENTS["newsvendor"]
SMALL = Extent("quick", seeds=2, calibration=99, population=50)


@pytest.fixture
def small(monkeypatch):
    """One setting of the newsvendor, two seeds."""
    monkeypatch.setitem(EXPERIMENTS, "newsvendor", replace(NEWSVENDOR, noises=(0.5,)))
    monkeypatch.setitem(EXTENTS, "quick", SMALL)


def invoke(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def test_reproduce_writes_every_page_and_says_what_to_use(small, tmp_path):
    result = invoke("reproduce", "newsvendor", "--jobs", 1, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "Use the decision-aware calibration" in result.output
    assert "1 of 1 cells" in result.output
    written = {path.name for path in tmp_path.iterdir()}
    assert {"report.html", "report.md", "report.json", "cells.csv"} <= written
    facts = json.loads((tmp_path / "report.json").read_text())
    assert facts["extent"]["seeds"] == 2
    assert len(facts["problems"][0]["cells"]) == 13
    again = invoke("reproduce", "newsvendor", "--jobs", 1, "--out", tmp_path)
    assert ", ? left]" in again.output  # nothing had to be run: no pace is known
    assert "1 of 1 cells, 0 failed [00:00, 0" not in again.output


def test_the_version_is_the_packages():
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.output == f"sublevel {sublevel.__version__}\n"


@pytest.mark.parametrize("words", [["bake"], ["reproduce", "all", "--jobs", "0"]])
def test_wrong_words_have_one_exit_code(words):
    assert invoke(*words).exit_code == MISUSED


@pytest.mark.parametrize("command", ["reproduce bakery", "demo --problem bakery"])
def test_an_unknown_problem_is_named(command, tmp_path):
    result = invoke(*command.split(), "--out", tmp_path)
    assert result.exit_code == MISUSED
    (line,) = result.output.splitlines()
    assert "newsvendor, portfolio, shortest-path" in line
    assert "'bakery'" in line


def test_a_folder_that_cannot_be_written_is_told_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    result = invoke("reproduce", "newsvendor", "--out", tmp_path / "file")
    assert result.exit_code == 1
    (line,) = result.output.splitlines()
    assert f"{tmp_path / 'file'}" in line
    assert "choose another folder with --out" in line


def test_a_full_disk_keeps_what_is_finished(small, tmp_path, monkeypatch):
    def no_space(descriptor):
        raise OSError(28, "No space left on device")

    def then_full(*words):
        monkeypatch.setattr(os, "fsync", no_space)
        return []

    monkeypatch.setattr(runner, "run_cell", then_full)
    result = invoke("reproduce", "newsvendor", "--jobs", 1, "--out", tmp_path)
    assert result.exit_code == 1
    last = result.output.splitlines()[-1]
    assert "No space left on device. Free some space" in last
    assert "What is finished is kept" in last
    assert list((tmp_path / "cells-quick").iterdir()) == []


def test_a_failed_cell_is_named_and_tried_again(small, tmp_path, monkeypatch):
    def fail(cell):
        raise ZeroDivisionError("no demand")

    monkeypatch.setattr(runner, "run_cell", fail)
    result = invoke("reproduce", "newsvendor", "--jobs", 1, "--out", tmp_path)
    assert result.exit_code == 1
    assert "1 failed" in result.output
    last = result.output.splitlines()[-1]
    assert "ZeroDivisionError: no demand" in last
    assert "the same command tries these again" in last


def test_missing_packages_are_told_before_the_work(monkeypatch, tmp_path):
    def find(name):
        return None if name in ("torch", "jinja2") else name

    monkeypatch.setattr(needed, "find_spec", find)
    for problem, extras in (("portfolio", "report,torch"), ("newsvendor", "report")):
        result = invoke("reproduce", problem, "--out", tmp_path)
        assert result.exit_code == 1
        (line,) = result.output.splitlines()
        assert f"pip install 'sublevel[{extras}]'" in line
    with pytest.raises(MissingExtra):
        needed.require_packages(("newsvendor",))
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_run_says_how_to_go_on(tmp_path):
    words = ["reproduce", "newsvendor", "--jobs", "1", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "sublevel", *words],
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests may be deaf to interrupts, and children inherit that.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("cells-*/news*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    words = process.communicate(timeout=60)[1]
    assert process.returncode == INTERRUPTED
    assert "the same command goes on from there" in words.splitlines()[-1]
    assert "Traceback" not in words


@pytest.mark.parametrize("problem", ["newsvendor", "portfolio"])
def test_a_demonstration_of_one_problem(problem, tmp_path, monkeypatch):
    if problem == "portfolio":
        pytest.importorskip("torch", reason="the portfolio's networks are torch's")
    small = replace(problem_models.model_of(problem), test=40)
    monkeypatch.setattr("reproduction.demo.problem.model_of", lambda name: small)
    monkeypatch.setitem(EXTENTS, "quick", SMALL)
    result = invoke("demo", "--problem", problem, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "the decision keeps its promise" in result.output
    assert "Audit, worst cases found again from the sets: passed" in result.output
    assert (tmp_path / problem / "report.html").exists()
    assert max(map(len, result.output.splitlines()[:-1])) <= 80


def test_without_torch_a_demonstration_still_decides(tmp_path, monkeypatch):
    small = replace(problem_models.model_of("portfolio"), test=20)
    monkeypatch.setattr("reproduction.demo.problem.model_of", lambda name: small)
    monkeypatch.setattr(needed, "find_spec", lambda name: None)
    result = invoke("demo", "--problem", "portfolio", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "the decision keeps its promise" in result.output
    assert "No report page. The experiments need jinja2 and torch" in result.output
    assert not (tmp_path / "portfolio" / "report.html").exists()


def test_a_demo_into_a_file_says_so_before_the_work(tmp_path, monkeypatch):
    def work(*words):
        raise AssertionError("the folder was not tried first")

    monkeypatch.setattr("reproduction.demo.show_sets", work)
    monkeypatch.setattr("reproduction.demo.show_problem", work)
    (tmp_path / "file").write_text("")
    for words in ([], ["--problem", "newsvendor"]):
        result = invoke("demo", *words, "--out", tmp_path / "file")
        assert result.exit_code == 1
        (line,) = result.output.splitlines()
        assert "--out" in line


def test_a_folder_that_cannot_be_written_to_is_told_before_measuring(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("reproduction.commands.run_path", pytest.fail)
    (tmp_path / "taken").write_text("")
    finished = CliRunner().invoke(app, ["bench", "--out", str(tmp_path / "taken")])
    assert finished.exit_code == 1
    assert "cannot be written to" in finished.output
    assert "Traceback" not in finished.output
