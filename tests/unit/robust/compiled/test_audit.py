"""A compiled program with an error in it is found out at every row."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import sublevel as sl
from sublevel.robust.solve import chunk
from sublevel.robust.solve.arrays import Compiled

from .given import calibrated, compiled_of, contexts, portfolio

DIM = 3


def returns(sets):
    return portfolio(sets, DIM)[2]


def pieces(sets):
    r, x = sl.Uncertain(DIM), cp.Variable(DIM, bounds=[0.5, 2])
    goal = cp.Minimize(3 * cp.maximum(r @ x, 2 * (r[:2] @ x[1:])))
    return sl.RobustProblem(goal, [cp.sum(x) >= 2], {r: sets})


def covering(sets):
    r, x = sl.Uncertain(DIM), cp.Variable(DIM, nonneg=True)
    return sl.RobustProblem(cp.Minimize(cp.sum(x)), [r @ x >= 1], {r: sets})


def packing(sets):
    r, x = sl.Uncertain(DIM), cp.Variable(DIM, nonneg=True)
    return sl.RobustProblem(cp.Maximize(cp.sum(x)), [r @ x <= 1], {r: sets})


def mutate(monkeypatch, name, change):
    """Fill the slots of every program with wrong numbers of one kind."""
    right = chunk.slot_values

    def wrong(number, parts):
        found = right(number, parts)
        return {k: change(v) if k.endswith(name) else v for k, v in found.items()}

    monkeypatch.setattr(chunk, "slot_values", wrong)


MUTATIONS = {
    "wrong sign": ("location", lambda v: -v),
    "missing centre": ("location", np.zeros_like),
    "shifted centre": ("location", lambda v: 1.001 * v),
    "half the reach": ("reach", lambda v: v / 2),
    "no reach": ("reach", np.zeros_like),
    "entries swapped": ("location", lambda v: v[:, ::-1]),
    "contexts swapped": ("location", lambda v: v[::-1]),
}


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e7])
@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("model", [returns, pieces])
def test_wrong_slots_never_pass(monkeypatch, model, mutation, scale):
    """In any units: an audit relative to one would be blind to small numbers."""
    rng = np.random.default_rng(31)
    sets, X = calibrated("gaussian", DIM, rng), scale * contexts(8, DIM, rng)
    policy = model(sets).compile(engine="dual")
    assert (policy.decide(X).status == "optimal").all()
    mutate(monkeypatch, *MUTATIONS[mutation])
    found = policy.decide(X)
    assert (found.status == "audit_failed").all()
    assert not found.audit.passed.any()


@pytest.mark.parametrize("mutation", ["half the reach", "no reach", "shifted centre"])
@pytest.mark.parametrize("model", [covering, packing])
def test_constraints_that_are_not_kept_never_pass(monkeypatch, model, mutation):
    rng = np.random.default_rng(32)
    sets, X = calibrated("gaussian", DIM, rng), contexts(8, DIM, rng)
    policy = model(sets).compile(engine="dual")
    assert (policy.decide(X).status == "optimal").all()
    name, change = MUTATIONS[mutation]
    if mutation == "shifted centre" and model is packing:
        change = lambda v: 0.999 * v  # noqa: E731
    mutate(monkeypatch, name, change)
    found = policy.decide(X)
    assert (found.status == "audit_failed").all()
    assert (found.audit.violations > 1e-5).all()


def test_one_wrong_row_is_one_status(monkeypatch):
    rng = np.random.default_rng(33)
    sets, X = calibrated("gaussian", DIM, rng), contexts(6, DIM, rng)
    policy = returns(sets).compile(engine="dual")
    expected = policy.decide(X).objective

    def third(values):
        found = values.copy()
        found[3] /= 2
        return found

    mutate(monkeypatch, "reach", third)
    found = policy.decide(X)
    good = np.arange(6) != 3
    assert (found.status == np.where(good, "optimal", "audit_failed")).all()
    np.testing.assert_allclose(found.objective[good], expected[good], rtol=1e-6)


@pytest.mark.parametrize(("where", "slot"), [("A", "0.0.reach"), ("q", "0.0.location")])
def test_wrong_arrays_never_pass(where, slot):
    """An error in the compiled arrays themselves: one in a thousand."""
    rng = np.random.default_rng(34)
    sets, X = calibrated("gaussian", DIM, rng), contexts(4, DIM, rng)
    policy = returns(sets).compile(engine="dual")
    compiled = compiled_of(policy)
    factors = np.ones(compiled.program.size)
    factors[compiled.program.slots[slot]] = 0.999
    table = getattr(compiled.program, where) @ sp.diags_array(factors)
    wrong = replace(compiled.program, **{where: sp.csr_array(table)})
    prepared = policy._engine._compiled[0]
    policy._engine._compiled = prepared, replace(compiled, program=wrong)
    policy._engine._task = None
    assert (policy.decide(X).status == "audit_failed").all()


def test_equalities_are_audited(monkeypatch):
    rng = np.random.default_rng(35)
    demand, make = sl.Uncertain(2), cp.Variable(2, nonneg=True)
    rest = sl.affine_rule(demand, 2)
    sets, X = calibrated("gaussian", 2, rng), contexts(3, 2, rng)
    problem = sl.RobustProblem(
        cp.Minimize(cp.sum(make) + 4 * cp.sum(rest)),
        [make + rest == demand, rest >= -1],
        {demand: sets},
    )
    policy = problem.compile(engine="dual")
    assert (policy.decide(X).status == "optimal").all()
    right = Compiled.values
    start = problem.prepared().frame.variables[rest.parts.slopes.id]

    def careless(self, x):
        """Slopes of the rule that are nearly one."""
        values = right(self, x)
        values[:, start : start + rest.parts.slopes.size] *= 0.999
        return values

    monkeypatch.setattr(Compiled, "values", careless)
    found = policy.decide(X)
    assert (found.status == "audit_failed").all()
    assert (found.audit.violations[:, 0] > 1e-4).all()
