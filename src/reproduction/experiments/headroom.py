"""The paper's radius beside the decision-aware one at the same level."""

from __future__ import annotations

from math import sqrt
from typing import Any

import pandas as pd

from sublevel.checks import Array

from .gathering import pick
from .settings import ALPHAS, EXPERIMENTS

#: By what factor ours should be smaller, by problem, and where that is asked.
WANTED = {"portfolio": 2.3, "shortest-path": 4.0}


def headroom(problem: str, table: pd.DataFrame) -> list[dict[str, Any]]:
    """For each setting, loss and level the three radii and what they realised."""
    compared = []
    for setting in EXPERIMENTS[problem].settings:
        here = pick(
            table, size=setting.size, degree=setting.degree, noise=setting.noise
        )
        if here.empty:
            continue
        for loss in ("MSE", "MSEV"):
            for alpha in ALPHAS:
                asked = _asked(problem, setting.noise, setting.degree)
                compared.append(
                    {"setting": setting.label, "noisy": setting.noise > 0}
                    | _row(here, loss, alpha, asked)
                )
    return compared


def _asked(problem: str, noise: float, degree: int) -> float | None:
    """The factor asked for, where the headroom is known to be there."""
    noisy = problem == "portfolio" and noise > 0
    return WANTED[problem] if noisy or degree == 1 else None


def _row(here: pd.DataFrame, loss: str, alpha: float, asked: float | None) -> Any:
    kinds = ("paper", "Th. 3.1", "decision-aware")
    rows = [
        pick(here, method=f"{loss}, {kind}", alpha=alpha).sort_values("seed")
        for kind in kinds
    ]
    paper, proved, aware = (part["radius"].to_numpy(dtype=float) for part in rows)
    return {
        "loss": loss,
        "alpha": alpha,
        "paper": float(paper.mean()),
        "population": float(rows[0]["population_radius"].mean()),
        "proved": float(proved.mean()),
        "aware": float(aware.mean()),
        "factor": float(paper.mean() / aware.mean()),
        "asked": asked,
        "verdict": _verdict(paper, aware, asked),
        "paper_violation": float(rows[0]["violation"].mean()),
        "aware_violation": float(rows[2]["violation"].mean()),
    }


def _verdict(paper: Array, aware: Array, asked: float | None) -> str:
    """Whether the mean radius is as much smaller as asked, or too close to tell."""
    if asked is None:
        return ""
    # Above zero if the factor is reached, seed by seed.
    spare = paper - asked * aware
    if spare.mean() >= 0:
        return "reached"
    error = float(spare.std(ddof=1)) / sqrt(spare.size) if spare.size > 1 else 0.0
    return "missed" if spare.mean() + 3 * error < 0 else "too close to tell"
