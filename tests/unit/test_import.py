"""What is loaded, and when: with `import sublevel` nothing, with a policy little."""

import json
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl

HEAVY = ["cvxpy", "sklearn", "pandas", "scipy", "joblib"]
OPTIONAL = ["torch", "matplotlib", "typer", "lightgbm", "dask", "pyomo", "reproduction"]

SEEN = "print([name for name in {names} if name in sys.modules])"

DECIDES = """
import json, sys
import numpy as np
import sublevel as sl

given = json.load(sys.stdin)
slopes, X = np.array(given["slopes"]), np.array(given["X"])

class Line:
    def predict(self, X, return_std=False):
        location = X @ slopes
        return (location, np.full(location.shape, 0.5)) if return_std else location

if {by_model}:
    decisions = sl.load_policy({path!r}, {{"y": Line()}}).decide(X)
else:
    said = sl.Prediction(*Line().predict(X, return_std=True))
    decisions = sl.load_policy({path!r}).decide(said, trusted=True)
seen = [name for name in {names} if name in sys.modules]
promised = decisions.certificate is not None
print(json.dumps([decisions.objective.tolist(), promised, seen]))
"""


def run(program, **given):
    finished = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    return finished.stdout.strip()


def test_import_brings_nothing_heavy_and_nothing_optional():
    names = HEAVY + OPTIONAL
    assert run(f"import sys, sublevel; {SEEN.format(names=names)}") == "[]"


def test_the_check_sees_what_is_imported():
    used = "import sys, sublevel as sl; sl.RobustProblem, sl.LossSet"
    assert run(f"{used}; {SEEN.format(names=HEAVY)}") == str(HEAVY)


def portfolio(r, w):
    return cp.Maximize(r @ w)


def curved(r, w):
    return cp.Maximize(r @ w - cp.sum_squares(w) - cp.norm(w, 1))


def bent(r, w):
    return cp.Minimize(cp.sum(cp.pos(r - w)) + 0.1 * cp.sum(cp.abs(r - 2 * w)))


SLOPES = np.array([[1.0, -0.5, 0.2], [0.0, 0.3, -1.0]])


class Line:
    def predict(self, X, return_std=False):
        location = X @ SLOPES
        return (location, np.full(location.shape, 0.5)) if return_std else location


def sample(n, rng):
    X = rng.normal(size=(n, 2))
    return X, X @ SLOPES + 0.3 * rng.normal(size=(n, 3))


@pytest.mark.parametrize(
    "objective, loss",
    [(portfolio, "squared"), (curved, "gaussian"), (bent, "absolute")],
)
@pytest.mark.parametrize("by_model", [True, False])
def test_a_saved_policy_decides_with_numpy_and_a_solver(
    objective, loss, by_model, tmp_path
):
    rng = np.random.default_rng(0)
    sets = sl.LossSet(Line(), loss=loss).calibrate(*sample(60, rng), alpha=0.1)
    r, w = sl.Uncertain(3, name="y"), cp.Variable(3, nonneg=True, name="w")
    problem = sl.RobustProblem(objective(r, w), [cp.sum(w) == 1], {r: sets})
    policy = problem.compile()
    X, _ = sample(3, rng)
    expected = policy.decide(X).objective
    path = str(tmp_path / "policy")
    policy.save(path)
    program = DECIDES.format(path=path, by_model=by_model, names=HEAVY)
    there = run(program, slopes=SLOPES.tolist(), X=X.tolist())
    objectives, promised, seen = json.loads(there)
    assert seen == []
    assert promised
    np.testing.assert_allclose(objectives, expected, rtol=1e-9)


def test_every_public_name_is_shown_and_there():
    for module in (sl, sl.robust, sl.predictions):
        assert set(module.__all__) <= set(dir(module))
        for name in module.__all__:
            assert getattr(module, name) is not None
    assert "NotCalibrated" in dir(sl.errors)
    with pytest.raises(AttributeError, match="'sublevel' has no attribute 'Losset'"):
        sl.Losset  # noqa: B018


def test_a_module_in_use_hides_no_function():
    program = "import sublevel.diagnosis, sublevel as sl; print(callable(sl.diagnose))"
    assert run(program) == "True"


def test_a_name_looked_for_one_floor_too_high_is_pointed_to():
    with pytest.raises(AttributeError, match=r"'Mondrian'. It is in sublevel.guarant"):
        sl.Mondrian  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'Nothing'$"):
        sl.Nothing  # noqa: B018
    assert not hasattr(sl, "_repr_html_")
