"""One problem of the paper: from a fresh model to audited decisions, and its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..experiments import EXTENTS, Cell, collect, open_folder, require_all, run_all
from ..report import write
from .problem_models import SHOWN, Model, model_of

ALPHA = 0.1
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
    model = model_of(problem)
    setting, extent = SHOWN[problem], replace(EXTENTS["quick"], root=seed)
    folder = open_folder(out, extent)
    for line in lines(problem, walk(model, seed)):
        say(line)
    cells = [Cell(setting, tuple(range(extent.seeds)), extent)]
    require_all(run_all(cells, folder, jobs=1))
    facts = collect(cells, folder, extent)
    say("\nThe paper's numbers for this setting, and every method it compares:")
    for line in facts["problems"][0]["summary"]:
        say(line)
    return write(facts, out)


def walk(model: Model, seed: int) -> dict[str, Any]:
    """Train, calibrate twice, decide, audit, and look at what happened."""
    rng = np.random.default_rng(seed)
    train, cal, test = (
        model.draw(rng, size) for size in (model.training, CALIBRATION, model.test)
    )
    sets = model.sets.fit(*train)
    sets.calibrate(*cal, alpha=ALPHA)
    policy = model.build(sets).compile()
    rows = [_row("the outcome stays in its set", policy, sets.budget_, test)]
    policy.calibrate(*cal, alpha=ALPHA)
    rows.append(_row("the decision keeps its word", policy, policy.budget_, test))
    return {"training": model.training, "test": model.test, "rows": rows}


def _row(promise: str, policy: Any, budget: Any, test: Any) -> dict[str, Any]:
    decisions = policy.decide(test[0][:50])
    found = policy.evaluate(*test)
    low, high = found.interval
    return {
        "promise": promise,
        "budget": float(budget),
        "violation": float(found.violation),
        "low": low,
        "high": high,
        "certified": float(np.mean(found.certified)),
        "realised": float(np.mean(found.realised)),
        "regret": float(np.mean(found.regret)),
        "gap": float(np.max(np.abs(decisions.audit.gap))),
        "passed": bool(np.all(decisions.audit.passed)),
    }


def lines(problem: str, facts: dict[str, Any]) -> list[str]:
    """The walk in words and a table that fits 80 columns."""
    said = [
        f"{problem}: a fresh model from {facts['training']} instances, calibrated on "
        f"{CALIBRATION},",
        f"decided and tested on {facts['test']} others. Asked: at most {ALPHA:.0%} "
        "violations.",
        "",
        f"{'calibrated so that':29}{'budget':>8}{'violated':>21}{'certified':>11}"
        f"{'realised':>10}",
    ]
    for row in facts["rows"]:
        rate = f"{row['violation']:.1%} [{row['low']:.1%}, {row['high']:.1%}]"
        said.append(
            f"{row['promise']:29}{row['budget']:8.3g}{rate:>21}{row['certified']:11.3f}"
            f"{row['realised']:10.3f}"
        )
    gap = max(row["gap"] for row in facts["rows"])
    verdict = "passed" if all(row["passed"] for row in facts["rows"]) else "FAILED"
    said += [
        "",
        "certified: mean worst-case cost; realised: mean cost; lower is better. An",
        "outcome outside its set need not hurt the decision: calibrating the decision",
        "itself keeps the level with a smaller set.",
        f"Audit, worst cases found again from the sets: {verdict}, largest gap "
        f"{gap:.1g}.",
    ]
    return said
