"""Flows and paths at the paper's radius, setting by setting."""

from __future__ import annotations

from typing import Any

import pandas as pd

from .gathering import pick
from .settings import EXPERIMENTS


def relaxation(problem: str, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Worst costs of flows and of paths, and the share of flows that split."""
    if "split" not in table:
        return []
    facts = []
    for setting in EXPERIMENTS[problem].settings:
        here = pick(table, degree=setting.degree, noise=setting.noise)
        for loss in ("MSE", "MSEV"):
            rows = pick(here, method=f"{loss}, flow")
            if not rows.empty:
                means = rows[["integer", "relaxed", "split"]].mean()
                facts.append({"setting": setting.label, "loss": loss, **dict(means)})
    return facts
