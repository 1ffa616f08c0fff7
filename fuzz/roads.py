"""The roads from a script to a decision, and what comes of each."""

from __future__ import annotations

import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sublevel import errors, load_policy

#: Seconds after which a road counts as hanging.
PATIENCE = 60
#: Errors of `solve` that are statuses of `decide`.
STATUSES = {
    errors.EmptySet: "empty_set",
    errors.Unbounded: "unbounded_set",
    errors.SolverFailed: "solver_failed",
    errors.NotRobustifiable: "refused",
    errors.OutsideDomain: "outside_domain",
    errors.InvalidParameter: "refused",
}


@dataclass(frozen=True)
class Arrival:
    """What a road came to: a status, and the decision where there is one."""

    road: str
    status: str
    objective: float = np.nan
    numbers: dict[str, np.ndarray] | None = None
    outcomes: dict[str, np.ndarray] | None = None
    message: str = ""


def travel(text: str) -> list[Arrival]:
    """Run a script, then take every road."""
    place: dict[str, Any] = {}
    built = _arrive("model", lambda: exec(text, place))
    if built is not None:
        return [built]
    problem, X, sets = place["problem"], place["X"], place["sets"]
    arrivals = []
    for road, way in (
        ("solve", lambda: problem.solve(X)),
        ("cuts", lambda: problem.solve(X, engine="cuts")),
        ("decide", lambda: problem.compile().decide(_three(X))[-1]),
        ("saved", lambda: _through_file(problem, X, sets)),
    ):
        box: list[Any] = []
        trouble = _arrive(road, lambda way=way, box=box: box.append(way()))
        arrival = trouble or _arrival(road, box[0])
        if road == "saved" and arrival.status == "refused":
            # A user's own loss cannot be written to a file, and a sentence says so.
            arrival = Arrival(road, "no road", message=arrival.message)
        arrivals.append(arrival)
    return arrivals


def _three(X):
    return None if X is None else np.repeat(X, 3, axis=0)


def _through_file(problem, X, sets):
    policy = problem.compile()
    if policy.one_by_one is not None:
        return None  # said to be impossible, with a sentence
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        policy.save(path)
        return load_policy(path, sets).decide(X)[0]


def _arrival(road, decision):
    if decision is None:
        return Arrival(road, "no road")
    numbers = {name.name: value for name, value in decision.variables.items()}
    outcomes = {name.name: value for name, value in decision.outcomes.items()}
    return Arrival(road, decision.status, decision.objective, numbers, outcomes)


def _arrive(road, action):
    """Do it; an Arrival if it ends in an error."""
    try:
        with warnings.catch_warnings(), patience():
            warnings.simplefilter("ignore")
            action()
    except errors.SublevelError as error:
        status = next(
            (word for kind, word in STATUSES.items() if type(error) is kind),
            type(error).__name__,
        )
        return Arrival(road, status, message=str(error))
    except Exception as error:
        return Arrival(road, "raw error", message=f"{type(error).__name__}: {error}")
    return None


@contextmanager
def patience() -> Iterator[None]:
    """Give up on what hangs, with an error."""

    def stop(*_):
        raise TimeoutError(f"no answer in {PATIENCE} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
