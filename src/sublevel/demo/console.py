"""The facts on a terminal."""

from __future__ import annotations

from typing import Any

COLUMNS = (
    "model",
    "loss",
    "guarantee",
    "promised",
    "realised [95 %]",
    "promoted",
    "budget",
    "radius",
    "mean half-width",
    "verdict",
)


def cells(row: dict[str, Any]) -> list[str]:
    """One row of the table, as text."""
    radius = "" if row["radius"] is None else f"{row['radius']:.3g}"
    return [
        row["model"],
        row["loss"],
        row["guarantee"],
        f"<= {row['promised']:.3g}",
        f"{row['violation']:.3f} [{row['low']:.3f}, {row['high']:.3f}]",
        f"{row['promotion_days']:.3f}",
        f"{row['budget']:.4g}",
        radius,
        size(row),
        row["verdict"],
    ]


def size(row: dict[str, Any]) -> str:
    """Half-width in standard deviations of the outcome, labels as a count."""
    parts = []
    if row["half_width"] is not None:
        parts.append(f"{row['half_width']:.2f} sd")
    if row["labels"] is not None:
        parts.append(f"{row['labels']:.2f} labels")
    return " ".join(parts)


def show(facts: dict[str, Any]) -> None:
    """Print the table and the paragraph."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    table = Table(box=box.SIMPLE_HEAD)
    for column in COLUMNS:
        table.add_column(column, overflow="fold")
    last = None
    for row in facts["rows"]:
        if last is not None and row["predicts"] != last:
            table.add_section()
        last = row["predicts"]
        table.add_row(*cells(row), style="red" if row["verdict"] == "broken" else None)
    console.print(f"Promised and realised violation, alpha = {facts['alpha']}")
    console.print(table)
    console.print(facts["summary"], width=min(console.width, 100))
