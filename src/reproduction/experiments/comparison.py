"""Published numbers beside ours, with the spread over seeds and a verdict."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from sublevel.checks import Array

from .gathering import pick
from .published import Published, published

#: Standard deviations over seeds within which a number counts as reproduced.
WITHIN = 2.5
#: Seeds from which on their standard deviation is taken as it is.
ENOUGH = 10
MEANINGS = {
    "reproduced": f"the published number lies within {WITHIN} standard deviations of "
    "our mean over seeds, or within its band (in cells.csv), rounding of the last "
    "printed digit aside; with fewer than "
    f"{ENOUGH} seeds within the wider range that so rough a deviation calls for.",
    "differs": "it was expected to be reproduced, and is not.",
    "same order": "only the order is expected: ours rises and falls over the noise "
    "levels as the published numbers do.",
    "other order": "not even the order over noise levels is the published one.",
    "not reproducible": "no plain reading of the paper gives this number; the reason "
    "and our value are shown.",
}
#: What fails an expectation.
BAD = ("differs", "other order")


def compare(problem: str, table: pd.DataFrame) -> list[dict[str, Any]]:
    """One row for every published number of the settings that were run."""
    run = set(zip(table["size"], table["degree"], table["noise"], strict=True))
    numbers = [
        number
        for number in published(problem)
        if (number.setting.size, number.setting.degree, number.setting.noise) in run
    ]
    ours = {number: _ours(number, table) for number in numbers}
    return [_row(number, ours) for number in numbers]


def _row(number: Published, ours: dict[Published, Array]) -> dict[str, Any]:
    values = ours[number]
    spread = float(values.std(ddof=1)) if values.size > 1 else 0.0
    return {
        "table": number.table,
        "setting": number.setting.label,
        "method": number.method,
        "alpha": number.alpha,
        "published": number.value,
        "ours": float(values.mean()),
        "sd": spread,
        "median": float(np.median(values)),
        "seeds": int(values.size),
        "expected": number.expected,
        "band": number.band,
        "verdict": _verdict(number, ours, spread),
        "reason": number.reason,
    }


def _verdict(number: Published, ours: dict[Published, Array], spread: float) -> str:
    if number.expected == "X":
        return "not reproducible"
    if number.expected == "B":
        return "same order" if _same_order(number, ours) else "other order"
    away = abs(float(ours[number].mean()) - number.value)
    reach = max(_factor(ours[number].size) * spread, number.band) + number.rounding
    return "reproduced" if away <= reach else "differs"


def _factor(seeds: int) -> float:
    """Deviations around the mean of few seeds that hold one more as 2.5 do of many."""
    if seeds >= ENOUGH or seeds < 2:
        return WITHIN
    return float(t.isf(norm.sf(WITHIN), seeds - 1)) * sqrt(1 + 1 / seeds)


def _same_order(number: Published, ours: dict[Published, Array]) -> bool:
    """Whether medians are to the other noise levels' as the published numbers are.

    Published ties say nothing. Nor do neighbours that a seed's spread can swap.
    """
    here = ours[number]
    for other, there in ours.items():
        if _sibling(number, other) and other.value != number.value:
            sign = np.sign(other.value - number.value)
            gap = float(np.median(there) - np.median(here))
            slack = float(np.std(here) / np.sqrt(here.size))
            if sign * gap < -slack:
                return False
    return True


def _sibling(one: Published, other: Published) -> bool:
    """The same entry at another noise level, and one that can be reproduced."""
    a, b = one.setting, other.setting
    same = (one.table, one.method, one.alpha) == (
        other.table,
        other.method,
        other.alpha,
    )
    grid = (a.size, a.degree) == (b.size, b.degree)
    return same and grid and a.noise != b.noise and other.expected != "X"


def _ours(number: Published, table: pd.DataFrame) -> Array:
    """Our values of a published number, one a seed."""
    setting = number.setting
    column = "published_unit" if number.quantity == "radius" else number.quantity
    rows = pick(
        table,
        problem=setting.problem,
        size=setting.size,
        degree=setting.degree,
        noise=setting.noise,
        method=number.method,
        alpha=number.alpha or 0.0,
    )
    if "holding" in rows and number.quantity in ("objective", "regret"):
        rows = pick(rows, holding=4.0)
    return np.asarray(rows.sort_values("seed")[column], dtype=float)
