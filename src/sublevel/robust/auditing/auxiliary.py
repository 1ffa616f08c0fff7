"""Which auxiliary variables an audit can set itself, and by which rows.

CVXPY writes  max(r @ x, 5) <= 9  as  t >= r @ x,  t >= 5,  t <= 9.  What t must be
follows from the first two rows at the worst outcome. An auxiliary variable is settable
if only linear rows bound it from below, each of them bounds no other one, and its
coefficients are constants. The least value its rows allow is then feasible whatever
other rows there are that it enters: these bound it from above. Those that are not
settable keep the values the solver found, which is safe, as they are a witness.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..modelling.cone_form import ConeForm


def defining_rows(form: ConeForm, uncertain: Any) -> dict[int, int | None]:
    """Row -> column it sets, in the order to go through; None for rows that set none.

    Only rows that have to do with a settable variable that depends on the outcome.

    Parameters
    ----------
    uncertain : numbers of the rows that see the outcome
    """
    ages = _ages(form)
    if not ages.any():
        return {}
    linear = np.zeros(form.constant.shape[0], dtype=bool)
    for cone in form.cones:
        linear[cone.rows] = cone.kind == "nonneg"
    constant = form.constant[:, :-1].tocsr()
    sets = _sets(constant, linear, ages * ~_moving(form, constant, linear))
    reached = _reached(constant, sets, ages, set(uncertain))
    touched = np.zeros(len(ages))
    touched[list(reached)] = 1.0
    rows = np.flatnonzero(linear & ((constant != 0) @ touched > 0)).tolist()
    found = {i: c if (c := sets.get(i)) in reached else None for i in rows}
    return dict(sorted(found.items(), key=lambda item: _age(item[1], ages)))


def _ages(form: ConeForm) -> Any:
    """Age of each column's auxiliary variable, inner ones first; 0 for the user's."""
    found = np.zeros(form.width - 1)
    for variable, columns in form.columns:
        if variable.id in form.auxiliary:
            found[columns] = variable.id + 1
    return found


def _age(column: int | None, ages: Any) -> tuple[float, int]:
    return (np.inf, 0) if column is None else (float(ages[column]), column)


def _moving(form: ConeForm, constant: Any, linear: Any) -> Any:
    """Which columns enter curved or zero cones, or with a parameter."""
    found = np.zeros(constant.shape[1] + 1, dtype=bool)
    found[constant[~linear].indices] = True
    for terms in form.parameters.values():
        found[terms.column] = True
    return found[:-1]


def _sets(constant: Any, linear: Any, ages: Any) -> dict[int, int]:
    """Row -> the one settable column it bounds from below."""
    below = constant.tocoo()
    row, column = below.coords
    bounds = linear[row] & (ages[column] > 0) & (below.data > 0)
    row, column = row[bounds], column[bounds]
    several = np.bincount(row, minlength=constant.shape[0]) > 1
    shared = np.zeros(constant.shape[1], dtype=bool)
    shared[column[several[row]]] = True
    pairs = zip(row.tolist(), column.tolist(), strict=True)
    return {i: j for i, j in pairs if not shared[j]}


def _reached(
    constant: Any, sets: dict[int, int], ages: Any, rows: set[int]
) -> set[int]:
    """The settable columns whose value depends on the outcome."""
    found: set[int] = set()
    for i, j in sorted(sets.items(), key=lambda item: _age(item[1], ages)):
        used = constant.indices[constant.indptr[i] : constant.indptr[i + 1]].tolist()
        if i in rows or any(k in found and k != j for k in used):
            found.add(j)
    return found
