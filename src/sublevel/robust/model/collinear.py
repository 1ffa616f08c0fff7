"""Maxima that turn at the same place, put together.

    5 pos(z) + pos(-z) = max(5 z, -z)

A maximum of two pieces is b + pos(a - b). All those whose a - b are multiples of one
function z add up to  sum b + max(up z, -down z): two pieces in place of two for each.
"""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy as cp

from ...conic.canonical import cone_form
from ...errors import NotRobustifiable
from .summands import total

#: Relative difference up to which two functions are multiples of one another.
ROUNDING = 1e-12

#: Coefficients of a function: what is multiplied -> by how much.
Table = dict[tuple[int, ...], float]


def merged(terms: Sequence[list[cp.Expression]]) -> list[list[cp.Expression]]:
    """Terms, each the largest of some pieces, with as few pieces as can be told.

    The sum of the terms stays what it is.

    Examples
    --------
    >>> z = cp.Variable(value=-2.0)
    >>> (pieces,) = merged([[5 * z, cp.Constant(0.0)], [-z, cp.Constant(0.0)]])
    >>> len(pieces), float(cp.max(cp.hstack(pieces)).value)
    (2, 2.0)
    """
    pairs = [k for k, pieces in enumerate(terms) if len(pieces) == 2]
    tables = _tables([terms[k][0] - terms[k][1] for k in pairs])
    if tables is None:
        return [list(pieces) for pieces in terms]
    merged_terms = [list(p) for k, p in enumerate(terms) if k not in pairs]
    open_ones = list(zip(pairs, tables, strict=True))
    while open_ones:
        (first, table), rest = open_ones[0], open_ones[1:]
        same, open_ones = [(first, 1.0)], []
        for k, other in rest:
            factor = _factor(table, other)
            if factor is None:
                open_ones.append((k, other))
            else:
                same.append((k, factor))
        merged_terms.append(_together(terms, same))
    return merged_terms


def _together(
    terms: Sequence[list[cp.Expression]], same: list[tuple[int, float]]
) -> list[cp.Expression]:
    """The sum of pairs whose differences are multiples of the first one's."""
    if len(same) == 1:
        return list(terms[same[0][0]])
    turn = terms[same[0][0]][0] - terms[same[0][0]][1]
    up = sum(factor for _, factor in same if factor > 0)
    down = sum(-factor for _, factor in same if factor < 0)
    base = total([terms[k][1] for k, _ in same])
    return [base + up * turn, base - down * turn]


def _factor(one: Table, other: Table) -> float | None:
    """The number that one function times is the other, or None."""
    if not one or one.keys() != other.keys():
        return None
    largest = max(one, key=lambda key: abs(one[key]))
    factor = other[largest] / one[largest]
    size = max(abs(value) for value in other.values())
    near = all(abs(other[k] - factor * one[k]) <= ROUNDING * size for k in one)
    return factor if near and factor != 0 else None


def _tables(functions: list[cp.Expression]) -> list[Table] | None:
    """The coefficients of scalar functions of variables and parameters, or None."""
    if not functions:
        return []
    stacked = cp.hstack(functions)
    constraint = cp.NonNeg(stacked)
    if not stacked.is_affine() or not constraint.is_dcp(dpp=True):
        return None
    try:
        form = cone_form(constraint)
    except (NotRobustifiable, cp.error.DCPError, cp.error.DPPError, ValueError):
        return None
    if form.auxiliary or form.constant.shape[0] != len(functions):
        return None
    tables: list[Table] = [{} for _ in functions]
    constant = form.constant.tocoo()
    for row, column, value in zip(*constant.coords, constant.data, strict=True):
        if value != 0:
            tables[int(row)][(int(column),)] = float(value)
    for parameter, terms in form.parameters.items():
        each = zip(terms.row, terms.column, terms.entry, terms.value, strict=True)
        for row, column, entry, value in each:
            key = (int(column), parameter.id, int(entry))
            table = tables[int(row)]
            table[key] = table.get(key, 0.0) + float(value)
    return [{k: v for k, v in table.items() if v != 0} for table in tables]
