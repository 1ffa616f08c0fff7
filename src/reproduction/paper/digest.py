"""The report in a few lines, for a terminal."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from ..report import lines
from .overview import LEVELS, broken, delivered, lead, overview

WIDTH = 80
REPRODUCED = ("reproduced", "same order", "differ", "not reproducible")


def digest(facts: dict[str, Any]) -> list[str]:
    """Which method to use, what was reproduced, what was broken."""
    methods, reproduced = overview(facts)
    levels = {delivered(level): f"{level:.0%}" for level in LEVELS}
    heads = {"method": "", "promise": "promise", **levels, "claim": "claim"}
    counts = {"problem": "", "published numbers": "numbers"}
    alarms = broken(facts)
    return [
        "",
        fill(lead(facts), WIDTH),
        "",
        "How often the cost was above the certified one, by the level asked:",
        *lines(methods, heads),
        "",
        "Published numbers:",
        *lines(reproduced, counts | {column: column for column in REPRODUCED}),
        *([""] if alarms else []),
        *(fill(line, WIDTH) for line in alarms),
    ]
