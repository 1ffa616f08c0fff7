"""The runner: what is finished is kept, what is damaged is computed again."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from reproduction.experiments import collect, runner
from reproduction.experiments.progress import Progress, progress
from reproduction.experiments.runner import Outcome, open_folder, require_all, run_all
from reproduction.experiments.settings import (
    EXPERIMENTS,
    EXTENTS,
    Cell,
    Extent,
    cells_of,
    problems_of,
)
from reproduction.experiments.store import Store
from reproduction.files import write_whole
from reproduction.paper import write
from sublevel.errors import CannotWrite, CellsFailed, InvalidParameter

SMALL = Extent("small", seeds=7, calibration=99, population=50)
CELLS = list(cells_of(("newsvendor",), SMALL))
#: Fast ones: the noisiest demand, a seed each.
SHORT = [Cell(EXPERIMENTS["newsvendor"].settings[4], (s,), SMALL) for s in range(6)]


@pytest.fixture
def counted(monkeypatch):
    """Cells that take no time; the list of those that were run."""
    run = []

    def fake(cell):
        run.append(cell.name)
        return [{"seed": seed, "rows": []} for seed in cell.seeds]

    monkeypatch.setattr(runner, "run_cell", fake)
    return run


def test_the_grid_is_the_papers():
    counts = {name: len(one.settings) for name, one in EXPERIMENTS.items()}
    assert counts == {"newsvendor": 5, "portfolio": 9, "shortest-path": 12}
    assert [cell.seeds for cell in CELLS[:2]] == [(0, 1, 2, 3, 4), (5, 6)]
    names = [cell.name for cell in cells_of(problems_of("all"), EXTENTS["full"])]
    assert len(set(names)) == len(names) == 26 * 4


def test_nothing_finished_is_run_again(counted, tmp_path):
    assert run_all(CELLS, tmp_path, jobs=1) == []
    assert len(counted) == len(CELLS)
    told = []
    assert run_all(CELLS, tmp_path, jobs=1, tell=told.append) == []
    assert len(counted) == len(CELLS)
    assert [outcome.number for outcome in told] == list(range(len(CELLS)))


@pytest.mark.parametrize("damage", ["half", "changed", "empty", "other run"])
def test_a_damaged_file_is_computed_again(counted, tmp_path, damage):
    run_all(CELLS, tmp_path, jobs=1)
    path = Store(tmp_path).path(CELLS[1])
    text = path.read_text()
    kept = json.loads(text)
    texts = {
        "half": text[: len(text) // 2],
        "changed": text.replace('"seed": 5', '"seed": 6'),
        "empty": "",
        "other run": json.dumps({**kept, "asked": "0"}),
    }
    assert texts[damage] != text
    path.write_text(texts[damage])
    run_all(CELLS, tmp_path, jobs=1)
    assert counted[len(CELLS) :] == [CELLS[1].name]
    assert path.read_text() == text


def test_one_failure_is_one_cells(monkeypatch, tmp_path):
    def fail(cell):
        if cell == CELLS[0]:
            raise ZeroDivisionError("no demand")
        return []

    monkeypatch.setattr(runner, "run_cell", fail)
    failures = run_all(CELLS, tmp_path, jobs=1)
    assert failures == [f"{CELLS[0].name}: ZeroDivisionError: no demand"]
    assert Store(tmp_path).load(CELLS[1]) == []
    with pytest.raises(CellsFailed, match="tries these again"):
        require_all(failures)


def test_a_number_that_is_none_is_a_failure(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "run_cell", lambda cell: [{"radius": float("nan")}])
    (failure,) = run_all(CELLS[:1], tmp_path, jobs=1)
    assert "not JSON compliant" in failure
    assert Store(tmp_path).load(CELLS[0]) is None


def test_results_do_not_depend_on_jobs_or_order(tmp_path):
    cells = SHORT[:2]
    run_all(cells, tmp_path / "one", jobs=1)
    run_all(cells[::-1], tmp_path / "two", jobs=2)
    for cell in cells:
        one, two = (Store(tmp_path / name).path(cell) for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_a_dask_scheduler_does_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster:
        address = cluster.scheduler_address
        assert run_all(SHORT[:2], tmp_path / "dask", scheduler=address) == []
    run_all(SHORT[:2], tmp_path / "here", jobs=1)
    for cell in SHORT[:2]:
        one, two = (Store(tmp_path / name).path(cell) for name in ("dask", "here"))
        assert one.read_bytes() == two.read_bytes()


def test_a_scheduler_that_is_not_there_is_told(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(InvalidParameter, match="Start one with `dask scheduler`"):
        run_all(SHORT[:1], tmp_path, scheduler="nowhere")


SCRIPT = """
from pathlib import Path
from reproduction.experiments import EXPERIMENTS, Cell, run_all
from reproduction.experiments.settings import Extent
small = Extent("small", 7, 99, 50)
cells = [Cell(EXPERIMENTS["newsvendor"].settings[4], (s,), small) for s in range(6)]
run_all(cells, Path({folder!r}), jobs=1)
"""


def test_a_killed_run_goes_on(tmp_path):
    folder, cells = tmp_path / "killed", SHORT
    script = SCRIPT.format(folder=str(folder))
    process = subprocess.Popen([sys.executable, "-c", script])
    deadline = time.monotonic() + 120
    while not list(folder.glob("newsvendor*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = {path: path.stat().st_mtime_ns for path in folder.glob("newsvendor*")}
    assert 0 < len(before) < len(cells)
    run_all(cells, folder, jobs=1)
    run_all(cells, tmp_path / "whole", jobs=1)
    assert all(path.stat().st_mtime_ns == then for path, then in before.items())
    pages = []
    for cut in (folder, tmp_path / "whole"):
        pages.append(tmp_path / f"pages-{cut.name}")
        write(collect(cells, cut, SMALL), pages[-1])
    names = sorted(path.name for path in pages[0].iterdir())
    assert {"report.html", "report.md", "report.json", "cells.csv"} <= set(names)
    for name in names:
        assert (pages[0] / name).read_bytes() == (pages[1] / name).read_bytes()


def test_progress_counts_cells_time_and_failures(capsys):
    with progress(CELLS[:4]) as tell:
        tell(Outcome(0, 0.0))  # was there already: says nothing about the pace
        tell(Outcome(1, 2.0))
        tell(Outcome(2, 2.0, "no demand"))
    lines = capsys.readouterr().err.split("\r")
    assert any("1 of 4 cells, 0 failed [00:00, ? left]" in line for line in lines)
    assert any("2 of 4 cells, 0 failed [00:00, 00:00 left]" in line for line in lines)
    assert any("3 of 4 cells, 1 failed" in line for line in lines)


def test_time_left_follows_what_cells_weigh():
    cells = list(cells_of(("newsvendor", "shortest-path"), EXTENTS["quick"]))
    shown = Progress(cells)
    for number in range(5):
        shown.add(Outcome(number, 60.0))
    # Twelve more settings, each as long as fourteen newsvendors.
    assert (shown.total - shown.run) / shown.run == pytest.approx(12 * 14 / 5)


def test_what_was_there_already_says_nothing_about_the_pace():
    shown, before = Progress(CELLS[:4]), Progress(CELLS[1:4])
    shown.add(Outcome(0, 0.0))
    assert (shown.run, shown.total) == (0, before.total)


def test_time_left_learns_how_long_a_problem_takes():
    cells = list(cells_of(("newsvendor", "shortest-path"), EXTENTS["quick"]))
    shown = Progress(cells)
    for number in range(5):
        shown.add(Outcome(number, 60.0))
    # Not fourteen newsvendors, as they weigh, but one.
    shown.add(Outcome(5, 60.0))
    assert shown.run == 6 * 60
    assert shown.total - shown.run == pytest.approx(11 * 60)


def test_errors_say_the_way_out(tmp_path, monkeypatch):
    with pytest.raises(InvalidParameter, match="newsvendor, portfolio, shortest-path"):
        problems_of("bakery")
    with pytest.raises(InvalidParameter, match="at least 99"):
        Extent("small", seeds=1, calibration=98)
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="another folder with --out"):
        open_folder(tmp_path / "file", SMALL)

    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(CannotWrite, match=r"No space left on device. Free some space"):
        write_whole(tmp_path / "cell.json", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]
