"""The numbers in the paper's tables, and what is expected of each.

R: to be reproduced, within 2.5 standard deviations over seeds or a stated band.
B: only its place among the noise levels. X: cannot be reproduced, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from .settings import ALPHAS, Setting

_TABLES = {"mse": "MSE, paper", "msev": "MSEV, paper", "classical": "Classical"}
_PHI = "Phi-divergence"
_ML = "Cross-entropy, paper"
_REASONS = {
    ("portfolio", "msev"): (
        "Above every seed of ours, and above the published radii at noise 0 and 1: one "
        "badly trained network."
    ),
    ("shortest-path", "mse"): (
        "Ours is smaller: plain training exceeds the published radius in few seeds or "
        "none. The published network must have been trained less well."
    ),
    ("shortest-path", "msev"): (
        "Below nearly every seed of ours: one network that was trained uncommonly well "
        "on costs this skewed, or another normalisation."
    ),
}


@dataclass(frozen=True)
class Published:
    """One number of a table.

    Attributes
    ----------
    table : its name in the report
    quantity : "radius", "objective", "regret" or "rig"
    expected : "R", "B" or "X"
    band : half-width that counts as reproduced, 0 if only the spread decides
    rounding : half a unit of the last digit printed
    reason : why an X cannot be reproduced
    """

    table: str
    setting: Setting
    method: str
    quantity: str
    alpha: float | None
    value: float
    expected: str
    band: float = 0.0
    rounding: float = 0.0
    reason: str = ""


@lru_cache(maxsize=1)
def numbers() -> dict[str, Any]:
    """The data file."""
    text = files(__package__).joinpath("published.json").read_text("utf-8")
    published: dict[str, Any] = json.loads(text)
    return published


def published(problem: str) -> list[Published]:
    """Every number of the paper's tables about a problem.

    Examples
    --------
    >>> len(published("newsvendor")), len(published("portfolio"))
    (65, 81)
    """
    return list(_newsvendor() if problem == "newsvendor" else _radii(problem))


def _radii(problem: str) -> Iterator[Published]:
    table = numbers()[problem.replace("-", "_")]["cells"]
    for cell in table:
        setting = Setting(
            problem, float(cell["noise"]), cell.get("size", 5000), cell.get("degree", 0)
        )
        for key, method in _TABLES.items():
            expected = cell[f"{key}_verdict"]
            reason = _REASONS[problem, key] if expected == "X" else ""
            for alpha, value in zip(ALPHAS, cell[key], strict=True):
                yield Published(
                    "Radii",
                    setting,
                    method,
                    "radius",
                    alpha,
                    value,
                    expected,
                    rounding=0.0005,
                    reason=reason,
                )


def _newsvendor() -> Iterator[Published]:
    table = numbers()["newsvendor"]
    settings = [Setting("newsvendor", float(noise), 2000) for noise in table["noise"]]
    rig = table["rig"]
    for setting, value in zip(settings, rig["values"], strict=True):
        yield Published(
            "Relative information gain, %",
            setting,
            "Cross-entropy",
            "rig",
            None,
            value,
            rig["verdict"],
            rig["band"],
            0.5,
        )
    for quantity in ("objective", "regret"):
        for key, method in ((quantity, _ML), (f"phi_{quantity}", _PHI)):
            for alpha in ALPHAS:
                row = zip(settings, table[key][f"{alpha:g}"], strict=True)
                for setting, value in row:
                    yield _cost(setting, method, quantity, alpha, value, key)


def _cost(
    setting: Setting, method: str, quantity: str, alpha: float, value: float, key: str
) -> Published:
    table = numbers()["newsvendor"]
    return Published(
        f"{quantity.capitalize()}, holding cost 4",
        setting,
        method,
        quantity,
        alpha,
        value,
        table[key]["verdict"],
        table["bands"].get(key, {}).get(f"{alpha:g}", 0.0),
        0.05,
    )
