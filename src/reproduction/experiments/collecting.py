"""Every fact of a reproduction as plain data: what any report of it prints."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from .comparison import BAD, MEANINGS, compare
from .gathering import gather, pick
from .headroom import headroom
from .orderings import orderings
from .promises import PROMISES, kept
from .published import numbers
from .relaxation import relaxation
from .settings import EXPERIMENTS, Cell, Extent, Setting

PACKAGES = ("sublevel", "numpy", "scipy", "scikit-learn", "cvxpy", "clarabel", "torch")


def collect(cells: Sequence[Cell], folder: Path, extent: Extent) -> dict[str, Any]:
    """The facts of finished cells, in the order of the paper.

    Parameters
    ----------
    cells : all cells of the run
    folder : where they are kept
    extent : how much was run
    """
    table = gather(cells, folder)
    names = list(dict.fromkeys(cell.setting.problem for cell in cells))
    problems = [_problem(name, pick(table, problem=name), extent) for name in names]
    methods = {row["method"] for one in problems for row in one["promises"]}
    return {
        "source": numbers()["source"],
        "extent": asdict(extent),
        "versions": {"python": platform.python_version()} | _versions(),
        "meanings": MEANINGS,
        "assumptions": {
            name: {"promise": promise.kind, "assumes": promise.assumes}
            for name, promise in PROMISES.items()
            if name in methods
        },
        "problems": problems,
    }


def _problem(name: str, table: pd.DataFrame, extent: Extent) -> dict[str, Any]:
    promises = [{"setting": _label(row), **row} for row in kept(table, extent)]
    cells = compare(name, table)
    facts: dict[str, Any] = {
        "problem": name,
        "title": EXPERIMENTS[name].title,
        "cells": cells,
        "promises": promises,
        "orderings": orderings(name, table) if _complete(name, table) else [],
        "headroom": [] if name == "newsvendor" else headroom(name, table),
        "flows": relaxation(name, table),
    }
    return facts | {"summary": _summary(facts)}


def _complete(name: str, table: pd.DataFrame) -> bool:
    """Whether all settings were run, which the paper's statements are about."""
    columns = ["size", "degree", "noise"]
    return len(table[columns].drop_duplicates()) == len(EXPERIMENTS[name].settings)


def _label(row: dict[str, Any]) -> str:
    setting = Setting(row["problem"], row["noise"], row["size"], row["degree"])
    if row["holding"]:
        return f"holding cost {row['holding']:g}, {setting.label}"
    return setting.label


def _summary(facts: dict[str, Any]) -> list[str]:
    """A few sentences: what was reproduced, what was kept, what is better."""
    sentences = [_reproduced(facts["cells"]), _kept(facts["promises"])]
    noisy = [row for row in facts["headroom"] if row["noisy"]]
    if noisy:
        least, most = (f(row["factor"] for row in noisy) for f in (min, max))
        worst = max(row["paper_violation"] for row in noisy)
        sentences.append(
            f"Decision-aware radii are {least:.1f} to {most:.1f} times smaller than "
            "the paper's at the same level, where the outcome is noisy: the paper's "
            f"radius is violated at most {worst:.2g} of the time, whatever was asked."
        )
    return sentences


def _reproduced(cells: list[dict[str, Any]]) -> str:
    good = sum(row["verdict"] in ("reproduced", "same order") for row in cells)
    bad = sum(row["verdict"] in BAD for row in cells)
    return (
        f"Of {len(cells)} published numbers {good} are reproduced (or keep their "
        f"order, where only that is expected), {bad} differ, and "
        f"{len(cells) - good - bad} are known not to be reproducible."
    )


def _kept(promises: list[dict[str, Any]]) -> str:
    proved = [row for row in promises if row["promise"] == "proved"]
    broken = sorted({row["method"] for row in promises if row["verdict"] == "broken"})
    held = sum(row["verdict"] == "kept" for row in proved)
    rest = (
        f"At some setting these methods broke their claim: {'; '.join(broken)}."
        if broken
        else "No method broke its claim."
    )
    return f"Proved promises were kept in {held} of {len(proved)} cases. {rest}"


def _versions() -> dict[str, str]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except ModuleNotFoundError:
            continue
    return versions
