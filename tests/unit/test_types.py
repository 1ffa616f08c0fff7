"""What an editor knows of a user's script: mypy and pyright on the README example."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: What each public call of the example gives; the type begins with, or has, this word.
CALLS = {
    "sets": "LossSet",
    "sets.fit(X[train], Y[train])": "LossSet",
    "returns": "Uncertain",
    "problem": "RobustProblem",
    "problem.compile()": "Policy",
    "policy": "Policy",
    "decisions": "Decisions",
    "decisions[0]": "Decision",
    "decisions.audit": "Audits",
    "decisions.audit.passed": "bool",
    "decisions.certificate": "Certificate",
    "decisions.value(share)": "float64",
    "decisions.to_pandas()": "DataFrame",
    "policy.evaluate(X[new], Y[new])": "Evaluation",
    "policy.radius_": "float",
    "sets.calibrate(X[fold], Y[fold], alpha=0.1)": "LossSet",
    "sets.budget_": "float",
    "sets.radius_": "float",
    "sets.certificate_": "Certificate",
    "sets.scores_": "float64",
    "sets.scores(X[new], Y[new])": "float64",
    "batch": "Batch",
    "batch.contains(Y[new])": "bool",
    "batch.support([1, 1, 1])": "float64",
    "batch.worst_case([1, 1, 1])": "float64",
    "batch.bounds()": "float64",
    "batch[0]": "UncertaintySet",
    "batch[0].support([1, 1, 1])": "float",
    # What a truth value has and an array does not, and the other way round.
    "batch[0].contains([0.1, 0.1, 0.1]).bit_length()": "int",
    "batch[0].contains([[0.1, 0.1, 0.1]]).shape": "tuple",
}

#: Lines whose types pyright infers from scikit-learn's and CVXPY's source, wrongly.
OTHERS = ("make_regression(", "worst.solve()")

MISSPELT = [
    "policy.calibrate(X[fold], Y[fold], alhpa=0.1)",
    "sets.calibrate(X[fold], Y[fold], alhpa=0.1)",
    'problem.compile(engin="dual")',
    'sl.LossSet(RandomForestRegressor(), los="squared")',
    "policy.decide(X[new], n_job=2)",
]


def has_any(kind: str) -> bool:
    """Whether a type is not known; the shape of an array never is."""
    rest = kind.replace("tuple[Any, ...]", "")
    return re.search(r"\b(Any|Unknown)\b", rest) is not None


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The example, what is asked of it, and misspelt calls; the line of the first."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    example = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    lines = example.splitlines()
    start = len(lines) + 1
    lines += [f"reveal_type({call})" for call in CALLS] + MISSPELT
    path = tmp_path_factory.mktemp("user") / "script.py"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path, start


def run(module: str, path: Path, *more: str) -> str:
    """What a checker prints; without the checker, a failure in CI, else a skip."""
    command = [sys.executable, "-m", module, *more, str(path)]
    there = subprocess.run(
        [sys.executable, "-c", f"import {module}"], capture_output=True, check=False
    )
    if there.returncode:
        words = f"{module} is missing: pip install -e '.[dev]'"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(words)
    environment = os.environ | {"MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=path.parent,
        env=environment,
        check=False,
    )
    return done.stdout


def by_mypy(path: Path) -> list[tuple[int, str, str]]:
    # Only what is said of the script itself; the library has a check of its own.
    quiet = (
        "--follow-imports=silent",
        "--ignore-missing-imports",
        "--no-error-summary",
    )
    output = run("mypy", path, "--config-file=", "--cache-dir=cache", *quiet)
    pattern = re.compile(r"^[^:\n]*script\.py:(\d+): (\w+): (.*)$", re.MULTILINE)
    return [(int(n), kind, words) for n, kind, words in pattern.findall(output)]


def by_pyright(path: Path) -> list[tuple[int, str, str]]:
    settings = {"extraPaths": [str(ROOT / "src")], "typeCheckingMode": "standard"}
    project = path.parent / "pyrightconfig.json"
    project.write_text(json.dumps(settings), encoding="utf-8")
    output = run("basedpyright", path, "--outputjson", "--pythonpath", sys.executable)
    return [
        (each["range"]["start"]["line"] + 1, each["severity"], each["message"])
        for each in json.loads(output)["generalDiagnostics"]
    ]


@pytest.mark.parametrize("checker", [by_mypy, by_pyright])
def test_an_editor_knows_the_types_of_the_readme_example(script, checker):
    path, start = script
    reports = checker(path)
    misspelt = start + len(CALLS)
    written = path.read_text(encoding="utf-8").splitlines()
    errors = [r for r in reports if r[1] == "error" and r[0] < misspelt]
    ours = [r for r in errors if not any(o in written[r[0] - 1] for o in OTHERS)]
    assert ours == []
    revealed = {line: words for line, kind, words in reports if kind != "error"}
    for line, (call, name) in enumerate(CALLS.items(), start):
        kind = re.search(r'(?:Revealed type is|" is) "(.*)"', revealed[line]).group(1)
        assert name in kind, call
        assert not has_any(kind), (call, kind)
    wrong = {line for line, kind, _ in reports if kind == "error" and line >= misspelt}
    assert wrong == set(range(misspelt, misspelt + len(MISSPELT)))
