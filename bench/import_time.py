"""Cold starts: what a process spends before its first decision.

Interleaved fresh processes, CPU seconds from their start, medians. A saved policy
decides its first context with NumPy and Clarabel (aim: 0.5 s); one of scikit-learn's
models has to be imported to predict. Beside it what importing alone costs.
Run with `python bench/import_time.py [repetitions]`.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import cvxpy as cp
import numpy as np
from sklearn.linear_model import Ridge

import sublevel as sl

SPENT = "; import time; print(time.process_time())"
DECIDE = (
    "import pickle, numpy as np, sublevel as sl; "
    "model = pickle.load(open({model!r}, 'rb')) if {model!r} else "
    "(lambda X: X @ np.ones((3, 5))); "
    "sl.load_policy({path!r}, {{'r': model}}).decide(np.ones((1, 3)))"
)


def save(folder):
    """A policy and its model in files."""
    import pickle

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    Y = X @ np.ones((3, 5)) + rng.normal(size=(200, 5))
    model = Ridge(alpha=1e-9).fit(X, X @ np.ones((3, 5)))
    r, w = sl.Uncertain(5, name="r"), cp.Variable(5, nonneg=True, name="w")
    goal = cp.Maximize(r @ w)
    policy = sl.RobustProblem(goal, [cp.sum(w) == 1], {r: sl.LossSet(model)}).compile()
    policy.calibrate(X, Y, alpha=0.1).save(folder / "policy")
    (folder / "model").write_bytes(pickle.dumps(model))
    return str(folder / "policy"), str(folder / "model")


def cpu_seconds(program):
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program + SPENT],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


def main(repetitions=7):
    with tempfile.TemporaryDirectory() as folder:
        path, model = save(Path(folder))
        programs = {
            "python": "pass",
            "import numpy": "import numpy",
            "import numpy, clarabel, sublevel": "import numpy, clarabel, sublevel",
            "load a policy, decide": DECIDE.format(path=path, model=""),
            "the same with a Ridge": DECIDE.format(path=path, model=model),
            "import cvxpy": "import cvxpy",
            "import cvxpy, sklearn": "import cvxpy, sklearn",
        }
        times = {name: [] for name in programs}
        for _ in range(repetitions):
            for name, program in programs.items():
                times[name].append(cpu_seconds(program))
    print(f"{'CPU s from the start of a process':<36}{'median':>8}{'least':>8}")
    for name, spent in times.items():
        print(f"{name:<36}{statistics.median(spent):>8.2f}{min(spent):>8.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
