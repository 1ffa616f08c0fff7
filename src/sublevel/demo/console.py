"""The facts on a terminal, in a table narrow enough for 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("model", "loss", "guarantee", "outside, %", "size", "verdict")
#: Where the output is no terminal, and the widest a paragraph gets.
WIDTH = 100


def cells(row: dict[str, Any]) -> list[str]:
    """One row of the table, as text."""
    rate, low, high = (100 * row[key] for key in ("violation", "low", "high"))
    return [
        row["model"],
        row["loss"],
        row["guarantee"],
        f"{rate:4.1f} [{low:.1f}, {high:.1f}]",
        _size(row),
        row["verdict"],
    ]


def _size(row: dict[str, Any]) -> str:
    """The half-width where there are numbers, else the labels possible."""
    if row["half_width"] is not None:
        return f"{row['half_width']:.2f} sd"
    return f"{row['labels']:.1f} of {row['label_count']}"


def show(facts: dict[str, Any], console: Console | None = None) -> None:
    """Print the promise, the table, how to read it, and what it shows."""
    from rich.console import Console

    if console is None:
        console = Console()
        if not console.is_terminal:
            console = Console(width=WIDTH)
    width = min(console.width, WIDTH)

    def say(text: str) -> None:
        console.print(text, width=width, highlight=False)

    say(f"Promised: a new day leaves its set at most {facts['alpha']:.0%} of the time.")
    say(f"Below: outside on {facts['sizes']['test']} new days, exact 95 % interval.\n")
    console.print(_table(facts["rows"]))
    say(
        "\nsize: half-width in standard deviations of the outcome (of the numbers, if "
        "there are labels too), or labels possible."
    )
    for word, meaning in facts["verdicts"].items():
        say(f"{word}: {meaning}")
    say(f"\n{facts['summary']}")


def _table(rows: list[dict[str, Any]]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for column in COLUMNS:
        table.add_column(column, no_wrap=True)
    last = None
    for row in rows:
        if last is not None and row["predicts"] != last:
            table.add_section()
        last = row["predicts"]
        table.add_row(*cells(row), style="red" if row["verdict"] == "refuted" else None)
    return table
