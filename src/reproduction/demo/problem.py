"""One problem of the paper: from a fresh model to audited decisions, and its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from sublevel.errors import MissingExtra
from sublevel.guarantees import PAC

from ..experiments import (
    EXTENTS,
    Cell,
    collect,
    open_folder,
    require_all,
    require_packages,
    run_all,
)
from ..paper import write
from ..report import Entry, Table, named
from ..report import lines as table_lines
from .problem_models import SHOWN, Model, model_of

ALPHA, DELTA = 0.1, 0.05
CALIBRATION = 300


def show_problem(
    problem: str, seed: int, out: Path, say: Callable[[str], None]
) -> list[Path]:
    """Walk through one problem, then write the report of its setting.

    Parameters
    ----------
    problem : "newsvendor", "portfolio" or "shortest-path"
    seed : of the data
    out : folder for the report
    say : takes one line of text at a time
    """
    model, folder = model_of(problem), open_folder(out, EXTENTS["quick"])
    for line in lines(problem, walk(model, seed)):
        say(line)
    try:
        require_packages((problem,))
    except MissingExtra as error:  # the walk was worth it
        say(f"\nNo report page. {error}")
        return []
    return _report(problem, seed, out, folder, say)


def _report(
    problem: str, seed: int, out: Path, folder: Path, say: Callable[[str], None]
) -> list[Path]:
    """Every method of the paper on the setting shown, as a page."""
    extent = replace(EXTENTS["quick"], root=seed)
    cells = [Cell(SHOWN[problem], tuple(range(extent.seeds)), extent)]
    require_all(run_all(cells, folder, jobs=1))
    facts = collect(cells, folder, extent)
    say(f"\nThe paper's numbers for this setting ({SHOWN[problem].label}):")
    for line in facts["problems"][0]["summary"]:
        say(fill(line, 80))
    return write(facts, out)


def walk(model: Model, seed: int) -> dict[str, Any]:
    """Train, calibrate twice, decide, audit, and look at what happened."""
    rng = np.random.default_rng(seed)
    train, cal, test = (
        model.draw(rng, size) for size in (model.training, CALIBRATION, model.test)
    )
    sets = model.sets.fit(*train)
    # A promise about this very sample: a single one is all that is shown.
    sets.calibrate(*cal, alpha=ALPHA, guarantee=PAC(DELTA))
    policy = model.build(sets).compile()
    rows = [_row("the outcome stays in its set", policy, sets.budget_, test)]
    policy.calibrate(*cal, alpha=ALPHA, delta=DELTA)
    rows.append(_row("the decision keeps its promise", policy, policy.budget_, test))
    return {"training": model.training, "test": model.test, "rows": rows}


def _row(promise: str, policy: Any, budget: Any, test: Any) -> dict[str, Any]:
    decisions = policy.decide(test[0][:50])
    evaluation = policy.evaluate(*test)
    low, high = evaluation.interval
    return {
        "promise": promise,
        "budget": float(budget),
        "violation": float(evaluation.violation),
        "low": low,
        "high": high,
        "certified": float(np.mean(evaluation.certified)),
        "realised": float(np.mean(evaluation.realised)),
        "regret": float(np.mean(evaluation.regret)),
        "gap": float(np.max(np.abs(decisions.audit.gap))),
        "passed": bool(np.all(decisions.audit.passed)),
    }


def lines(problem: str, facts: dict[str, Any]) -> list[str]:
    """The walk in words and a table that fits 80 columns."""
    table = _table(facts["rows"])
    return [
        f"{problem}: a fresh model from {facts['training']} instances, calibrated on "
        f"{CALIBRATION},",
        f"decided and tested on {facts['test']} others. Asked: at most {ALPHA:.0%} "
        f"violations, with",
        f"confidence {1 - DELTA:.0%}.",
        "",
        *table_lines(table, {column: column for column in table.columns}),
        "",
        *_reading(facts["rows"]),
    ]


def _table(rows: list[dict[str, Any]]) -> Table:
    columns = ("calibrated so that", "budget", "violated", "certified", "realised")
    entries = [
        [
            *named(row["promise"]),
            Entry(f"{row['budget']:.3g}", row["budget"]),
            Entry(
                f"{row['violation']:.1%} [{row['low']:.1%}, {row['high']:.1%}]",
                row["violation"],
            ),
            *(Entry(f"{row[key]:.3f}", row[key]) for key in columns[3:]),
        ]
        for row in rows
    ]
    fared = ["good" if row["low"] <= ALPHA else "bad" for row in rows]
    return Table("From sets to decisions", "", columns, entries, fared)


def _reading(rows: list[dict[str, Any]]) -> list[str]:
    """How to read the table, and what it says."""
    kept = all(row["low"] <= ALPHA for row in rows)
    audit = "passed" if all(row["passed"] for row in rows) else "FAILED"
    gap = max(row["gap"] for row in rows)
    saved = rows[0]["certified"] - rows[1]["certified"]
    if saved > 1e-6:
        gained = [
            "An outcome outside its set need not hurt the decision, so calibrating the",
            f"decision itself certifies a cost lower by {saved:.3f}.",
        ]
    else:
        gained = [
            "Here a label outside its set always hurts, so there is nothing to gain by",
            "calibrating the decision itself; rounding its budget up to a grid costs "
            f"{-saved:.3f}.",
        ]
    return [
        "violated: how often the cost exceeded the certified one, with 95 % interval.",
        "certified: mean worst-case cost; realised: mean cost; lower is better.",
        f"Promise: {'kept' if kept else 'BROKEN'}.",
        *gained,
        f"Audit, worst cases found again from the sets: {audit}, gap {gap:.1g}.",
    ]
