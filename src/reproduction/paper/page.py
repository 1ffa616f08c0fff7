"""The page of a reproduction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import report
from ..report import Page, Section
from .figures import figure
from .overview import broken, lead, overview
from .tables import tables

#: Kinds of rows, each a CSV file.
KINDS = ("cells", "promises", "headroom", "orderings", "flows")
NOTHING_BROKEN = "No method broke its claim."


def write(facts: dict[str, Any], folder: Path) -> list[Path]:
    """Write every page; the same facts in each.

    Parameters
    ----------
    facts : as `reproduction.experiments.collect` gives them
    folder : made if it is not there

    Returns
    -------
    list of the files written, the HTML page first
    """
    rows = {
        kind: [
            {"problem": problem["problem"], **row}
            for problem in facts["problems"]
            for row in problem[kind]
        ]
        for kind in KINDS
    }
    return report.write(page(facts), facts, folder, rows)


def page(facts: dict[str, Any]) -> Page:
    """The minute's worth, each problem, and what the words mean."""
    versions = ", ".join(f"{name} {v}" for name, v in facts["versions"].items())
    return Page(
        _title(facts),
        _introduction(facts),
        [
            _minute(facts),
            *(_problem(problem) for problem in facts["problems"]),
            _assumptions(facts),
            Section("Verdicts", terms=facts["meanings"], folded=True),
        ],
        f"Root seed {facts['extent']['root']}; {versions}.",
    )


def _title(facts: dict[str, Any]) -> str:
    problems = [problem["title"] for problem in facts["problems"]]
    numbers = "The paper's numbers, and ours"
    return f"{problems[0]}: {numbers.lower()}" if len(problems) == 1 else numbers


def _introduction(facts: dict[str, Any]) -> str:
    extent = facts["extent"]
    text = (
        f"{facts['source']}. Every number of its tables, and the lines of its figures, "
        f"run again: {extent['seeds']} seeds a setting, {extent['population']} fresh "
        "instances to test on."
    )
    if extent["name"] == "quick":
        text += (
            " This is the quick run: with so few seeds the spread is rough, and so are "
            "the verdicts; --full has 20."
        )
    return text


def _minute(facts: dict[str, Any]) -> Section:
    alarms = broken(facts)
    return Section(
        "In a minute",
        lead(facts),
        [] if alarms else [NOTHING_BROKEN],
        overview(facts),
        alarms=alarms,
        boxed=True,
    )


def _problem(problem: dict[str, Any]) -> Section:
    return Section(
        problem["title"],
        paragraphs=[" ".join(problem["summary"])],
        tables=tables(problem),
        figures=[figure(problem)],
        folded=True,
    )


def _assumptions(facts: dict[str, Any]) -> Section:
    terms = {
        f"{name} ({assumed['promise']})": assumed["assumes"]
        for name, assumed in facts["assumptions"].items()
    }
    return Section("What each promise assumes", terms=terms, folded=True)
