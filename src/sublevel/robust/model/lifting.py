"""Concave functions of the outcome, seen as outcomes of their own.

A constraint  log(y) @ x <= t  is not linear in y, but it is linear in z = log(y). Where
nature wants z large, replacing the graph by { (y, z) : y in U, z <= log(y) } gives away
nothing, and that set is convex (Ben-Tal, den Hertog & Vial 2015). So every part of a
model that depends on the outcome alone, and is concave in it, becomes a parameter.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from ...checks import Array
from ...conic.canonical import cone_form
from ...conic.cone_form import ConeForm
from ...conic.substitution import Parts, substituted
from .refusal import Refusal
from .uncertain import Key, Uncertain, uncertain_in


class Lifted(Uncertain):
    """What a concave function says of the outcome; nature chooses it by choosing that.

    Attributes
    ----------
    function : CVXPY expression of the uncertain parameters of `key` alone
    key : the parameters that share the set it depends on
    defined : array of shape (rows, entries + 1); the function is defined where
        rows @ (y, 1) >= 0
    """

    def __init__(self, function: cp.Expression, key: Key) -> None:
        self.function, self.key = function, key
        self.defined = _domain(function, key)
        cp.Parameter.__init__(
            self,
            function.shape,
            name=str(function),
            nonneg=bool(function.is_nonneg()),
            nonpos=bool(function.is_nonpos() and not function.is_nonneg()),
        )

    def at(self, parts: Parts) -> cp.Expression:
        """The function of other things: parameter id -> array or expression."""
        return substituted(self.function, parts)


class Lifts:
    """The lifted functions of one constraint, each made once."""

    def __init__(self, keys: tuple[Key, ...]) -> None:
        self._keys = keys
        # The node is kept too, so that its id is not given to another.
        self._made: dict[int, tuple[cp.Expression, cp.Expression]] = {}

    def stand_in(self, node: cp.Expression, sense: int) -> cp.Expression | None:
        """What stands for a part of the model that depends on the outcome alone.

        That is itself if it is linear, and None if it is not concave where nature
        wants it large.

        Parameters
        ----------
        sense : 1 where nature wants it large, -1 small, 0 where that is not known
        """
        model = _as_variables(node)
        if uncertain_in(model):
            raise Refusal(f"{node} has uncertain data that is no argument of it.")
        if model.is_affine():
            return node
        if sense == 0 and (model.is_concave() or model.is_convex()):
            raise Refusal(
                f"whether the outcome hurts through {node} when that is large or when "
                "it is small depends on a sign that is not known. Declare the sign of "
                "what multiplies it: cp.Variable(..., nonneg=True)."
            )
        if not (model.is_concave() if sense > 0 else sense and model.is_convex()):
            return None
        if id(node) not in self._made:
            self._made[id(node)] = node, self._lift(node, sense)
        return self._made[id(node)][1]

    def _lift(self, node: cp.Expression, sense: int) -> cp.Expression:
        if len(node.parameters()) > len(uncertain_in(node)):
            raise Refusal(
                f"{node} bends the outcome and has an ordinary parameter in it. Give "
                "that parameter a constant value instead."
            )
        key = self._key_of(node)
        return Lifted(node, key) if sense > 0 else -Lifted(-node, key)

    def _key_of(self, node: cp.Expression) -> Key:
        used = {parameter.id for parameter in uncertain_in(node)}
        keys = [key for key in self._keys if used & {p.id for p in key}]
        if len(keys) > 1:
            names = ", ".join(p.name() for key in keys for p in key)
            raise Refusal(
                f"{node} bends outcomes of several sets together. Give them one set: "
                f"{{({names}): ...}}."
            )
        return keys[0]


def lifted_in(form: ConeForm, row: int, key: Key) -> Key:
    """The lifted functions of a key that enter a row."""
    return tuple(
        parameter
        for parameter, terms in form.parameters.items()
        if isinstance(parameter, Lifted)
        and parameter.key is key
        and terms.of_row(row).entry.size
    )


def _as_variables(node: cp.Expression) -> cp.Expression:
    """The same function of variables: CVXPY then knows how it bends in the outcome."""
    return substituted(node, {p.id: _variable(p) for p in uncertain_in(node)})


def _variable(parameter: Uncertain) -> cp.Variable:
    return cp.Variable(parameter.shape, nonneg=parameter.is_nonneg())


def _domain(function: cp.Expression, key: Key) -> Array:
    """Rows that must not be negative for the function to be defined."""
    stand_ins = {p.id: _variable(p) for p in key}
    ends = np.cumsum([0, *(p.size for p in key)])
    conditions = substituted(function, stand_ins).domain
    if not conditions:
        return np.zeros((0, ends[-1] + 1))
    form = cone_form(*conditions)
    if form.auxiliary or any(cone.kind != "nonneg" for cone in form.cones):
        raise Refusal(
            f"{function} is defined for outcomes that satisfy curved conditions, and "
            "whether a set lies within cannot be checked. Bend the outcome's entries, "
            "or linear functions of them, directly."
        )
    starts = dict(zip((v.id for v in stand_ins.values()), ends, strict=False))
    rows = np.zeros((form.constant.shape[0], ends[-1] + 1))
    constant = form.constant.toarray()
    for variable, columns in form.columns:
        start = starts[variable.id]
        rows[:, start : start + variable.size] = constant[:, columns]
    rows[:, -1] = constant[:, -1]
    return np.unique(rows[rows[:, :-1].any(axis=1)], axis=0)
