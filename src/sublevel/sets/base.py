"""What every uncertainty set can do, and how it does it when it has no closed form.

A set is only data: it references no model and no problem. A new set provides `dim`,
`conditions` and `membership`; everything else has a default that is exact up to the
solver's tolerance (worst case) or the Monte-Carlo error (volume), and is overridden
where a closed form exists.

Users ask through the checked methods on the left. Sets ask each other, and override,
what is on the right: the same questions, of arguments that have been checked.

    constraints             conditions
    contains                membership
    worst_case, support     maximiser, maximum
    sample, volume          draw, measure
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from ..checks import (
    Array,
    BoolArray,
    as_generator,
    as_outcomes,
    as_vector,
    is_whole,
    require_tolerance,
)
from ..conic.maximise import maximise
from ..conic.program import Indices
from ..deferred import cp
from ..errors import InvalidParameter, Unbounded
from .uniform import hit_and_run, middle, polar_volume

if TYPE_CHECKING:
    from pyomo.contrib.pyros.uncertainty_sets import UncertaintySet as PyrosSet

    from .intersection import Intersection
    from .union import Union


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
    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        """The constraints on an expression of shape (dim,)."""

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
        return self.conditions(self._as_outcome("constraints(outcome)", outcome))

    def listed(self) -> Array | None:
        """Every outcome, shape (n, dim), of a set of few outcomes; otherwise None."""
        return None

    @overload
    def to_cvxpy(self, y: None = None) -> tuple[cp.Variable, list[cp.Constraint]]: ...
    @overload
    def to_cvxpy(self, y: cp.Expression) -> list[cp.Constraint]: ...
    def to_cvxpy(
        self, y: cp.Expression | None = None
    ) -> tuple[cp.Variable, list[cp.Constraint]] | list[cp.Constraint]:
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
            return variable, self.conditions(variable)
        return self.conditions(self._as_outcome("to_cvxpy(y)", y))

    def to_pyros(self) -> PyrosSet:
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

    def _as_outcome(self, call: str, outcome: object) -> cp.Expression:
        """The expression as a vector of shape (dim,)."""
        owner = type(self).__name__
        if not isinstance(outcome, cp.Expression):
            raise InvalidParameter(
                f"{owner}.{call} must be a CVXPY expression, got "
                f"{type(outcome).__name__}. For numbers, use {owner}.contains."
            )
        if outcome.is_complex():
            raise InvalidParameter(
                f"{owner}.{call} must be real, got a complex expression. Say "
                "cp.real(...)."
            )
        if outcome.size != self.dim:
            raise InvalidParameter(
                f"{owner}.{call} must be of shape ({self.dim},), or of another shape "
                f"with {self.dim} entries, got shape {outcome.shape}."
            )
        return outcome if outcome.shape == (self.dim,) else cp.vec(outcome, order="F")


#: What a type checker can tell for one outcome, and for several: how many axes an
#: array has is beyond its type.
OneOutcome = Sequence[float]
ManyOutcomes = Sequence[Sequence[float]] | Sequence[npt.NDArray[Any]]

#: Relative slack with which membership is decided. Larger sets only add coverage, so
#: an outcome on the boundary counts as inside whatever the rounding.
TOLERANCE = 1e-7


class UncertaintySet(Exports):
    """A set of outcomes y of shape (dim,).

    Subclasses are frozen dataclasses. Directions are vectors of shape (dim,);
    outcomes are of shape (dim,) or (n, dim).
    """

    @abstractmethod
    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        """Membership of each row of `outcomes`, shape (n, dim) -> (n,)."""

    @overload
    def contains(self, outcomes: OneOutcome, tol: float = ...) -> bool: ...
    @overload
    def contains(self, outcomes: ManyOutcomes, tol: float = ...) -> BoolArray: ...
    @overload
    def contains(
        self, outcomes: npt.ArrayLike, tol: float = ...
    ) -> bool | BoolArray: ...
    def contains(
        self, outcomes: npt.ArrayLike, tol: float = TOLERANCE
    ) -> bool | BoolArray:
        """Whether each outcome is in the set.

        Parameters
        ----------
        outcomes : array of shape (dim,) or (n, dim)
        tol : float
            Relative slack; the boundary counts as inside.

        Returns
        -------
        bool for one outcome, boolean array of shape (n,) for many.
        """
        owner = type(self).__name__
        rows, single = as_outcomes(owner, outcomes, self.dim)
        require_tolerance(f"{owner}.contains", tol)
        inside = np.asarray(self.membership(rows, tol), dtype=bool)
        return bool(inside[0]) if single else inside

    def worst_case(self, direction: npt.ArrayLike) -> Array:
        """An outcome of the set that maximises `direction @ y`, shape (dim,)."""
        return self.maximiser(self._direction(direction))

    def support(self, direction: npt.ArrayLike) -> float:
        """Largest value of `direction @ y` over the set; inf if there is none."""
        return self.maximum(self._direction(direction))

    def bounds(self) -> tuple[Array, Array]:
        """Least and largest value of each component: two arrays of shape (dim,)."""
        axes = np.eye(self.dim)
        upper = np.array([self.maximum(axis) for axis in axes])
        lower = np.array([-self.maximum(-axis) for axis in axes])
        return lower, upper

    def sample(
        self, size: int, random_state: int | np.random.Generator | None = None
    ) -> Array:
        """Outcomes drawn uniformly from the set, shape (size, dim)."""
        owner = f"{type(self).__name__}.sample"
        if not is_whole(size):
            raise InvalidParameter(
                f"{owner}(size=...) must be an integer of at least 0, got {size!r}."
            )
        rng = as_generator(owner, random_state)
        self.require_bounded("sample")
        return self.draw(int(size), rng)

    def volume(self) -> float:
        """Lebesgue measure of the set within its affine hull.

        Exact where a formula exists; otherwise a seeded Monte-Carlo estimate with a
        relative error of about one per cent in a handful of dimensions. Sets of
        finitely many outcomes count them.
        """
        self.require_bounded("volume")
        return self.measure()

    def __and__(self, other: UncertaintySet) -> Intersection:
        from .intersection import Intersection

        return Intersection((self, other))

    def __or__(self, other: UncertaintySet) -> Union:
        from .union import Union

        return Union((self, other))

    # -- defaults, overridden where there is something better --------------------

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self.dim})"

    @property
    def is_bounded(self) -> bool:
        """Whether the set has no infinite direction."""
        return bool(np.isfinite(self.bounds()).all())

    def maximiser(self, direction: Array) -> Array:
        """An outcome that maximises `direction @ y`, shape (dim,)."""
        outcome = cp.Variable(self.dim)
        owner = type(self).__name__
        return maximise(direction, outcome, self.conditions(outcome), owner)

    def maximum(self, direction: Array) -> float:
        """Largest value of `direction @ y`; inf if there is none."""
        try:
            return float(direction @ self.maximiser(direction))
        except Unbounded:
            return inf

    def maxima(self, directions: Array) -> Array | None:
        """Largest values in many directions (n, dim) at once, shape (n,); None where
        there is no formula for them.
        """
        del directions
        return None

    def blocks(self) -> Indices:
        """Which components move together: numbers of blocks, shape (dim,).

        The set is the product of its shadows on the blocks. All components are one
        block where that is not known.
        """
        return np.zeros(self.dim, dtype=int)

    def corners(self, most: int) -> Array | None:
        """Outcomes whose convex hull has every outcome in it, shape (n, dim).

        None where there are more than `most`, or where they are not known.
        """
        outcomes = self.listed()
        return None if outcomes is None or len(outcomes) > most else outcomes

    def hull_basis(self) -> Array:
        """Orthonormal directions, shape (dim, k), that span the affine hull.

        Sets of finitely many outcomes have none: their volume is a number.
        """
        return np.eye(self.dim)

    def interior_point(self) -> Array:
        """A point of the relative interior, shape (dim,)."""
        return middle(self)

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        """Uniform outcomes of a bounded set, shape (size, dim)."""
        return hit_and_run(self, size, rng)

    def measure(self) -> float:
        """Volume of a bounded set within its affine hull."""
        return polar_volume(self)

    def parts(self) -> tuple[UncertaintySet, ...]:
        """Sets that have constraints, of which this one is the union."""
        return (self,)

    def _direction(self, direction: npt.ArrayLike) -> Array:
        return as_vector(type(self).__name__, "direction", direction, self.dim)

    def require_bounded(self, what: str) -> None:
        """Raise Unbounded, in the name of the method that needs a bounded set."""
        if not self.is_bounded:
            raise Unbounded(
                f"{type(self).__name__}.{what}() needs a bounded set, and this one is "
                "unbounded. Intersect it with a bounded set such as Box."
            )
