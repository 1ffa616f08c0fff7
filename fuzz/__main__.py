"""`python -m fuzz --seed 0 --models 300 --jobs 1`: exit code 1 if anything failed."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from dataclasses import replace

from joblib import Parallel, delayed

from .drawing import draw
from .shrinking import shrink
from .source import written
from .table import others, refusals, table
from .verdicts import Report, Verdict, again, examine

ENDING = """
for engine in ("auto", "cuts"):
    decision = problem.solve(X, engine=engine)
    print(engine, decision.status, decision.objective, decision.value("x"))
"""


def look(seed: int, shrunk: bool) -> Report:
    """Draw the model of a seed and examine it; a failing one is made smaller."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = draw(seed)
        try:
            report = examine(model)
        except Exception:
            words = traceback.format_exc(limit=-3)
            return Report(model, "failed", (Verdict("fuzzer", words),), ())
        if report.verdicts and shrunk:
            smaller = shrink(model, lambda other: again(other, report))
            return replace(report, smallest=examine(smaller))
        return report


def show(report: Report) -> str:
    """A failure: what is wrong, and a script of its own."""
    report = report.smallest or report
    wrong = "\n".join(f"# {v.kind}: {v.words}" for v in report.verdicts)
    roads = ", ".join(f"{a.road} {a.status}" for a in report.arrivals)
    head = f"# seed {report.model.seed}\n{wrong}\n# {roads}\n"
    return f"{head}{written(report.model)}{ENDING}"


def main(arguments: list[str] | None = None) -> int:
    """Run, print failures as they come, then the table."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="seed of the first model")
    parser.add_argument("--models", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-shrink", action="store_true")
    given = parser.parse_args(arguments)
    seeds = range(given.seed, given.seed + given.models)
    began = time.perf_counter()
    run = Parallel(n_jobs=given.jobs, return_as="generator")
    reports = []
    for report in run(delayed(look)(seed, not given.no_shrink) for seed in seeds):
        reports.append(report)
        if report.verdicts:
            print(f"\n{'=' * 80}\n{show(report)}", flush=True)
    print(
        f"\n{table(reports)}\n\nrefused\n{refusals(reports)}\n\nother\n{others(reports)}"
    )
    failed = [r.model.seed for r in reports if r.verdicts]
    print(f"\n{len(reports)} models in {time.perf_counter() - began:.0f} s, ", end="")
    print(f"{len(failed)} failed: seeds {failed}" if failed else "none failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
