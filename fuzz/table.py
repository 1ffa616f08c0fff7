"""What became of all the models, family by family."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from .verdicts import Report

COLUMNS = ("models", "optimal", "refused", "other", "failed")


def table(reports: Sequence[Report]) -> str:
    """One line a family: models, optimal, refused, other statuses, failed."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for report in reports:
        for name in ("all", *report.model.labels()):
            counts[name]["models"] += 1
            counts[name][_column(report)] += 1
    width = max(map(len, counts), default=0)
    lines = [" " * width + "".join(f"{name:>9}" for name in COLUMNS)]
    for name in sorted(counts, key=lambda name: (name != "all", name)):
        numbers = "".join(f"{counts[name][column]:>9}" for column in COLUMNS)
        lines.append(f"{name:<{width}}{numbers}")
    return "\n".join(lines)


def refusals(reports: Sequence[Report], most: int = 12) -> str:
    """What was refused, by the last sentences of the messages."""
    reasons = Counter(
        _reason(report.arrivals[0].message)
        for report in reports
        if report.outcome == "refused"
    )
    return "\n".join(f"{n:>5}  {reason}" for reason, n in reasons.most_common(most))


def others(reports: Sequence[Report]) -> str:
    """Statuses without a decision, with the seeds that show them."""
    seeds = defaultdict(list)
    for report in reports:
        if _column(report) == "other":
            seeds[report.outcome].append(report.model.seed)
        for arrival in report.arrivals:
            if arrival.status in ("solver_failed", "out_of_rounds"):
                seeds[f"{arrival.road} {arrival.status}"].append(report.model.seed)
    return "\n".join(
        f"{len(of):>5}  {name}: seeds {', '.join(map(str, of[:8]))}"
        for name, of in sorted(seeds.items())
    )


def _column(report):
    outcome = report.outcome.split(",")[0]
    return outcome if outcome in ("optimal", "refused", "failed") else "other"


def _reason(message):
    return message.split(": ", 1)[-1][-110:].replace("\n", " ")
