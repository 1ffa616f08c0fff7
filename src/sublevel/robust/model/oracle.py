"""A user's own oracle in place of a set: anything that can name a worst outcome.

Nothing is known of the set but its oracle's word, so the word is tested as far as it
can be: the right shape, finite, of the declared signs, a member where `contains` can
tell, and never beaten by an earlier answer. An oracle that always answers with the
worst case of a smaller set passes; no test could tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...checks import Array, as_numbers, briefly, is_whole
from ...errors import InvalidParameter
from .uncertain import Key, key_name, key_signs

#: Relative difference at which one answer is worse than another.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Oracle:
    """A bounded set of outcomes, convex or not, known through its worst cases.

    Any object with these attributes can stand in its place.

    Parameters
    ----------
    dim : int
        Number of entries of an outcome.
    worst_case : callable
        From a direction of shape (dim,) to the outcome that maximises
        `direction @ y` over the set, shape (dim,). Decisions are only as robust as
        this answer is right.
    contains : callable, optional
        From outcomes of shape (n, dim) to booleans of shape (n,). Where it is given,
        the answers of `worst_case` are checked with it.

    Examples
    --------
    >>> import cvxpy as cp, sublevel as sl
    >>> demands = np.array([[1.0, 5.0], [4.0, 2.0]])
    >>> simulated = Oracle(2, lambda d: demands[np.argmax(demands @ d)])
    >>> y, x = sl.Uncertain(2, name="demand"), cp.Variable(2)
    >>> problem = sl.RobustProblem(cp.Minimize(cp.sum(x)), [x >= y], {y: simulated})
    >>> decision = problem.solve()
    >>> round(decision.objective, 6), decision.audit.own_oracles
    (9.0, ('demand',))
    """

    dim: int
    worst_case: Callable[[Array], Any]
    contains: Callable[[Array], Any] | None = None

    def __post_init__(self) -> None:
        if not is_whole(self.dim, least=1):
            raise InvalidParameter(
                "Oracle(dim=...) must be a whole number of at least 1, got "
                f"{briefly(self.dim)}."
            )
        functions = {"worst_case": self.worst_case, "contains": self.contains}
        for name, given in functions.items():
            if not callable(given) and not (name == "contains" and given is None):
                raise InvalidParameter(
                    f"Oracle({name}=...) must be a function, got {briefly(given)}."
                )


class CheckedOracle:
    """A user's oracle for the length of one solve, with its answers tested.

    Parameters
    ----------
    key : the uncertain parameters it speaks of
    oracle : object with `dim` and `worst_case`
    """

    def __init__(self, key: Key, oracle: Oracle) -> None:
        self._name, self._signed = key_name(key), key_signs(key)
        self._oracle = oracle
        self._answers: list[Array] = []
        self.dim = int(oracle.dim)

    def worst_case(self, direction: Array) -> Array:
        """The oracle's answer, if it can be one."""
        answer = self._read(self._oracle.worst_case(direction.copy()))
        if self._knows_members and not self.contains(answer[None])[0]:
            raise InvalidParameter(
                f"The oracle for {self._name!r} must answer with an outcome of its "
                f"set, but its contains() denies {answer}."
            )
        self._compare(direction, answer)
        self._answers.append(answer)
        return answer

    def contains(self, outcomes: Array) -> npt.NDArray[np.bool_]:
        """Membership by the oracle's own account, shape (n,)."""
        if not self._knows_members:
            raise InvalidParameter(
                f"Cuts(scenarios=...) needs to know which outcomes are possible, and "
                f"the oracle for {self._name!r} has no contains(outcomes)."
            )
        contains: Any = self._oracle.contains
        members = np.asarray(contains(outcomes), dtype=bool)
        if members.shape != (len(outcomes),):
            raise InvalidParameter(
                f"The oracle for {self._name!r} must answer contains(outcomes) with "
                f"shape ({len(outcomes)},), got {members.shape}."
            )
        return members

    def bounds(self) -> tuple[Array, Array]:
        """Least and largest value of each entry: two arrays of shape (dim,)."""
        axes = np.eye(self.dim)
        upper = [axis @ self.worst_case(axis) for axis in axes]
        return np.array([axis @ self.worst_case(-axis) for axis in axes]), np.array(
            upper
        )

    @property
    def _knows_members(self) -> bool:
        return callable(getattr(self._oracle, "contains", None))

    def _read(self, answer: npt.ArrayLike) -> Array:
        outcome = np.array(as_numbers(f"The oracle for {self._name!r}", "y", answer))
        if outcome.shape != (self.dim,) or not np.isfinite(outcome).all():
            raise InvalidParameter(
                f"The oracle for {self._name!r} must answer with a finite array of "
                f"shape ({self.dim},), got {answer!r}."
            )
        if (outcome[self._signed] < 0).any():
            raise InvalidParameter(
                f"The oracle for {self._name!r} must not answer with negative "
                f"entries, as it was declared nonneg=True, got {outcome}."
            )
        return outcome

    def _compare(self, direction: Array, answer: Array) -> None:
        """An earlier answer that is worse in this direction convicts the oracle."""
        if not self._answers:
            return
        values = np.array(self._answers) @ direction
        value, before = float(direction @ answer), float(values.max())
        size = float(np.abs(direction) @ np.abs(answer))
        if before > value + TOLERANCE * size:
            raise InvalidParameter(
                f"The oracle for {self._name!r} must answer with the outcome that "
                f"maximises direction @ y, got {value:.6g} where an earlier answer "
                f"of its own reaches {before:.6g}."
            )
