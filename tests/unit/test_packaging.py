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
