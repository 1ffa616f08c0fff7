"""Import time of sublevel against that of CVXPY and scikit-learn alone.

Interleaved fresh processes, CPU seconds, medians. Aim: a ratio below 1.3.
"""

import statistics
import subprocess
import sys

CODE = (
    "import time; start = time.process_time(); import {}; "
    "print(time.process_time() - start)"
)


def cpu_seconds(modules: str) -> float:
    run = subprocess.run(
        [sys.executable, "-c", CODE.format(modules)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


def main(repetitions: int = 7) -> None:
    times: dict[str, list[float]] = {"cvxpy, sklearn": [], "sublevel": []}
    for _ in range(repetitions):
        for modules, found in times.items():
            found.append(cpu_seconds(modules))
    alone, ours = (statistics.median(found) for found in times.values())
    print(f"{'import':<16} {'CPU s':>8} {'ratio':>8}")
    print(f"{'cvxpy, sklearn':<16} {alone:8.2f} {1.0:8.2f}")
    print(f"{'sublevel':<16} {ours:8.2f} {ours / alone:8.2f}")


if __name__ == "__main__":
    main()
