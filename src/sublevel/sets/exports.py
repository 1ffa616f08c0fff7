"""Out the other door: a set as CVXPY constraints, as a PyROS set, as plain data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, overload

import cvxpy as cp

from ..errors import InvalidParameter


class Exports(ABC):
    """How every set is handed to other tools.

    Examples
    --------
    >>> from sublevel.sets import Box
    >>> isinstance(Box([0.0], [1.0]), Exports)
    True
    """

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of components of an outcome."""

    @abstractmethod
    def _constraints(self, outcome: cp.Expression) -> list[cp.Constraint]:
        """CVXPY constraints that say `outcome`, of shape (dim,), is in the set."""

    def constraints(self, outcome: cp.Expression) -> list[cp.Constraint]:
        """CVXPY constraints that say `outcome` is in the set.

        They are exact. Sets of labels and of finitely many outcomes (LabelSet, Finite,
        Mixed, and what is made of them) use boolean variables, for a mixed-integer
        solver. A Union has none of its own: it raises InvalidParameter.

        Parameters
        ----------
        outcome : CVXPY expression of shape (dim,)
            Or of any shape with dim entries, read column by column as CVXPY does.
        """
        return self._constraints(self._as_outcome("constraints(outcome)", outcome))

    @overload
    def to_cvxpy(self, y: None = None) -> tuple[cp.Variable, list[cp.Constraint]]: ...
    @overload
    def to_cvxpy(self, y: cp.Expression) -> list[cp.Constraint]: ...
    def to_cvxpy(self, y: Any = None) -> Any:
        """The set in a CVXPY model: `constraints(y)`, or a new variable with them.

        Parameters
        ----------
        y : CVXPY expression with dim entries, optional

        Returns
        -------
        The list of constraints on y; without y, the pair (variable, constraints).

        Examples
        --------
        >>> from sublevel.sets import Ellipsoid
        >>> y, inside = Ellipsoid([1.0, 2.0], radius=0.5).to_cvxpy()
        >>> problem = cp.Problem(cp.Maximize(y[0]), inside)
        >>> round(float(problem.solve(solver=cp.CLARABEL)), 6)
        1.5
        """
        if y is None:
            variable = cp.Variable(self.dim)
            return variable, self._constraints(variable)
        return self._constraints(self._as_outcome("to_cvxpy(y)", y))

    def to_pyros(self) -> Any:
        """The same set for PyROS, the robust solver of Pyomo.

        Exact, or refused with InvalidParameter. PyROS takes ellipsoids, boxes,
        polytopes, 1-norm balls, deviation budgets, lists of outcomes, and their
        intersections and products. Needs `pip install 'sublevel[pyomo]'`.
        """
        from .pyros import to_pyros

        return to_pyros(self)

    def to_dict(self) -> dict[str, Any]:
        """The set as plain data, for a strict JSON file; `from_dict` reads it back.

        Examples
        --------
        >>> from sublevel.sets import Box
        >>> Box([0.0], [float("inf")]).to_dict()
        {'version': 1, 'kind': 'Box', 'lower': [0.0], 'upper': [{'number': 'inf'}]}
        """
        from .as_dict import set_to_dict

        return set_to_dict(self)

    def _as_outcome(self, call: str, outcome: Any) -> cp.Expression:
        """The expression as a vector of shape (dim,)."""
        owner = type(self).__name__
        if not isinstance(outcome, cp.Expression):
            raise InvalidParameter(
                f"{owner}.{call} must be a CVXPY expression, got "
                f"{type(outcome).__name__}. For numbers, use {owner}.contains."
            )
        if outcome.size != self.dim:
            raise InvalidParameter(
                f"{owner}.{call} must be of shape ({self.dim},), or of another shape "
                f"with {self.dim} entries, got shape {outcome.shape}."
            )
        return outcome if outcome.shape == (self.dim,) else cp.vec(outcome, order="F")
