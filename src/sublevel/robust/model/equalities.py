"""Equalities that hold for every outcome, because a rule answers to it.

A row  constant(x) + y' coefficients(x) == 0  holds for every y in U if and only if it
holds on the affine hull of U, { point + basis z }:

    constant(x) + point' coefficients(x) == 0   and   basis' coefficients(x) == 0.

Over a set with an interior every coefficient must vanish. Without a rule among the
coefficients that asks for a decision that ignores the outcome altogether, which is
hardly what was meant, so such an equality is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import cvxpy as cp
import numpy as np

from ...conic.cone_form import ConeForm
from ...sets import UncertaintySet
from .affine_hull import Hull, affine_hull, whole_space
from .affine_rule import RuleVariable
from .uncertain import Key, Uncertain

if TYPE_CHECKING:
    from .rows import UncertainRow


def absorbed(form: ConeForm, rows: slice) -> bool:
    """Whether a rule is among the coefficients of every uncertain row of an equality.

    Equalities that CVXPY introduced to define auxiliary variables do not count: those
    are not decisions that may react.
    """
    if form.auxiliary:
        return False
    own = [columns for v, columns in form.columns if isinstance(v, RuleVariable)]
    reacts = np.zeros(form.width, dtype=bool)
    for columns in own:
        reacts[columns] = True
    answered = np.zeros(form.constant.shape[0], dtype=bool)
    for parameter, terms in form.parameters.items():
        if isinstance(parameter, Uncertain):
            answered[terms.row[reacts[terms.column] & (terms.value != 0)]] = True
    return bool(np.all(answered[rows] | ~form.uncertain_rows()[rows]))


def holding(
    rows: Sequence[UncertainRow], sets: Mapping[Key, UncertaintySet]
) -> list[cp.Constraint]:
    """The rows as equalities for every outcome of the sets: certain constraints.

    For a key without a set they hold for every outcome there is, whichever set it
    turns out to have.
    """
    seen = {key for row in rows for key in row.slopes}
    hulls = {
        key: affine_hull(sets[key])
        if key in sets
        else whole_space(sum(parameter.size for parameter in key))
        for key in seen
    }
    return [condition for row in rows for condition in _on_hulls(row, hulls)]


def _on_hulls(row: UncertainRow, hulls: Mapping[Key, Hull]) -> list[cp.Constraint]:
    conditions = [row.at({key: hulls[key].point for key in row.slopes}) == 0]
    for key, slope in row.slopes.items():
        moves = hulls[key].moves(row.entries[key])
        if moves.shape[1] > 0:
            conditions.append(moves.T @ slope == 0)
    return conditions
