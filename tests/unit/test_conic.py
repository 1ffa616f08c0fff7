"""A solver that gets stuck is tried again with shorter steps before it is believed."""

import cvxpy as cp
import pytest

from sublevel.conic.maximise import solve_quietly


class Stuck:
    """Takes the place of a problem that Clarabel only solves with shorter steps."""

    def __init__(self, first):
        self.status, self._first, self.calls = None, first, []

    def solve(self, solver, **options):
        self.calls.append(options)
        if options:
            self.status = cp.OPTIMAL
        elif self._first == "error":
            raise cp.error.SolverError("stuck")
        else:
            self.status = self._first


@pytest.mark.parametrize("first", ["error", cp.OPTIMAL_INACCURATE])
def test_another_attempt(first):
    problem = Stuck(first)
    solve_quietly(problem, cp.CLARABEL)
    assert problem.status == cp.OPTIMAL
    assert problem.calls == [{}, {"max_step_fraction": 0.9}]


@pytest.mark.parametrize("first", [cp.OPTIMAL, cp.INFEASIBLE, cp.UNBOUNDED])
def test_one_attempt_where_it_is_clear(first):
    problem = Stuck(first)
    solve_quietly(problem, cp.CLARABEL)
    assert (problem.status, problem.calls) == (first, [{}])


def test_other_solvers_have_one_attempt():
    with pytest.raises(cp.error.SolverError):
        solve_quietly(Stuck("error"), cp.HIGHS)
