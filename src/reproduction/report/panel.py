"""One panel of a figure as SVG: lines through few points, each with a word on hover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log, log10

WIDTH, HEIGHT = 320, 240
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 24, 36
#: Room for a letter of a tick.
LETTER = 6

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """A line in a colour of `TONES`; dots where there are tips, one a point."""

    tone: str
    points: Sequence[Point]
    tips: Sequence[str] = ()
    bold: bool = False


@dataclass(frozen=True)
class Axis:
    """An axis: its name, range, ticks, and where a value is drawn (0 to 1)."""

    name: str
    ticks: Sequence[tuple[float, str]]
    place: Callable[[float], float]


def panel(
    title: str,
    x: Axis,
    y: Axis,
    series: Sequence[Series],
    diagonal: bool = False,
    band: Sequence[Point] = (),
) -> str:
    """The panel as an SVG element.

    Parameters
    ----------
    title : above it
    x, y : the axes
    series : what is drawn, the last on top
    diagonal : whether to draw where both values are the same, over the ticks of x
    band : corners of a grey area behind everything else

    Examples
    --------
    >>> axis = linear("alpha", [0.0, 1.0])
    >>> line = Series("blue", [(0.0, 0.0), (1.0, 1.0)], ["low", "high"])
    >>> panel("A", axis, axis, [line]).count("<circle")
    2
    """
    frame = _Frame(x, y)
    parts = [
        f'<svg class="panel" role="img" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'aria-label="{escape(title)}: {escape(y.name)} against {escape(x.name)}">',
        f'<text class="title" x="{frame.left}" y="15">{escape(title)}</text>',
        f'<polygon points="{frame.where(band)}"/>' if band else "",
        *frame.grid(),
    ]
    if diagonal:
        ends = [value for value, _ in x.ticks]
        line = frame.where([(end, end) for end in (min(ends), max(ends))])
        parts.append(f'<polyline class="diagonal" points="{line}"/>')
    for one in series:
        kind = "bold" if one.bold else "thin"
        parts.append(
            f'<polyline class="{kind}" style="stroke:var(--{one.tone})" '
            f'points="{frame.where(one.points)}"/>'
        )
        parts += frame.dots(one)
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


def listed(name: str, names: Sequence[str]) -> Axis:
    """An axis of names, the first on top: name i is at -i.

    Examples
    --------
    >>> axis = listed("model", ["line", "forest"])
    >>> axis.ticks, axis.place(0), axis.place(-1)
    ([(0, 'line'), (-1, 'forest')], 0.75, 0.25)
    """
    ticks = [(-i, text) for i, text in enumerate(names)]
    return Axis(name, ticks, lambda v: 1 + (v - 0.5) / len(names))


def _step(rough: float) -> float:
    """The nearest of 1, 2, 5 and 10 times a power of ten, by ratio."""
    power = 10.0 ** floor(log10(rough))
    return min((power * k for k in (1, 2, 5, 10)), key=lambda s: abs(log(s / rough)))


@dataclass(frozen=True)
class _Frame:
    """Two axes on the panel, with room for what their ticks say."""

    x: Axis
    y: Axis

    @property
    def left(self) -> int:
        longest = max((len(text) for _, text in self.y.ticks), default=0)
        return max(LEFT, 10 + LETTER * longest)

    def across(self, value: float) -> float:
        return round(self.left + self.x.place(value) * (WIDTH - self.left - RIGHT), 1)

    def up(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - self.y.place(value) * (HEIGHT - TOP - BOTTOM), 1)

    def where(self, points: Sequence[Point]) -> str:
        return " ".join(f"{self.across(x)},{self.up(y)}" for x, y in points)

    def grid(self) -> list[str]:
        """Ticks, their lines, and the name of the horizontal axis."""
        left, bottom, parts = self.left, HEIGHT - BOTTOM, []
        for value, text in self.y.ticks:
            at = self.up(value)
            parts.append(f'<path class="grid" d="M{left} {at}H{WIDTH - RIGHT}"/>')
            parts.append(_text("tick end", left - 5, at + 4, text))
        for value, text in self.x.ticks:
            at = self.across(value)
            parts.append(f'<path class="grid" d="M{at} {TOP}V{bottom}"/>')
            parts.append(_text("tick mid", at, bottom + 14, text))
        middle = (left + WIDTH - RIGHT) / 2
        return [*parts, _text("tick mid", middle, HEIGHT - 5, self.x.name)]

    def dots(self, one: Series) -> list[str]:
        """A dot for each tip."""
        if not one.tips:
            return []
        size = 4.5 if one.bold else 3.5
        return [
            f'<circle tabindex="0" cx="{self.across(x)}" cy="{self.up(y)}" r="{size}" '
            f'style="fill:var(--{one.tone})" data-tip="{escape(tip)}">'
            f"<title>{escape(tip)}</title></circle>"
            for (x, y), tip in zip(one.points, one.tips, strict=True)
        ]


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(text)}</text>'
