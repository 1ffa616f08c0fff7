"""`import sublevel` is cheap: nothing optional comes with it."""

import subprocess
import sys

# jinja2 is not here: OSQP, which CVXPY imports, brings it.
OPTIONAL = ["torch", "matplotlib", "typer", "lightgbm", "dask", "pyomo", "reproduction"]

PROGRAM = """
import sys
import sublevel
print([name for name in {names} if name in sys.modules])
"""


def loaded(names):
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(names=names)],
        capture_output=True,
        text=True,
        check=True,
    )
    return finished.stdout.strip()


def test_import_brings_no_optional_dependency():
    assert loaded(OPTIONAL) == "[]"


def test_the_check_sees_what_is_imported():
    assert loaded(["cvxpy", "sklearn"]) == "['cvxpy', 'sklearn']"
