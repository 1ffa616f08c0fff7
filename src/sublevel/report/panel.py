"""One panel of a figure as SVG: lines through few points, each with a word on hover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log, log10

WIDTH, HEIGHT = 320, 240
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 24, 36


@dataclass(frozen=True)
class Series:
    """A method's line: points (x, y), what to say at each, colour and mark."""

    name: str
    color: str
    points: Sequence[tuple[float, float]]
    tips: Sequence[str]
    bold: bool = False


@dataclass(frozen=True)
class Axis:
    """An axis: its name, range, ticks, and where a value is drawn (0 to 1)."""

    name: str
    ticks: Sequence[tuple[float, str]]
    place: Callable[[float], float]


def panel(
    title: str, x: Axis, y: Axis, series: Sequence[Series], diagonal: bool = False
) -> str:
    """The panel as an SVG element.

    Examples
    --------
    >>> axis = linear("alpha", [0.0, 1.0])
    >>> line = Series("MSE", "#000", [(0.0, 0.0), (1.0, 1.0)], ["low", "high"])
    >>> panel("A", axis, axis, [line]).count("<circle")
    2
    """
    parts = [
        f'<svg class="panel" role="img" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'aria-label="{escape(title)}: {escape(y.name)} against {escape(x.name)}">',
        f'<text class="title" x="{LEFT}" y="15">{escape(title)}</text>',
        *_frame(x, y),
    ]
    if diagonal:
        ends = [value for value, _ in x.ticks]
        parts.append(_line([(v, v) for v in (min(ends), max(ends))], x, y, "diagonal"))
    for one in series:
        kind = "bold" if one.bold else "thin"
        parts.append(_line(one.points, x, y, kind, one.color))
        parts += _dots(one, x, y)
    return "".join([*parts, "</svg>"])


def linear(name: str, values: Sequence[float]) -> Axis:
    """An axis over the values, with round ticks.

    Examples
    --------
    >>> [text for _, text in linear("y", [0.0, 0.93]).ticks]
    ['0', '0.2', '0.4', '0.6', '0.8']
    """
    low, high = min(values), max(values)
    pad = 0.04 * (high - low) or 0.5
    low, high = low - pad, high + pad
    step = _step((high - low) / 4)
    first = floor(low / step) + 1
    marks = [i * step for i in range(first, floor(high / step) + 1)]
    return Axis(
        name,
        [(mark, f"{mark:.6g}") for mark in marks],
        lambda v: (v - low) / (high - low),
    )


def placed(name: str, ticks: Sequence[float], place: Callable[[float], float]) -> Axis:
    """An axis with given ticks on a scale of its own."""
    return Axis(name, [(tick, f"{tick:g}") for tick in ticks], place)


def _step(rough: float) -> float:
    """The nearest of 1, 2, 5 and 10 times a power of ten, by ratio."""
    power = 10.0 ** floor(log10(rough))
    return min((power * k for k in (1, 2, 5, 10)), key=lambda s: abs(log(s / rough)))


def _at(point: tuple[float, float], x: Axis, y: Axis) -> tuple[float, float]:
    across, up = x.place(point[0]), y.place(point[1])
    return (
        round(LEFT + across * (WIDTH - LEFT - RIGHT), 1),
        round(HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM), 1),
    )


def _frame(x: Axis, y: Axis) -> list[str]:
    floor_y, parts = HEIGHT - BOTTOM, []
    for value, text in y.ticks:
        _, at = _at((0.0, value), Axis("", [], lambda _: 0.0), y)
        parts.append(f'<path class="grid" d="M{LEFT} {at}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text class="tick end" x="{LEFT - 5}" y="{at + 4}">{text}</text>'
        )
    for value, text in x.ticks:
        at, _ = _at((value, 0.0), x, Axis("", [], lambda _: 0.0))
        parts.append(f'<path class="grid" d="M{at} {TOP}V{floor_y}"/>')
        parts.append(
            f'<text class="tick mid" x="{at}" y="{floor_y + 14}">{text}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text class="tick mid" x="{middle}" y="{HEIGHT - 5}">{escape(x.name)}</text>'
    )
    return parts


def _line(
    points: Sequence[tuple[float, float]], x: Axis, y: Axis, kind: str, color: str = ""
) -> str:
    where = " ".join(f"{a},{b}" for a, b in (_at(point, x, y) for point in points))
    stroke = f' stroke="{color}"' if color else ""
    return f'<polyline class="{kind}"{stroke} points="{where}"/>'


def _dots(one: Series, x: Axis, y: Axis) -> list[str]:
    found = []
    for point, tip in zip(one.points, one.tips, strict=True):
        a, b = _at(point, x, y)
        found.append(
            f'<circle tabindex="0" cx="{a}" cy="{b}" r="{4.5 if one.bold else 3.5}" '
            f'fill="{one.color}" data-tip="{escape(tip)}">'
            f"<title>{escape(tip)}</title></circle>"
        )
    return found
