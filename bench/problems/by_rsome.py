"""RSOME poses a model anew at every context: portfolios and flows over ellipsoids.

Of its interfaces those to SciPy, OR-Tools and CLP ignore second-order cones, and those
to Gurobi, MOSEK, CPLEX and COPT are to commercial solvers. ECOS is what is left.
"""

from functools import partial
from unittest import mock

import numpy as np
from problems.grid import grid


def prepare(case):
    """A function of row numbers that gives objectives, or None."""
    if case.family == "P1":
        return lambda rows: _each(case, rows, _portfolio)
    if case.family == "P2" and case.kind == "l2":
        return lambda rows: _each(case, rows, _flow)
    return None


def _each(case, rows, solve):
    location, reach = case.slots
    with _silent():
        return np.array([solve(location[i], reach[i]) for i in rows])


def _silent():
    """ECOS prints every step unless it is asked not to, and RSOME does not ask it."""
    import ecos

    return mock.patch.object(ecos, "solve", partial(ecos.solve, verbose=False))


def _model():
    from rsome import ro

    return ro.Model()


def _solved(model):
    from rsome import eco_solver

    model.solve(eco_solver, display=False)
    return model.get()


def _portfolio(location, reach):
    import rsome as rso

    model, n = _model(), len(location)
    w, z = model.dvar(n), model.rvar(n)
    inside = rso.norm(z, 2) <= 1
    model.maxmin((location + reach * z) @ w, inside)
    model.st(w >= 0, w.sum() == 1)
    return _solved(model)


def _flow(location, reach):
    import rsome as rso

    side = round((1 + np.sqrt(1 + 2 * len(location))) / 2)
    incidence, supply = grid(side)
    model, m = _model(), len(location)
    f, z = model.dvar(m), model.rvar(m)
    model.minmax((location + reach * z) @ f, rso.norm(z, 2) <= 1)
    model.st(f >= 0, incidence.toarray() @ f == supply)
    return _solved(model)
