"""The figures of a report: the paper's two, and what was kept."""

from __future__ import annotations

from math import sqrt
from typing import Any

from ..report import Axis, Figure, Series, linear, panel, placed

_TONES = {
    "MSE, paper": "blue",
    "MSE, Th. 3.1": "pale-blue",
    "MSE, decision-aware": "deep-blue",
    "MSEV, paper": "orange",
    "MSEV, Th. 3.1": "pale-orange",
    "MSEV, decision-aware": "deep-orange",
    "Cross-entropy, paper": "blue",
    "Cross-entropy, Th. 3.1": "pale-blue",
    "Cross-entropy, decision-aware": "deep-blue",
    "Classical": "grey",
    "Phi-divergence": "grey",
    "kNN": "green",
    "Predict, then calibrate": "violet",
    "Predict, then optimise": "yellow",
    "SPO+": "pink",
}
#: Violation levels that the axes show.
_TICKS = (0.01, 0.05, 0.1, 0.5)

#: Rows of what was promised, by method.
Methods = dict[str, list[dict[str, Any]]]


def figure(problem: dict[str, Any]) -> Figure:
    """Three panels about the middle one of the settings; about the others, folded."""
    settings = _settings(problem)
    # The settings are in order of noise and size: the middle one favours nobody.
    chosen = list(settings)[len(settings) // 2]
    panels = {setting: _panels(methods) for setting, methods in settings.items()}
    names = dict.fromkeys(row["method"] for row in problem["promises"])
    return Figure(
        f"Costs and violations at {chosen}",
        "Certified is the mean worst-case cost, regret the mean realised cost above a "
        "clairvoyant's: lower is better. Violations on or below the diagonal: the "
        "level asked for was kept on fresh instances; far below it the set is larger "
        "than it need be.",
        [(name, _TONES[name]) for name in names],
        panels.pop(chosen),
        panels,
    )


def _settings(problem: dict[str, Any]) -> dict[str, Methods]:
    settings: dict[str, Methods] = {}
    for row in problem["promises"]:
        methods = settings.setdefault(row["setting"], {})
        methods.setdefault(row["method"], []).append(row)
    return settings


def _panels(methods: Methods) -> list[str]:
    return [
        _by_level("Certified cost", "objective", methods),
        _by_level("Regret", "regret", methods),
        _violations(methods),
    ]


def _by_level(title: str, quantity: str, methods: Methods) -> str:
    y = linear(quantity, [r[quantity] for rows in methods.values() for r in rows])
    return panel(title, _level_axis(), y, _series(methods, quantity))


def _violations(methods: Methods) -> str:
    # Drawn up to a half: a method without a promise would press the others flat.
    y = placed("realised violation", (0.0, *_TICKS), lambda v: sqrt(min(v, 0.6) / 0.6))
    series = _series(methods, "violation")
    return panel("Violations", _level_axis(), y, series, diagonal=True)


def _level_axis() -> Axis:
    return placed("level asked", _TICKS[:3], lambda v: sqrt(v) / sqrt(0.11))


def _series(methods: Methods, up: str) -> list[Series]:
    return [
        Series(
            _TONES[name],
            [(row["alpha"], row[up]) for row in rows],
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
