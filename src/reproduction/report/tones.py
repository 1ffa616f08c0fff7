"""The colours of figures by name: on light paper, and on dark."""

from __future__ import annotations

#: A colour and its twin stand out as much from their papers as each other.
TONES = {
    "blue": ("#1f6fb4", "#5fa8e6"),
    "pale-blue": ("#6ba5d6", "#3d76a8"),
    "deep-blue": ("#0b3c66", "#bfe0ff"),
    "orange": ("#d95f02", "#f08d3c"),
    "pale-orange": ("#e8954a", "#a5612a"),
    "deep-orange": ("#8a3300", "#ffd3ad"),
    "grey": ("#6b6b6b", "#a3a3a3"),
    "pale-grey": ("#dddddd", "#3b424c"),
    "green": ("#3a9b57", "#5cc47c"),
    "violet": ("#a05cc4", "#c892e4"),
    "yellow": ("#b39200", "#dcc04a"),
    "pink": ("#c2447f", "#ee84b5"),
    "red": ("#b00020", "#ff7b86"),
}
