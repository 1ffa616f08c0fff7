"""Results: as a table, as JSON, and next to those of an earlier run."""

import json
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from measuring.turns import CLOSE

#: The method whose ratio to the reference is printed the other way round as well.
OURS = "ours"
PACKAGES = ("sublevel", "numpy", "clarabel", "cvxpy", "numba", "rsome", "moreau")


def about(quick):
    """What the numbers depend on."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "quick": quick,
    }


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def as_json(about, timed, curves, extras):
    rows = [asdict(t) | {"cost": t.cost, "ratio": t.ratio} for t in timed]
    parts = {"about": about, "rows": rows, "curves": curves, "extras": extras}
    return json.dumps(parts, indent=1)


def heading(methods):
    costs = "".join(f"{m:>18}" for m in methods)
    return (
        f"{'CPU us a context, (ratio to the first)':<14}\n"
        f"{'':<16}{costs}{'times less':>12}{'handed over':>13}{'differ':>9}"
    )


def row(timed, methods):
    """One line of the table: a case."""
    by_method = {t.method: t for t in timed}
    cells = []
    for name in methods:
        t = by_method.get(name)
        cells.append("-" if t is None else f"{1e6 * t.cost:.0f} ({t.ratio:.3g})")
    worst = max(t.differ for t in timed)
    mark = (
        ""
        if worst <= CLOSE
        else "  WRONG: "
        + ", ".join(f"{t.method} {t.differ:.1e}" for t in timed if t.is_wrong)
    )
    line = "".join(f"{cell:>18}" for cell in cells)
    ours = by_method.get(OURS)
    less = "-" if ours is None else f"{1 / ours.ratio:.1f}"
    handed = "-" if ours is None or ours.handed is None else f"{ours.handed:.1%}"
    return f"{timed[0].case:<16}{line}{less:>12}{handed:>13}{worst:>9.0e}{mark}"


def compared(rows, earlier):
    """Ratios to the reference next to those of an earlier run, as lines."""
    before = {(r["case"], r["method"]): r["ratio"] for r in earlier["rows"]}
    lines = [f"{'case':<16}{'method':<20}{'before':>9}{'after':>9}{'change':>9}"]
    for timed in rows:
        old = before.get((timed.case, timed.method))
        if old is not None and timed.method != rows[0].method:
            change = timed.ratio / old
            lines.append(
                f"{timed.case:<16}{timed.method:<20}{old:>9.3g}{timed.ratio:>9.3g}"
                f"{change:>9.2f}"
            )
    return lines
