"""All finished cells as one table: a row for each seed, setting, method and level."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from sublevel.errors import CellsFailed

from .settings import Cell
from .store import Store

#: What identifies a row, apart from the seed.
KEYS = ("problem", "size", "degree", "noise", "holding", "method", "alpha")


def gather(cells: Iterable[Cell], folder: Path) -> pd.DataFrame:
    """Rows of all cells, which must be finished."""
    store, rows = Store(folder), []
    for cell in cells:
        facts = store.load(cell)
        if facts is None:
            raise CellsFailed(
                f"{cell.name} is not finished. Run the same command again; what is "
                "finished is kept."
            )
        for seed in facts:
            rows += [{**_keys(cell), "seed": seed["seed"], **r} for r in _rows(seed)]
    return pd.DataFrame(rows)


def _keys(cell: Cell) -> dict[str, Any]:
    setting = cell.setting
    return {
        "problem": setting.problem,
        "size": setting.size,
        "degree": setting.degree,
        "noise": setting.noise,
        "holding": 0.0,
    }


def _rows(seed: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a seed; what has no level or no method becomes a row too."""
    rows = list(seed["rows"])
    if "rig" in seed:
        rows.append({"method": "Cross-entropy", "alpha": 0.0, "rig": seed["rig"]})
    for loss, facts in seed.get("flows", {}).items():
        rows.append({"method": f"{loss}, flow", "alpha": 0.1, **facts})
    return rows


def pick(table: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    """The rows where every named column has the value wanted.

    Examples
    --------
    >>> table = pd.DataFrame({"noise": [0.0, 1.0], "seed": [3, 4]})
    >>> pick(table, noise=1.0)["seed"].tolist()
    [4]
    """
    for column, value in wanted.items():
        table = table[table[column] == value]
    return table
