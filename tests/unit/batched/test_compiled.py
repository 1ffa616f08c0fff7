"""What is compiled is kept on disk where it can be, and is never of another version."""

import inspect
import subprocess
import sys

import pytest

pytest.importorskip("numba")

from sublevel.conic.batched import iterate, symbolic, units
from sublevel.conic.compiled import SOURCES

MODULE = """
from numba import njit
from sublevel.conic.compiled import compiled

def more(x):
    return x + 1

try:
    njit(cache=True)(more)
except RuntimeError:
    print("nowhere", compiled(more)(1))
"""


def test_without_a_folder_to_write_to(tmp_path):
    """A file where the folder would be is as good as a folder without rights."""
    (tmp_path / "own.py").write_text(MODULE)
    (tmp_path / "__pycache__").write_text("")
    places = dict.fromkeys(
        ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR"),
        str(tmp_path / "own.py" / "below"),
    )
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))} | places
    ended = subprocess.run(
        [sys.executable, "-B", "-c", "import own"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.split() == ["nowhere", "2"]


@pytest.mark.parametrize(
    "function",
    [
        iterate.iterate,
        symbolic.eliminate,
        symbolic.firm_pivots,
        symbolic.postpone,
        units._sweep_all,
    ],
)
def test_what_is_kept_is_looked_up_by_all_sources(function):
    """Numba looks at the date of one file only."""
    last = list(inspect.signature(function.py_func).parameters.values())[-1]
    assert (last.name, last.default) == ("sources", SOURCES)
