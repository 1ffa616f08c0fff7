"""Units of the objective alone, and of cones, where these are enough."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.conic.ordinary import ORDINARY, extraordinary
from sublevel.conic.program import fill
from sublevel.conic.scaling import Aim, Scaling, cone_units, in_groups
from sublevel.conic.solver import OPTIMAL, Clarabel


def numbers(location, reach):
    """The arrays of a portfolio with a limit on its norm, at n contexts."""
    mean, spread = cp.Parameter(3), cp.Parameter(3, nonneg=True)
    x = cp.Variable(3, nonneg=True)
    value = mean @ x - cp.norm(cp.multiply(spread, x)) - cp.sum_squares(x)
    problem = cp.Problem(cp.Maximize(value), [cp.sum(x) == 1, cp.norm(x) <= 0.8])
    from sublevel.conic.canonical import cone_program

    program = cone_program(problem, {mean.id: "mean", spread.id: "spread"})
    fixed = np.zeros(program.size)
    fixed[-1] = 1.0
    return fill(program, fixed, {"mean": location, "spread": reach})


def mixed(n=40, seed=0):
    """Contexts of all kinds: sizes from 1e-3 to 1e4."""
    rng = np.random.default_rng(seed)
    location = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-3, 4, (n, 1))
    reach = rng.uniform(0.5, 1.0, (n, 3)) * 10.0 ** rng.uniform(-3, 4, (n, 1))
    return numbers(location, reach)


def test_every_context_is_in_one_group_with_the_units_it_needs():
    data = mixed()
    odd, seen = extraordinary(data), []
    for rows, some, units in in_groups(data):
        seen += rows.tolist()
        assert odd[rows].all() == (units is not None)
        assert len(some) == len(rows)
        if isinstance(units, Aim):
            assert np.array_equal(some.A.values, units.apply(some).A.values)
    assert sorted(seen) == list(range(len(data)))


def test_kinds_of_units():
    small, large = np.ones((1, 3)), np.full((1, 3), 300.0)
    kinds = [
        [type(units) for _, _, units in in_groups(numbers(*pair))]
        for pair in ((small, small), (large, small), (small, large), (large, large))
    ]
    assert kinds == [[type(None)], [Aim], [Scaling], [Scaling]]


def test_units_of_cones_by_hand():
    """The ball's cone is divided by 256, its height multiplied, as is its cost."""
    data = numbers(np.ones((1, 3)), np.full((1, 3), 300.0))
    units, good = cone_units(data)
    seen = units.apply(data)
    assert good.all()
    moved = data.A.where
    assert np.abs(seen.A.values[0, moved]) == pytest.approx(np.full(3, 300 / 256))
    assert np.unique(units.columns).tolist() == [0.0, 8.0]
    # The height costs 1, that is 256, in units of which the objective is measured.
    assert units.objective.tolist() == [-8.0]
    assert np.abs(seen.q.values[0, :-1]).max() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(3))
def test_solutions_in_units_are_those_of_the_model(seed):
    """Also where no cheap units help: as careful solves in units of every row say."""
    data = mixed(seed=seed)
    solved, careful = Clarabel().solve(data), Clarabel(effort=1).solve(data)
    both = (solved.status == OPTIMAL) & (careful.status == OPTIMAL)
    assert both.sum() >= len(data) - 4
    size = np.abs(data.q.rows()[:, :-1]).max(axis=1) + np.abs(data.A.values).max(axis=1)
    off = np.abs(solved.objective - careful.objective) / size
    assert off[both].max() < 1e-6


def test_units_do_not_depend_on_neighbours():
    data = mixed()
    together = {}
    for rows, _, units in in_groups(data):
        for k, row in enumerate(rows.tolist()):
            together[row] = None if units is None else units.objective[k]
    for row in range(len(data)):
        ((_, _, alone),) = in_groups(data.at([row]))
        assert together[row] == (None if alone is None else alone.objective[0])


def test_ordinary_contexts_are_left_alone():
    data = numbers(np.full((1, 3), ORDINARY / 2), np.ones((1, 3)))
    ((_, some, units),) = in_groups(data)
    assert units is None
    assert some is data


def test_a_policy_in_large_units_decides_as_in_small_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    values = []
    for unit in (1.0, 1e3):
        sets = sl.LossSet(lambda X, unit=unit: unit * X)
        Y = unit * (X + rng.normal(size=X.shape))
        sets.calibrate(X, Y, alpha=0.2)
        r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
        limits = [cp.sum(w) == 1, cp.norm(w) <= 0.8]
        problem = sl.RobustProblem(cp.Maximize(r @ w), limits, {r: sets})
        policy = problem.compile(solver="CLARABEL").at(2.0 * unit**2)
        decisions = policy.decide(X)
        assert (decisions.status == "optimal").all()
        values.append(decisions.objective / unit)
    assert values[0] == pytest.approx(values[1], rel=1e-6, abs=1e-6)
