"""Whether cone rows can be made robust one by one without giving anything away.

CVXPY writes a constraint as rows with auxiliary variables: t >= piece for a maximum,
say. Made robust row by row, the auxiliary variables are fixed before the outcome is
known, which is always safe, and exact as long as no row depends on the outcome twice:
through its own coefficients, or through auxiliary variables that depend on it.

    max(r @ x, r @ z) <= 1            exact: t depends on r, and 1 - t >= 0 uses only t
    r @ x + max(r @ x, r @ z) <= 1    not exact: one row uses r and t, both uncertain
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .cone_form import ConeForm
from .equalities import absorbed


def inexact_reason(form: ConeForm) -> str | None:
    """Why the rows cannot be made robust exactly, or None if they can."""
    uncertain = form.uncertain_rows()
    for cone in form.cones:
        if not uncertain[cone.rows].any():
            continue
        if cone.kind == "zero" and not absorbed(form, cone.rows):
            return (
                "an equality with uncertain coefficients fails for some outcome, "
                "unless a decision answers to it (sl.affine_rule)"
            )
        if cone.kind not in ("nonneg", "zero"):
            return (
                f"uncertain data inside a cone ({cone.kind}): its worst case is not a "
                "convex problem"
            )
    return _depends_twice(form, uncertain)


def _depends_twice(form: ConeForm, uncertain: Any) -> str | None:
    """Follow the outcome through the auxiliary variables, innermost first."""
    auxiliary = _auxiliary_columns(form)
    tainted = np.zeros(form.constant.shape[1], dtype=bool)
    groups = sorted(_groups(form), key=lambda group: _newest(group, auxiliary))
    for rows, signs in groups:
        defined = _defined(signs, auxiliary)
        used = (signs != 0) & tainted & ~defined
        sources = int(uncertain[rows].any()) + int(used.sum())
        if sources > 1:
            return (
                "it depends on the outcome in a convex way, or in several places that "
                "nature could not all make worst at once"
            )
        if sources == 1:
            tainted |= defined
    return _curved(form, tainted)


def _curved(form: ConeForm, tainted: Any) -> str | None:
    """A maximum of uncertain pieces may be compared and added, not bent further."""
    for cone in form.cones:
        columns = np.abs(form.constant[cone.rows]).sum(axis=0) > 0
        if cone.kind != "nonneg" and (columns & tainted).any():
            return (
                f"a curved function ({cone.kind}) meets something that depends on the "
                "outcome (give a curved part that is certain a variable, and a "
                "constraint, of its own)"
            )
    return None


def _groups(form: ConeForm) -> list[tuple[Any, Any]]:
    """(row, sign of each column) of every linear row."""
    pattern = form.constant.tocsr()
    return [
        (np.array([i]), np.sign(pattern[[i]].toarray()[0]))
        for cone in form.cones
        if cone.kind == "nonneg"
        for i in range(cone.rows.start, cone.rows.stop)
    ]


def _auxiliary_columns(form: ConeForm) -> Any:
    """Age of each column's auxiliary variable, 0 for the user's own: (columns,)."""
    ages = np.zeros(form.constant.shape[1])
    for variable, columns in form.columns:
        if variable.id in form.auxiliary:
            ages[columns] = variable.id
    return ages


def _newest(group: tuple[Any, Any], auxiliary: Any) -> float:
    """Age of what the row defines; the constraint itself comes last."""
    defined = _defined(group[1], auxiliary)
    return float(auxiliary[defined].max()) if defined.any() else np.inf


def _defined(signs: Any, auxiliary: Any) -> Any:
    """The auxiliary variables a row bounds from below: those with a positive sign.

    Any of them may react to the outcome.
    """
    return (signs > 0) & (auxiliary > 0)
