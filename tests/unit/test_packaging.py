"""What a package index and a citation say is what the package says."""

import re
import tomllib
from pathlib import Path

import pytest

import sublevel

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def cited(key):
    return re.search(rf"^{key}: (.+)$", CITATION, re.M)[1]


def test_one_version():
    assert PROJECT["version"] == sublevel.__version__ == cited("version")


def test_one_licence():
    assert PROJECT["license"] == cited("license")
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_one_address():
    home = PROJECT["urls"]["Repository"]
    assert all(address.startswith(home) for address in PROJECT["urls"].values())
    assert cited("repository-code") == home
    assert f"({home}/security)" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_every_file_of_the_source_distribution_is_there():
    manifest = (ROOT / "MANIFEST.in").read_text(encoding="utf-8")
    for line in manifest.splitlines():
        command, _, names = line.partition(" ")
        if command in ("include", "graft"):
            assert all((ROOT / name).exists() for name in names.split()), line


@pytest.mark.parametrize("name", ["ci.yml", "slow.yml"])
def test_workflows_run_what_contributors_run(name):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.M))
    workflow = (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
    asked = set(re.findall(r"run: make (\w+)", workflow))
    assert asked
    assert asked <= targets


def test_pythons_that_are_declared_are_tested_on_every_system():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    tested = re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.+)\]", workflow)[1])
    declared = [
        name.rpartition(" ")[2]
        for name in PROJECT["classifiers"]
        if re.search(r":: 3\.\d+$", name)
    ]
    assert PROJECT["requires-python"] == f">={declared[0]}"
    assert tested[: len(declared)] == declared
    # Those that are tried, and not declared, may fail.
    tolerated = re.findall(r"matrix.python == '(3\.\d+)'", workflow)
    assert tested[len(declared) :] == tolerated
    for system in ("ubuntu", "macos", "windows"):
        assert f"{system}-latest" in re.search(r"os: \[(.+)\]", workflow)[1]
