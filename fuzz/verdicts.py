"""What the oracle says of what the roads came to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .model import Model
from .oracle import Best, Oracle
from .roads import Arrival, travel
from .source import parameter_names, written

#: Relative miss of a row, or difference of objectives, that counts.
TOLERANCE = 1e-5
#: Part of a row's unit below which its size is not taken: what a solver resolves.
LEAST_SIZE = 1e-3
#: The same for misses: a rule that is best at zero is next to zero on either side.
LEAST_ROW = 1e-2
#: Statuses without a decision in which a road says that it gives up.
GIVEN_UP = ("solver_failed", "out_of_rounds", "stopped_early")


@dataclass(frozen=True)
class Verdict:
    """A fault: its kind, and in words."""

    kind: str
    words: str


@dataclass(frozen=True, eq=False)
class Report:
    """What became of one model; `smallest` is of a smaller one with the same fault."""

    model: Model
    outcome: str
    verdicts: tuple[Verdict, ...]
    arrivals: tuple[Arrival, ...]
    best: Best | None = None
    smallest: Report | None = None


def examine(model: Model, twin: Model | None = None) -> Report:
    """Solve a model by every road and hold it against the oracle.

    Parameters
    ----------
    twin : the model the library is given, where a fault is planted; else the same
    """
    arrivals = travel(written(model if twin is None else twin))
    faults = [
        Verdict("raw error", f"{a.road}: {a.message}")
        for a in arrivals
        if a.status == "raw error"
    ]
    refused = [a for a in arrivals if a.status in ("refused", "outside_domain")]
    decided = [a for a in arrivals if a.status == "optimal"]
    if not faults and len(refused) == len(
        [a for a in arrivals if a.status != "no road"]
    ):
        return Report(model, "refused", (), tuple(arrivals))
    if model.twist == "empty set":
        return _of_empty_set(model, arrivals, faults)
    oracle = Oracle(model)
    taken = {a.road: decision_of(model, a) for a in arrivals if _has_numbers(a)}
    worst = {road: oracle.objective(d) for road, d in taken.items()}
    scale = max([w.size for w in worst.values()], default=0.0)
    scale = max(scale, LEAST_SIZE)
    for a in decided:
        faults += _robust(oracle, a, taken[a.road])
        faults += _honest(model, oracle, a, worst[a.road], scale)
    faults += _agree(model, arrivals, decided, scale)
    best = _optimal(oracle, arrivals, decided, taken, worst, scale, faults)
    faults += _failed_rightly(oracle, arrivals, taken, worst, best, scale)
    outcome = "failed" if faults else _outcome(arrivals, decided)
    return Report(model, outcome, tuple(faults), tuple(arrivals), best)


def _outcome(arrivals, decided):
    if decided:
        short = any(a.status in GIVEN_UP for a in arrivals)
        return "optimal, some road gave up" if short else "optimal"
    return next((a.status for a in arrivals if a.status != "no road"), "no road")


def _of_empty_set(model, arrivals, faults):
    for a in arrivals:
        if a.status not in ("empty_set", "no road", "raw error"):
            faults.append(Verdict("status", f"{a.road}: {a.status} over an empty set"))
    outcome = "failed" if faults else "empty_set"
    return Report(model, outcome, tuple(faults), tuple(arrivals))


def _has_numbers(a):
    return bool(a.numbers) and all(np.isfinite(v).all() for v in a.numbers.values())


def decision_of(model: Model, a: Arrival) -> np.ndarray:
    """The whole decision in numbers of order one."""
    parts = [a.numbers["x"] / model.x_unit]
    if model.booleans:
        parts.append(np.atleast_1d(a.numbers.get("z", np.zeros(model.booleans))))
    if model.rule is not None:
        rule = model.rule
        rows, entries = np.nonzero(rule.sees)
        parts.append(a.numbers.get("w intercept", np.zeros(len(rule.sees))) / rule.unit)
        slopes = a.numbers.get("w slopes", np.zeros(rows.size))
        parts.append(slopes * model.y_unit[entries] / rule.unit)
    return np.concatenate([np.ravel(part) for part in parts])


def _robust(oracle, a, decision):
    for kind, miss, size in oracle.misses(decision):
        if miss > TOLERANCE * max(size, LEAST_ROW):
            share = miss / max(size, LEAST_ROW)
            yield Verdict(
                "not robust", f"{a.road}: a row of {kind} misses by {share:.2e}"
            )


def _objective_unit(model):
    row = model.objective
    power = 2 if row.kind in ("square", "sum_squares") else 1
    return row.pieces[0].unit ** power * (-1 if model.maximise else 1)


def _honest(model, oracle, a, worst, scale):
    """The objective is what the decision is worth, and the worst outcome a member."""
    given = a.objective / _objective_unit(model)
    if abs(given - worst.value) > TOLERANCE * scale:
        kind = (
            "objective overstated" if given < worst.value else "objective understated"
        )
        if kind == "objective understated" and model.objective.kind in (
            "norm2",
            "sum_squares",
            "log_sum_exp",
        ):
            return  # the oracle's own worst case is only a lower bound there
        yield Verdict(kind, f"{a.road}: says {given:.9g}, is {worst.value:.9g}")
    names = [name for key in parameter_names(model) for name in key]
    if all(name in a.outcomes for name in names):
        y = np.concatenate([np.ravel(a.outcomes[n], order="F") for n in names])
        # An outcome that no part of the model asks for has no worst case.
        outside = (
            oracle.region.excess(y / model.y_unit) if np.isfinite(y).all() else 0.0
        )
        if outside > TOLERANCE:
            yield Verdict("outcome outside", f"{a.road}: by {outside:.2e} of the set")


def _agree(model, arrivals, decided, scale):
    unit = _objective_unit(model)
    for a in decided[1:]:
        apart = abs(a.objective - decided[0].objective) / abs(unit)
        if apart > TOLERANCE * scale:
            one, two = (f"{b.road} {b.objective:.9g}" for b in (decided[0], a))
            words = f"{one}, {two}"
            yield Verdict("roads apart", words)
    passive = (*GIVEN_UP, "no road", "raw error", "optimal", "audit_failed")
    for a in arrivals:
        if decided and a.status not in passive:
            words = f"{decided[0].road} optimal, {a.road} {a.status} {a.message[:120]}"
            yield Verdict("status", words)


def _optimal(oracle, arrivals, decided, taken, worst, scale, faults):
    """Hold objectives and statuses against the best there is."""
    if oracle.model.twist == "unbounded set":
        return Best("unknown", np.nan)  # the oracle's own set ends somewhere
    start = list(taken.values())
    best = oracle.best(start, min((worst[a.road].value for a in decided), default=None))
    if best.status == "unknown":
        return best
    for a in decided:
        if best.status != "optimal":
            faults.append(Verdict("status", f"{a.road} optimal, oracle {best.status}"))
        elif worst[a.road].value - best.value > TOLERANCE * scale:
            worth = f"{worst[a.road].value:.9g}"
            words = f"{a.road}: {worth} where {best.value:.9g} is possible"
            faults.append(Verdict("suboptimal", words))
    for a in arrivals:
        wrong = a.status in ("infeasible", "unbounded") and best.status != a.status
        if wrong:
            faults.append(
                Verdict("status", f"{a.road} {a.status}, oracle {best.status}")
            )
    return best


def _failed_rightly(oracle, arrivals, taken, worst, best, scale):
    """An audit must not fail a decision that is right."""
    for a in arrivals:
        if a.status != "audit_failed":
            continue
        if a.road not in taken:
            yield Verdict("audit failed", f"{a.road}: without a decision")
            continue
        tight = TOLERANCE / 10
        kept = all(
            miss <= tight * max(size, LEAST_SIZE)
            for _, miss, size in oracle.misses(taken[a.road])
        )
        good = (
            best.status == "optimal"
            and worst[a.road].value - best.value <= tight * scale
        )
        words = "right" if kept and good else "not right, and no other answer was found"
        yield Verdict("audit failed", f"{a.road}: the decision is {words}")


def again(model: Model, report: Report) -> bool:
    """Whether a model has one of the faults of a report."""
    kinds = {verdict.kind for verdict in report.verdicts}
    return any(verdict.kind in kinds for verdict in examine(model).verdicts)
