"""Decisions that wait: affine functions of the outcome, to model with like variables.

A decision taken after (part of) the outcome is known may react to it. Restricted to

    decision(y) = intercept + slopes @ y,

what is left to choose are numbers, fixed before the outcome: the intercept and the
slopes (Ben-Tal, Goryashko, Guslitzer & Nemirovski 2004). The best affine rule is at
least as good as the best fixed decision, and at most as good as the best function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...checks import Array, briefly, is_whole, require_bool
from ...errors import InvalidParameter
from .reaction import Reaction
from .uncertain import Uncertain, Written


class RuleVariable(cp.Variable):  # type: ignore[misc]
    """Numbers of a rule: the part of an equality that may answer to the outcome."""


@dataclass(frozen=True, eq=False)
class RuleParts:
    """What a rule is made of.

    Attributes
    ----------
    name : str
    parameters : the uncertain parameters it reacts to, their entries one after another
    nonneg : whether it must not be negative, whatever the outcome
    intercept : variable of shape (size,), column by column
    slopes : variable, one number for each True of `sees`, or None if there is none
    sees : boolean array of shape (size, m)
    """

    name: str
    parameters: tuple[Uncertain, ...]
    nonneg: bool
    intercept: RuleVariable
    slopes: RuleVariable | None
    sees: npt.NDArray[np.bool_]

    def expression(self) -> cp.Expression:
        """The rule as an expression of shape (size,)."""
        if self.slopes is None:
            return self.intercept
        outcome = cp.hstack([cp.vec(p, order="F") for p in self.parameters])
        row, entry = np.nonzero(self.sees)
        term, ones = np.arange(row.size), np.ones(row.size)
        pick = sp.csr_array((ones, (term, entry)), shape=(row.size, outcome.size))
        add = sp.csr_array((ones, (row, term)), shape=(len(self.sees), row.size))
        return self.intercept + add @ cp.multiply(self.slopes, pick @ outcome)


class AffineRule(cp.reshape):  # type: ignore[misc]
    """The expression that `affine_rule` returns; it remembers its parts."""

    def __init__(
        self, flat: cp.Expression, shape: tuple[int, ...], order: str, parts: RuleParts
    ) -> None:
        self.parts = parts
        super().__init__(flat, shape, order)

    def get_data(self) -> list[Any]:
        """What CVXPY needs, with the arguments, to build a copy."""
        return [*super().get_data(), self.parts]

    def name(self) -> str:
        """The name in messages, in place of the formula."""
        return self.parts.name

    def reaction(self, value: Callable[[RuleVariable], Array]) -> Reaction:
        """The rule with the numbers that `value` finds for its variables."""
        parts = self.parts
        slopes: Array = np.zeros(parts.sees.shape)
        if parts.slopes is not None:
            slopes[parts.sees] = value(parts.slopes)
        return Reaction(
            np.reshape(value(parts.intercept), self.shape, order="F"),
            np.reshape(slopes, (*self.shape, slopes.shape[1]), order="F"),
            tuple(parameter.shape for parameter in parts.parameters),
        )


def affine_rule(
    r: Uncertain | Sequence[Uncertain],
    shape: int | tuple[int, ...] = (),
    nonneg: bool = False,
    sees: npt.ArrayLike | None = None,
    name: str | None = None,
) -> AffineRule:
    """A decision that reacts to the outcome, affinely; use it like a variable.

    Parameters
    ----------
    r : Uncertain, or several of them
        What the decision reacts to: m entries, a matrix column by column.
    shape : int or tuple of at most two int
        Shape of the decision.
    nonneg : bool, default False
        Whether the decision must not be negative, whatever the outcome:
        RobustProblem adds that constraint.
    sees : array, optional
        What is known when each decision is taken. Integers count the leading entries
        of the outcome, and broadcast to `shape`: `sees=np.arange(T)` for decisions
        taken before each of T periods. Booleans name the entries, and broadcast to
        (*shape, m). By default every decision sees every entry.
    name : str, optional
        Name in messages.

    Returns
    -------
    CVXPY expression of shape `shape`. `decision.value(rule)` says how it reacts.

    Examples
    --------
    Stock now at 1, buy the rest at 1.5 when demand is known.

    >>> import sublevel as sl
    >>> demand, stock = sl.Uncertain(2, name="demand"), cp.Variable(2, nonneg=True)
    >>> late = sl.affine_rule(demand, 2, nonneg=True, name="late")
    >>> cost = cp.sum(stock) + 1.5 * cp.sum(late)
    >>> U = sl.sets.Budget([5.0, 5.0], [2.0, 2.0], gamma=1)
    >>> enough = [stock + late >= demand]
    >>> decision = sl.RobustProblem(cp.Minimize(cost), enough, {demand: U}).solve()
    >>> round(decision.objective, 4), decision.value(late)([5.0, 5.0]).round(4)
    (13.0, array([1., 1.]))
    """
    parameters = _parameters(r)
    require_bool("affine_rule", nonneg=nonneg)
    if not (name is None or isinstance(name, str)):
        raise InvalidParameter(
            f"affine_rule(name=...) must be a word, got {briefly(name)}."
        )
    shape = _shape(shape)
    sees = _sees(sees, shape, sum(parameter.size for parameter in parameters))
    intercept = RuleVariable(len(sees), name=f"{name or 'rule'} intercept")
    name = name or f"rule{intercept.id}"
    count = int(sees.sum())
    slopes = RuleVariable(count, name=f"{name} slopes") if count else None
    parts = RuleParts(name, parameters, nonneg, intercept, slopes, sees)
    return AffineRule(parts.expression(), shape, "F", parts)


def signs(written: Sequence[Written]) -> list[cp.Constraint]:
    """Rule >= 0 for every rule declared nonneg in objectives and constraints."""
    rules = {rule.parts.intercept.id: rule for part in written for rule in _rules(part)}
    return [rule >= 0 for rule in rules.values() if rule.parts.nonneg]


def _rules(written: Written | list[Written]) -> list[AffineRule]:
    if isinstance(written, AffineRule):
        return [written]
    # Some of CVXPY's expressions have lists, or whole problems, for arguments.
    parts = written if isinstance(written, list) else getattr(written, "args", [])
    return [rule for part in parts for rule in _rules(part)]


def _parameters(r: Uncertain | Sequence[Uncertain]) -> tuple[Uncertain, ...]:
    parameters = tuple(r) if isinstance(r, tuple | list) else (r,)
    for part in parameters:
        if not isinstance(part, Uncertain):
            raise InvalidParameter(
                "affine_rule(r=...) must be an sl.Uncertain or several of them, got "
                f"{type(part).__name__}."
            )
    if not parameters or len({part.id for part in parameters}) < len(parameters):
        raise InvalidParameter(
            "affine_rule(r=...) must name each Uncertain once, and at least one, got "
            f"{[part.name() for part in parameters]}."
        )
    return parameters


def _shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    if len(sizes) > 2 or not all(is_whole(n, least=1) for n in sizes):
        raise InvalidParameter(
            "affine_rule(shape=...) must be (), (k,) or (k, l) with positive integers, "
            f"got {shape!r}."
        )
    return tuple(int(n) for n in sizes)


def _sees(
    sees: npt.ArrayLike | None, shape: tuple[int, ...], m: int
) -> npt.NDArray[np.bool_]:
    """What each decision may react to: boolean, shape (size, m), column by column."""
    try:
        given = np.asarray(True if sees is None else sees)
    except ValueError:
        given = np.asarray(None)
    if given.dtype.kind in "iu":
        if given.size and not (given.min() >= 0 and given.max() <= m):
            raise InvalidParameter(
                f"affine_rule(sees=...) must count from 0 to {m} leading entries, got "
                f"{given.min()} to {given.max()}."
            )
        given = np.arange(m) < given[..., None]
    try:
        if given.dtype.kind != "b":
            raise ValueError(given.dtype)
        wide = np.broadcast_to(given, (*shape, m))
    except ValueError:
        raise InvalidParameter(
            f"affine_rule(sees=...) must be integers of shape {shape} (how many "
            f"leading entries are seen) or booleans of shape {(*shape, m)} (which "
            f"ones), got {briefly(sees)}."
        ) from None
    return wide.reshape(-1, m, order="F")
