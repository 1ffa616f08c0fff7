"""The command of the library: found when asked for, or what to install instead."""

import subprocess
import sys

import pytest

import sublevel


def run(program):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


def test_module_is_the_command():
    finished = subprocess.run(
        [sys.executable, "-m", "sublevel", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "demo" in finished.stdout
    assert "reproduce" in finished.stdout


@pytest.mark.parametrize("missing", ["typer", "reproduction"])
def test_what_is_missing_is_named_in_a_sentence(missing):
    hide = f"import sys; sys.modules[{missing!r}] = None; "
    finished = run(hide + "from sublevel.cli import app; app()")
    assert finished.returncode == 1
    (line,) = finished.stderr.splitlines()
    assert missing in line
    assert "'sublevel[report,torch]'" in line


def test_the_version_is_told_without_extras():
    hide = "import sys; sys.modules['typer'] = None; sys.argv = ['', '--version']; "
    finished = run(hide + "from sublevel.cli import app; app()")
    assert finished.returncode == 0
    assert finished.stdout == f"sublevel {sublevel.__version__}\n"


def test_another_fault_is_not_taken_for_a_missing_package():
    hide = "import sys; sys.modules['sublevel.errors'] = None; "
    finished = run("import sublevel; " + hide + "from sublevel.cli import app; app()")
    assert finished.returncode == 1
    assert "Traceback" in finished.stderr


def test_the_library_does_without_the_laboratory():
    hide = "import sys; sys.modules['reproduction'] = None; "
    modules = (
        "baselines",
        "drift",
        "models",
        "models.nets",
        "plots",
        "testing",
        "theory",
    )
    imports = "; ".join(f"import sublevel.{name}" for name in modules)
    assert run(hide + imports).returncode == 0
