"""The runner: what is finished is kept, what is damaged is computed again."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from sublevel.errors import CannotWrite, CellsFailed, InvalidParameter
from sublevel.experiments import runner
from sublevel.experiments.runner import open_folder, require_all, run_all
from sublevel.experiments.settings import (
    EXPERIMENTS,
    EXTENTS,
    Cell,
    Extent,
    cells_of,
    problems_of,
)
from sublevel.experiments.store import Store, write_whole

SMALL = Extent("small", seeds=7, calibration=40, population=50)
CELLS = list(cells_of(("newsvendor",), SMALL))


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


def test_results_do_not_depend_on_jobs_or_order(tmp_path):
    cells = [Cell(CELLS[0].setting, (0, 1), SMALL), Cell(CELLS[2].setting, (0,), SMALL)]
    run_all(cells, tmp_path / "one", jobs=1)
    run_all(cells[::-1], tmp_path / "two", jobs=2)
    for cell in cells:
        one, two = (Store(tmp_path / name).path(cell) for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_a_killed_run_goes_on(tmp_path):
    script = (
        "from pathlib import Path; from sublevel.experiments import *;"
        "from sublevel.experiments.settings import Extent;"
        "cells = list(cells_of(('newsvendor',), Extent('small', 7, 40, 50)));"
        f"run_all(cells, Path({str(tmp_path / 'killed')!r}), jobs=1)"
    )
    process = subprocess.Popen([sys.executable, "-c", script])
    folder, deadline = tmp_path / "killed", time.monotonic() + 120
    while time.monotonic() < deadline:
        if len(list(folder.glob("newsvendor*"))) >= 2:
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = {path: path.stat().st_mtime_ns for path in folder.glob("newsvendor*")}
    assert len(before) >= 2
    run_all(CELLS, folder, jobs=1)
    run_all(CELLS, tmp_path / "whole", jobs=1)
    for cell in CELLS:
        path, whole = (Store(f).path(cell) for f in (folder, tmp_path / "whole"))
        assert path.read_bytes() == whole.read_bytes()
    assert all(path.stat().st_mtime_ns == then for path, then in before.items())


def test_errors_say_the_way_out(tmp_path, monkeypatch):
    with pytest.raises(InvalidParameter, match="newsvendor, portfolio, shortest-path"):
        problems_of("bakery")
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="another folder with --out"):
        open_folder(tmp_path / "file", SMALL)

    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(CannotWrite, match=r"No space left on device. Free some space"):
        write_whole(tmp_path / "cell.json", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]
