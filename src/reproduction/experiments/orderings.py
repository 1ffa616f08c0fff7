"""What the paper says in words about its experiments, checked: true or false.

A statement is compared setting by setting and level by level, on means over seeds; it
is true if it holds in all of them, and the count is given where it does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import pandas as pd

from .gathering import KEYS
from .promises import calibrate_level

_OURS = ("MSE, paper", "MSEV, paper")
_AWARE = ("MSE, decision-aware", "MSEV, decision-aware")
#: Whether something holds, by setting and level.
Held: TypeAlias = "pd.Series[bool]"


def orderings(problem: str, table: pd.DataFrame) -> list[dict[str, Any]]:
    """The statements about a problem, with verdict and evidence."""
    means = _means(table)
    if problem == "newsvendor":
        return list(_newsvendor(means))
    both = list(_both_problems(means, table))
    if problem == "portfolio":
        return both + list(_portfolio(means))
    return both + list(_path(means, table))


def _newsvendor(means: pd.DataFrame) -> Iterable[dict[str, Any]]:
    for holding in (4.0, 2.0):
        here = means[means["holding"] == holding]
        for quantity in ("objective", "regret"):
            pairs = _against(here, "Cross-entropy, paper", "Phi-divergence", quantity)
            yield _said(
                f"The loss-based set is below the phi-divergence set in {quantity} "
                f"(holding cost {holding:g}).",
                pairs,
            )


def _both_problems(
    means: pd.DataFrame, table: pd.DataFrame
) -> Iterable[dict[str, Any]]:
    for quantity in ("objective", "regret"):
        for names, radius in ((_OURS, "the paper's"), (_AWARE, "the decision-aware")):
            pairs = [_against(means, one, "Classical", quantity) for one in names]
            yield _said(
                f"Loss-based sets with {radius} radius are below the classical "
                f"ellipsoid in {quantity}.",
                pd.concat(pairs),
            )
    yield _calibrate(means, table)
    for other in ("SPO+", "kNN"):
        yield _between(means, other)


def _calibrate(means: pd.DataFrame, table: pd.DataFrame) -> dict[str, Any]:
    lower = _against(means, "Predict, then calibrate", "Classical", "objective")
    fewest = int(table["instances"].min())
    most = int(table["instances"].max())
    empty = calibrate_level(most) >= 1
    return _said(
        "Predict-then-calibrate is low in objective, but has no meaningful guarantee "
        "at these sample sizes.",
        lower & empty,
        f" With the {_range(fewest, most)} instances left to calibrate on, its theorem "
        f"allows violations of {calibrate_level(most):.0%}: it says nothing.",
    )


def _between(means: pd.DataFrame, other: str) -> dict[str, Any]:
    """Whether a method's regret is below the classical one and above both of ours."""
    below = _against(means, other, "Classical", "regret")
    ours = [_against(means, one, other, "regret") for one in _OURS]
    above = ours[0] & ours[1]
    return _said(
        f"{other} is between the classical ellipsoid and both loss-based sets in "
        "regret.",
        below & above,
        f" Below the classical one in {sum(below)}, above both of ours in "
        f"{sum(above)}.",
    )


def _portfolio(means: pd.DataFrame) -> Iterable[dict[str, Any]]:
    loud = means[means["noise"] == 1.0]
    yield _said(
        "At noise 1 the MSEV radius is below the MSE radius.",
        _against(loud, "MSEV, paper", "MSE, paper", "published_unit"),
    )
    for loss in _OURS:
        rows = means[means["method"] == loss]
        few, many = (
            rows[rows["size"] == size].set_index(["noise", "alpha"])["published_unit"]
            for size in (1000, 10_000)
        )
        yield _said(
            f"The {loss.split(',')[0]} radius shrinks from N = 1000 to 10000.",
            many < few,
        )


def _path(means: pd.DataFrame, table: pd.DataFrame) -> Iterable[dict[str, Any]]:
    for loss in _OURS:
        rows = means[means["method"] == loss]
        low, high = (
            rows[rows["degree"] == degree].set_index(["noise", "alpha"])
            for degree in (1, 4)
        )
        smaller = high["published_unit"] < low["published_unit"]
        yield _said(
            f"The {loss.split(',')[0]} radius shrinks as the degree grows from 1 to 4.",
            smaller,
        )
    flows = table[table["method"].str.endswith("flow")]
    by_loss = flows.groupby("method")["split"].mean()
    equal = _regret_alike(means)
    yield _said(
        "With sets of equal spread (MSE) the robust path is the nominal one at every "
        "radius.",
        equal,
        " Every path has 8 edges. As a flow, which may split, the robust optimum is "
        f"no path in {by_loss['MSE, flow']:.0%} (MSE) and {by_loss['MSEV, flow']:.0%} "
        "(MSEV) of the instances at the paper's radius.",
    )


def _regret_alike(means: pd.DataFrame) -> Held:
    keys = [key for key in KEYS if key != "method"]
    robust, nominal = (
        means[means["method"] == one].set_index(keys)["regret"]
        for one in ("MSE, paper", "Predict, then optimise")
    )
    return (robust - nominal).abs() < 1e-9


def _means(table: pd.DataFrame) -> pd.DataFrame:
    columns = ["objective", "regret", "violation", "published_unit"]
    present = [column for column in columns if column in table]
    rows = table[table["objective"].notna()]
    return rows.groupby(list(KEYS), sort=False)[present].mean().reset_index()


def _against(means: pd.DataFrame, one: str, other: str, quantity: str) -> Held:
    """Whether one method is below the other, by setting and level."""
    keys = [key for key in KEYS if key != "method"]
    first, second = (
        means[means["method"] == method].set_index(keys)[quantity]
        for method in (one, other)
    )
    return first < second.reindex(first.index)


def _said(statement: str, held: Held, evidence: str = "") -> dict[str, Any]:
    count, total = int(held.sum()), len(held)
    where = f" Not at {_where(held)}." if _where(held) else ""
    return {
        "statement": statement,
        "verdict": "true" if count == total else "false",
        "evidence": f"It holds in {count} of {total} comparisons.{where}{evidence}",
    }


def _where(held: Held) -> str:
    """What tells the exceptions apart from the rest, if anything does."""
    parts = []
    for key in ("size", "degree", "noise", "alpha"):
        if key in held.index.names:
            values = held.index.get_level_values(key)
            off = sorted(set(values[~held.to_numpy()]))
            if 0 < len(off) < values.nunique():
                shown = ", ".join(f"{value:g}" for value in off)
                parts.append(f"{'N' if key == 'size' else key} {shown}")
    return "; ".join(parts)


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"
