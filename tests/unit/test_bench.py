"""The benchmark says what is wrong, and compares what can be compared."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    from measuring import results, turns

    yield turns, results
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("measuring", "problems"):
            del sys.modules[name]


class Case:
    name, size, X = "P1(2)", 2, np.zeros((40, 1))


class Way:
    """Objectives are the numbers of the rows, off by something at one of them."""

    def __init__(self, name, off=0.0, row=0):
        self.name, self.off, self.row = name, off, row

    def prepare(self, case):
        if self.name == "cannot":
            return None
        return lambda rows: rows + np.where(rows == self.row, self.off, 0.0)


def test_one_wrong_objective_is_seen(bench):
    turns, results = bench
    ways = [Way("raw"), Way("ours"), Way("wrong", 1e-4, 7), Way("lost", np.nan, 7)]
    timed = turns.take_turns(Case, [*ways, Way("cannot")], 3)
    assert [t.method for t in timed] == ["raw", "ours", "wrong", "lost"]
    assert [t.contexts for t in timed] == [40] * 4
    assert [t.is_wrong for t in timed] == [False, False, True, True]
    line = results.row(timed, ["raw", "ours", "wrong", "lost", "cannot"])
    assert "WRONG: wrong" in line
    assert "-" in line.split()


def test_earlier_results_are_compared_by_their_ratios(bench):
    turns, results = bench
    timed = [
        turns.Timed("P1(2)", "raw", 2, 9, [2.0], [1.0], 0.0),
        turns.Timed("P1(2)", "ours", 2, 9, [3.0], [1.5], 0.0),
        turns.Timed("P9(2)", "ours", 2, 9, [3.0], [1.5], 0.0),
    ]
    written = results.as_json(results.about(True), timed, {}, [])
    earlier = json.loads(written)
    earlier["rows"][1]["ratio"] = 3.0
    earlier["rows"].pop()
    lines = results.compared(timed, earlier)
    assert len(lines) == 2
    assert lines[1].split() == ["P1(2)", "ours", "3", "1.5", "0.50"]


def test_a_context_more_does_not_hide_in_the_size_of_the_objective(bench):
    from problems.methods import differences

    far = differences(np.array([1.0 + 1e-5, 1e6]), np.array([1.0, 1e6 + 0.1]))
    np.testing.assert_allclose(far, [5e-6, 1e-7], rtol=1e-3)


def test_every_way_of_many_rows_solves_the_same_problem(bench):
    from problems.cases import many_rows

    case = many_rows(6, 3, 2, np.random.default_rng(0))
    rows = np.arange(2)
    written = case.resolve("CLARABEL")(rows)
    np.testing.assert_allclose(written, case.raw(rows), rtol=1e-6)
    ours = case.pose().compile().decide(case.X).objective
    np.testing.assert_allclose(ours, written, rtol=1e-6)
    # Read column by column instead, the parameters are another problem's.
    mixed = [s.reshape(2, 6, 3).swapaxes(1, 2).reshape(2, 18) for s in case.slots]
    case.slots[:] = mixed
    assert np.all(np.abs(case.resolve("CLARABEL")(rows) - written) > 1e-3)


def test_an_empty_column_says_what_would_fill_it(bench):
    from problems.methods import ByOther, Raw, foot

    absent = ByOther("other", ("numpy", "no_such_package"), lambda case: None)
    (line,) = foot([Raw(), absent, ByOther("there", ("numpy",), lambda case: None)])
    assert line.startswith("other is empty")
    assert line.endswith("pip install no_such_package")
    assert absent.prepare(Case) is None
