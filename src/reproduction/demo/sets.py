"""Sets from several models: what was promised, and what happened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import Any

from .. import report
from .facts import collect
from .figures import figures
from .table import violations

#: The widest a paragraph gets, and how wide where the output is no terminal.
WIDTH = 100
#: The columns that fit a terminal.
HEADS = ("model", "loss", "guarantee", "outside, %", "size", "verdict")


def show_sets(seed: int, out: Path, say: Callable[[str], None]) -> list[Path]:
    """Calibrate every model, say what happened, and write its page.

    Parameters
    ----------
    seed : of the data and of the forests
    out : folder for the report
    say : takes one line of text at a time
    """
    facts = collect(seed)
    for line in lines(facts, min(get_terminal_size((WIDTH, 24)).columns, WIDTH)):
        say(line)
    return report.write(page(facts), facts, out)


def lines(facts: dict[str, Any], width: int) -> list[str]:
    """The promise, the table, how to read it, and what it shows."""
    days = facts["sizes"]["test"]
    paragraphs = [
        "size: half-width in standard deviations of the outcome (of the numbers, if "
        "there are labels too), or labels possible.",
        *(f"{word}: {meaning}" for word, meaning in facts["verdicts"].items()),
        "",
        facts["summary"],
    ]
    return [
        f"Promised: a new day leaves its set at most {facts['alpha']:.0%} of the time.",
        f"Below: outside on {days} new days, exact 95 % interval.",
        "",
        *report.lines(violations(facts), {column: column for column in HEADS}),
        "",
        *(line for text in paragraphs for line in fill(text, width).split("\n")),
    ]


def page(facts: dict[str, Any]) -> report.Page:
    """The minute's worth, every promise with its outcome, what the words mean."""
    sizes = facts["sizes"]
    return report.Page(
        "Promised and realised",
        "Models of a made-up shop's demand and of its busiest hour, each calibrated "
        f"into a set that a new day leaves at most {facts['alpha']:.0%} of the time.",
        [
            report.Section("In a minute", paragraphs=[facts["summary"]], boxed=True),
            report.Section(
                "Promises and outcomes",
                tables=[violations(facts)],
                figures=figures(facts),
            ),
            report.Section("Verdicts", terms=facts["verdicts"], folded=True),
        ],
        f"{sizes['training']} training, {sizes['calibration']} calibration and "
        f"{sizes['test']} test days, seed {facts['seed']}.",
    )
