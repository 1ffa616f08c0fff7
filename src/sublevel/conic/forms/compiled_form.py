"""Contexts solved by formulas in compiled code, where numba is installed."""

from __future__ import annotations

import numpy as np

from ..program import ProgramData
from ..solver import Solutions
from .closed_form import ClosedForm, with_rest_by
from .form import form_of


class CompiledForm:
    """The formulas of `ClosedForm` in one pass over each context.

    What is not certified here goes the way of `ClosedForm`: NumPy's formulas, Clarabel.
    Needs numba.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from ..canonical import cone_program
    >>> from ..program import fill
    >>> x, cost = cp.Variable(3, nonneg=True), cp.Parameter(3)
    >>> problem = cp.Problem(cp.Minimize(cost @ x), [cp.sum(x) == 2])
    >>> program = cone_program(problem, {cost.id: "cost"})
    >>> data = fill(program, np.append(np.zeros(3), 1), {"cost": np.eye(3) + 1})
    >>> print(CompiledForm().solve(data).objective)
    [2. 2. 2.]
    """

    def solve(self, data: ProgramData) -> Solutions:
        """Solve all contexts."""
        form = form_of(data.program)
        if isinstance(form, str):
            return ClosedForm().solve(data)
        from .kernel import solve_contexts
        from .kernel_blocks import blocks_of
        from .kernel_numbers import numbers_for
        from .kernel_pattern import pattern_of
        from .kernel_reading import reading_of

        n = len(data)
        x, good = np.zeros((n, data.program.width)), np.zeros(n, dtype=bool)
        value, bound = np.full(n, np.nan), np.full(n, np.nan)
        arguments = blocks_of(data, form), pattern_of(data), reading_of(form)
        room = numbers_for(len(form.columns)), np.empty((3, data.program.height))
        solve_contexts(*arguments, *room, x, good, value, bound)
        return with_rest_by(data, x, good, value, bound, ClosedForm())
