"""What `make oldest` installs is what pyproject.toml allows at least."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def lower_bounds(pyproject):
    """Every requirement of the library and its extras, but torch, site and tools."""
    project = tomllib.loads(pyproject)["project"]
    extras = project["optional-dependencies"]
    kept = [extras[name] for name in extras if name not in ("torch", "docs", "dev")]
    every = [*project["dependencies"], *(one for extra in kept for one in extra)]
    # A constraint names a package without its extras.
    return sorted(re.sub(r"\[.*\]", "", one) for one in every)


def pinned(constraints):
    lines = [line for line in constraints.splitlines() if not line.startswith("#")]
    return sorted(line.replace("==", ">=", 1) for line in lines)


def test_the_oldest_versions_are_the_lower_bounds():
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    constraints = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8")
    assert pinned(constraints) == lower_bounds(pyproject)


def test_a_bound_that_moved_is_seen():
    given = """
        [project]
        dependencies = ["numpy>=2.0"]
        [project.optional-dependencies]
        torch = ["torch>=2.3"]
        dev = ["ruff>=0.5"]
        plots = ["matplotlib>=3.9"]
    """
    assert pinned("# why\nmatplotlib==3.9\nnumpy==2.0\n") == lower_bounds(given)
    assert pinned("matplotlib==3.9\nnumpy==2.1\n") != lower_bounds(given)
    assert pinned("matplotlib==3.9\n") != lower_bounds(given)
