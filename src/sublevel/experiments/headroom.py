"""The paper's radius beside the decision-aware one at the same level."""

from __future__ import annotations

from typing import Any

import pandas as pd

from .gathering import pick
from .settings import ALPHAS, EXPERIMENTS

#: By what factor ours should be smaller, by problem, and where that is asked.
WANTED = {"portfolio": 2.3, "shortest-path": 4.0}


def headroom(problem: str, table: pd.DataFrame) -> list[dict[str, Any]]:
    """For each setting, loss and level the three radii and what they realised."""
    found = []
    for setting in EXPERIMENTS[problem].settings:
        here = pick(
            table, size=setting.size, degree=setting.degree, noise=setting.noise
        )
        if here.empty:
            continue
        for loss in ("MSE", "MSEV"):
            for alpha in ALPHAS:
                asked = _asked(problem, setting.noise, setting.degree)
                found.append(
                    {"setting": setting.label, **_row(here, loss, alpha, asked)}
                )
    return found


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
    factor = float((paper / aware).mean())
    return {
        "loss": loss,
        "alpha": alpha,
        "paper": float(paper.mean()),
        "population": float(rows[0]["population_radius"].mean()),
        "proved": float(proved.mean()),
        "aware": float(aware.mean()),
        "factor": factor,
        "asked": asked,
        "verdict": "" if asked is None else "reached" if factor >= asked else "missed",
        "paper_violation": float(rows[0]["violation"].mean()),
        "aware_violation": float(rows[2]["violation"].mean()),
    }
