"""Closed forms in compiled code: NumPy's to the last bit, and never a wrong one."""

from __future__ import annotations

import os
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.conic.forms import ClosedForm, CompiledForm, closed_form, form_of
from sublevel.conic.kkt import Conditions
from sublevel.conic.solver import OPTIMAL, Clarabel

from .given import calibrated, contexts, portfolio
from .test_closed_forms import CONTEXTS, REGIONS, posed, rng

kernel = pytest.importorskip("sublevel.conic.forms.kernel", exc_type=ImportError)
from sublevel.conic.forms import kernel_reading  # noqa: E402
from sublevel.conic.forms.kernel_blocks import blocks_of  # noqa: E402
from sublevel.conic.forms.kernel_check import holds  # noqa: E402
from sublevel.conic.forms.kernel_numbers import numbers_for  # noqa: E402
from sublevel.conic.forms.kernel_order import put_in_order, room_for  # noqa: E402
from sublevel.conic.forms.kernel_pattern import pattern_of  # noqa: E402
from sublevel.conic.forms.kernel_reading import reading_of  # noqa: E402

__all__ = ["rng"]
KINDS = ("ellipsoid", "l1", "box", "point")


def by_kernel(data, reading=None):
    """Points, whether they are certified, values and bounds, by the kernel alone."""
    form = form_of(data.program)
    x, good = np.zeros((len(data), data.program.width)), np.zeros(len(data), dtype=bool)
    value, bound = np.zeros((2, len(data)))
    reading = reading_of(form) if reading is None else reading
    given = blocks_of(data, form), pattern_of(data), reading
    room = numbers_for(len(form.columns)), np.empty((3, data.program.height))
    kernel.solve_contexts(*given, *room, x, good, value, bound)
    return x, good, value, bound


def ordinary_contexts(n, rng):
    m = 10 * CONTEXTS
    return {
        "cost": rng.normal(size=(m, n)),
        "scale": rng.uniform(0.3, 1.5, (m, n)),
        "level": np.ones((m, 1)),
    }


def assert_same_bits(ours, theirs):
    for name in ("status", "x", "objective", "bound"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("over", REGIONS)
def test_same_bits_as_numpy(kind, over, rng):
    for n in (1, 2, 6, 33):
        data, unit = posed(kind, over, n, rng)
        form = form_of(data.program)
        if isinstance(form, str):
            continue
        x, good, value, bound = by_kernel(data)
        points, multipliers = closed_form.solve_form(form, data)
        usual = Conditions(data).hold(slice(None), points, multipliers)
        assert not (good & ~usual[0]).any()
        np.testing.assert_array_equal(x[good], points.T[good])
        np.testing.assert_array_equal(value[good], usual[1][good])
        np.testing.assert_array_equal(bound[good], usual[2][good])
        if kind in ("box", "point"):
            np.testing.assert_array_equal(good, usual[0])
        # Few are left to NumPy: negative x under a norm, and rows that have room.
        if over not in ("signed box", "signed budget", "at most", "scaled"):
            assert good.sum() >= 0.8 * usual[0].sum()
        if n == 6:
            theirs = Clarabel(effort=1).solve(data)
            both = good & (theirs.status == OPTIMAL)
            miss = np.abs(value + data.offsets - theirs.objective)[both]
            assert (miss <= 1e-6 * unit[both] + 1e-10).all()
            assert_same_bits(CompiledForm().solve(data), ClosedForm().solve(data))


@pytest.mark.parametrize("over", ["budget", "box"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_of_ordinary_contexts(kind, over, rng):
    # The last bend of a piecewise linear function was missed in one of a hundred.
    data, _ = posed(kind, over, 50, rng, ordinary_contexts)
    assert by_kernel(data)[1].all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("over", ["simplex", "budget", "box", "bounded twice"])
def test_one_context_as_among_others(kind, over, rng):
    data, _ = posed(kind, over, 9, rng)
    for solver in (ClosedForm(), CompiledForm()):
        every = solver.solve(data)
        for rows in ([5], [33], [20, 5], [159, 3, 77]):
            some = solver.solve(data.at(np.array(rows)))
            np.testing.assert_array_equal(some.x, every.x[rows])
            np.testing.assert_array_equal(some.bound, every.bound[rows])


@pytest.mark.parametrize("kind", ["ellipsoid", "box"])
def test_one_that_needs_more_than_its_neighbour(kind, rng):
    """Where one of two is beyond an end: a column alone is added up otherwise."""
    data, _ = posed(kind, "bounded twice", 70, rng)
    every = ClosedForm().solve(data)
    for first in range(0, 158, 2):
        pair = np.array([first, first + 1])
        np.testing.assert_array_equal(
            ClosedForm().solve(data.at(pair)).x, every.x[pair]
        )


#: Other programs than the one that is to be solved.
WRONG = {
    "other columns": lambda r: r._replace(columns=r.columns[::-1].copy()),
    "other weights": lambda r: r._replace(members=r.members[::-1].copy()),
    "other ends": lambda r: r._replace(bound_units=r.bound_units * 1.001),
    "another row": lambda r: r._replace(row_entries=r.entries, row_members=r.members),
    "no penalty": lambda r: r._replace(above=kernel_reading.NOTHING),
    "another norm": lambda r: r._replace(
        above=kernel_reading.NORM + kernel_reading.LARGEST - r.above,
        heads=np.resize(r.heads, len(r.members)),
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("kind", ["ellipsoid", "l1"])
def test_a_wrong_formula_is_never_taken(wrong, kind, rng, monkeypatch):
    """The check reads the program: it refuses the optimum of another one."""
    data, unit = posed(kind, "budget", 6, rng)
    expected, right = ClosedForm().solve(data), by_kernel(data)[1]
    reading = WRONG[wrong](reading_of(form_of(data.program)))
    _, good, value, _ = by_kernel(data, reading)
    assert good.sum() <= 0.2 * right.sum()
    # What is still certified is optimal all the same, as nothing where the level is 0.
    if good.any():
        theirs = Clarabel(effort=1).solve(data.at(good))
        assert (theirs.status == OPTIMAL).all()
        miss = np.abs((value + data.offsets)[good] - theirs.objective)
        assert (miss <= 1e-6 * unit[good] + 1e-10).all()
    monkeypatch.setattr(kernel_reading, "reading_of", lambda form: reading)
    solved = CompiledForm().solve(data)
    for name in ("status", "x", "objective", "bound"):
        mine, usual = (getattr(each, name)[~good] for each in (solved, expected))
        np.testing.assert_array_equal(mine, usual)


@pytest.mark.parametrize("kind", ["ellipsoid", "l1", "box"])
def test_compiled_check_refuses_what_the_other_refuses(kind, rng):
    data, _ = posed(kind, "budget", 6, rng)
    x, z = closed_form.solve_form(form_of(data.program), data)
    conditions, pattern = Conditions(data), pattern_of(data)
    q, A, b = (part.rows() for part in (data.q, data.A, data.b))
    room = np.empty((3, data.program.height))

    def held(x, z):
        """What the source of the compiled check says, in plain Python."""
        said = np.empty(CONTEXTS, dtype=bool)
        with np.errstate(all="ignore"):
            for i in range(CONTEXTS):
                room[0] = z[:, i]
                given = pattern, q[i], A[i], b[i], x[:, i], room
                said[i] = holds.py_func(*given)[0]
        return said

    refused = 0
    worse = [(x * (1 + 1e-7), z), (x, -z), (x, z * (1 + 1e-7)), (x, 0 * z), (0 * x, z)]
    worse += [(x + np.nan, z), (x, z + np.nan), (x[::-1], z), (x, z[::-1])]
    for point, multipliers in [(x, z), *worse]:
        expected = conditions.hold(slice(None), point.copy(), multipliers.copy())[0]
        np.testing.assert_array_equal(held(point, multipliers), expected)
        refused += (~expected).sum()
    assert refused > 5 * CONTEXTS


def posed_policy(kind, rng):
    """A policy of closed form, and contexts."""
    if kind == "budget":
        r, w = sl.Uncertain(7), cp.Variable(7, nonneg=True, name="w")
        rows = [cp.sum(w) == 1, w <= 0.3]
        given = {r: calibrated("gaussian", 7, rng)}
        return sl.RobustProblem(cp.Maximize(r @ w), rows, given).compile()
    return portfolio(calibrated(kind, 7, rng), 7)[2].compile()


@pytest.mark.parametrize("kind", ["gaussian", "squared", "absolute", "budget"])
def test_a_row_is_decided_as_in_a_table(kind, rng, monkeypatch):
    """To the last bit: by NumPy alone or by compiled code, in chunks of any size."""
    policy, X = posed_policy(kind, rng), contexts(60, 7, rng)

    def rows_of(decisions):
        taken = [decisions.objective, decisions.bound, decisions.value("w")]
        return [*taken, decisions.audit.gap, decisions.audit.slack]

    tables, solve, asked = {}, CompiledForm.solve, []
    monkeypatch.setattr(
        CompiledForm, "solve", lambda self, data: asked.append(1) or solve(self, data)
    )
    for many in (1, np.inf):
        monkeypatch.setattr(closed_form, "MANY_NUMBERS", many)
        for chunk in (1, 7, None):
            tables[many, chunk] = rows_of(policy.decide(X, chunk=chunk))
        alone = [rows_of(policy.decide(X[[i]])) for i in range(20)]
        tables[many, "alone"] = [
            np.concatenate(part) for part in zip(*alone, strict=True)
        ]
        assert bool(asked) == (many == 1)
        asked.clear()
    first = tables[1, None]
    for table in tables.values():
        for mine, theirs in zip(table, first, strict=True):
            np.testing.assert_array_equal(mine, theirs[: len(mine)])


def test_few_contexts_are_solved_without_numba(rng):
    policy = portfolio(calibrated("gaussian", 3, rng), 3)[2].compile()
    program = policy._engine._compiled[1].program
    assert isinstance(ClosedForm().chosen(program, 100), ClosedForm)
    assert isinstance(ClosedForm().chosen(program, 100_000), CompiledForm)


def test_without_numba(rng, monkeypatch):
    data, _ = posed("ellipsoid", "simplex", 6, rng)
    monkeypatch.setattr(closed_form, "is_installed", lambda: False)
    assert isinstance(ClosedForm().chosen(data.program, 10**9), ClosedForm)


ANNOUNCED = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
from sublevel.conic.compiled import compiled

def more(x):
    return x + 1

add = compiled(more)
add(1), add(2)
"""


def test_compiling_is_announced_once(tmp_path):
    (tmp_path / "own.py").write_text(ANNOUNCED)
    run = [sys.executable, "-c", "import own"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    heard = [
        subprocess.run(
            run,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        for _ in range(2)
    ]
    assert heard[0].splitlines() == [
        "compiling more, which takes some seconds once; kept on disk"
    ]
    # The second process finds it on disk.
    assert heard[1] == ""


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 128, 129, 200])
def test_keys_are_put_in_numpys_stable_order(n, rng):
    """Within a run, and where runs are merged; with many keys that are equal."""
    from numba import njit

    placed = njit(lambda *given: put_in_order(*given))
    for keys in (rng.normal(size=n), rng.integers(0, 5, n) * 1.0, np.full(n, np.inf)):
        given = np.full(room_for(n), -7.0)
        given[:n] = keys
        order, other = np.full((2, room_for(n)), 99)
        placed(given, n, order, other)
        np.testing.assert_array_equal(order[:n], np.argsort(keys, kind="stable"))
