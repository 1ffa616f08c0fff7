"""The figures of a report: the paper's two, what was kept, and the frontier."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from ..report import Axis, Figure, Series, linear, panel, placed

_COLORS = {
    "MSE, paper": "#1f6fb4",
    "MSE, Th. 3.1": "#7fb2dd",
    "MSE, decision-aware": "#0b3c66",
    "MSEV, paper": "#d95f02",
    "MSEV, Th. 3.1": "#f2a966",
    "MSEV, decision-aware": "#8a3300",
    "Cross-entropy, paper": "#1f6fb4",
    "Cross-entropy, Th. 3.1": "#7fb2dd",
    "Cross-entropy, decision-aware": "#0b3c66",
    "Classical": "#6b6b6b",
    "Phi-divergence": "#6b6b6b",
    "kNN": "#3a9b57",
    "Predict, then calibrate": "#a05cc4",
    "Predict, then optimise": "#c7a500",
    "SPO+": "#c2447f",
}
#: Violation levels that the axes show.
_TICKS = (0.01, 0.05, 0.1, 0.5)


def figures(problem: dict[str, Any]) -> list[Figure]:
    """The four figures about a problem, a panel for each setting."""
    made = (
        ("Objective against guarantee level",
         "Mean worst-case cost: what a decision is certified to cost. Lower is better.",
         _by_level("objective")),
        ("Regret against guarantee level",
         "Mean realised cost above that of a clairvoyant. Lower is better.",
         _by_level("regret")),
        ("Promised and realised violation",
         "On or below the diagonal the level asked for was kept on fresh instances; "
         "far below it the set is larger than it need be.",
         _violations),
        ("Objective against realised violation",
         "The frontier: lower left is better. Methods to the right of the level asked "
         "for buy their objective with violations.",
         _frontier),
    )  # fmt: skip
    methods = dict.fromkeys(row["method"] for row in problem["promises"])
    legend = [(name, _COLORS[name]) for name in methods]
    return [
        Figure(title, caption, legend, _panels(problem, draw))
        for title, caption, draw in made
    ]


Draw = Callable[[str, dict[str, list[dict[str, Any]]]], str]


def _panels(problem: dict[str, Any], draw: Draw) -> list[str]:
    drawn = []
    for setting in dict.fromkeys(row["setting"] for row in problem["promises"]):
        methods: dict[str, list[dict[str, Any]]] = {}
        for row in problem["promises"]:
            if row["setting"] == setting:
                methods.setdefault(row["method"], []).append(row)
        drawn.append(draw(setting, methods))
    return drawn


def _by_level(quantity: str) -> Draw:
    def draw(setting: str, methods: dict[str, list[dict[str, Any]]]) -> str:
        y = linear(quantity, [r[quantity] for rows in methods.values() for r in rows])
        x = _level_axis("guarantee level alpha", _TICKS[:3])
        return panel(setting, x, y, _series(methods, "alpha", quantity))

    return draw


def _violations(setting: str, methods: dict[str, list[dict[str, Any]]]) -> str:
    x = _level_axis("promised alpha", _TICKS[:3])
    # Drawn up to a half: a method without a promise would press the others flat.
    y = placed("realised violation", (0.0, *_TICKS), lambda v: sqrt(min(v, 0.6) / 0.6))
    return panel(setting, x, y, _series(methods, "alpha", "violation"), diagonal=True)


def _frontier(setting: str, methods: dict[str, list[dict[str, Any]]]) -> str:
    x = placed("realised violation", (0.0, *_TICKS), lambda v: sqrt(min(v, 0.6) / 0.6))
    y = linear("objective", [r["objective"] for rows in methods.values() for r in rows])
    return panel(setting, x, y, _series(methods, "violation", "objective"))


def _level_axis(name: str, ticks: tuple[float, ...]) -> Axis:
    return placed(name, ticks, lambda v: sqrt(v) / sqrt(0.11))


def _series(
    methods: dict[str, list[dict[str, Any]]], across: str, up: str
) -> list[Series]:
    return [
        Series(
            _COLORS[name],
            [(row[across], row[up]) for row in rows],
            [_tip(row) for row in rows],
            bold="decision-aware" in name,
        )
        for name, rows in methods.items()
    ]


def _tip(row: dict[str, Any]) -> str:
    return (
        f"{row['method']}, alpha {row['alpha']:g}: objective {row['objective']:.4g}, "
        f"regret {row['regret']:.4g}, violation {row['violation']:.4g} "
        f"({row['verdict']})"
    )
