"""The worst combination of labels: a multiple-choice knapsack, solved exactly.

    maximise  sum_k gains[k][j_k]   subject to   sum_k costs[k][j_k] <= budget,

one class j_k in each block k. Cross-entropy, hinge and 0-1 losses over several
classifiers lead here. The problem is NP-hard in general and easy in practice:

1. Costs are measured above each block's least cost, so what remains of the budget is
   the `room`, and the least-cost labels are always allowed: no set of labels is empty.
2. Costs of 0 or c: sort the gains of switching and take as many as there is room for.
3. Otherwise the Lagrangian dual gives an upper bound, its labels with one change a
   lower one, and classes that cannot bridge the two are dropped (Sinha and Zoltners,
   1979).
4. What is left is solved by dynamic programming over lists of non-dominated pairs of
   cost and gain, one block at a time (Nemhauser and Ullmann, 1969).
"""

from collections.abc import Sequence
from math import inf, isnan

import numpy as np
import numpy.typing as npt

from ..checks import Array
from ..errors import InvalidParameter, SolverFailed
from .frontier import promising, undominated
from .table import TOLERANCE, Labels, LabelTable

#: Longest list of partial solutions before the search turns to another method.
MOST_STATES = 2_000_000


def best_labels(
    gains: Sequence[npt.ArrayLike],
    costs: Sequence[npt.ArrayLike],
    budget: float,
    tol: float = TOLERANCE,
) -> Labels:
    """The affordable labels of largest total gain, one class index a block.

    Parameters
    ----------
    gains, costs : sequences of arrays of shape (classes,), one a block
        Gains are finite; an infinite cost excludes the class.
    budget : float
        Largest total cost. Below the sum of the least costs, the least-cost labels
        are returned; infinity allows every combination, excluded classes included.
    tol : float
        Relative slack of the budget; a cost on the boundary is affordable.

    Returns
    -------
    array of integers, shape (blocks,)

    Examples
    --------
    >>> gains = [[0.0, 5.0], [0.0, 4.0], [0.0, 3.0]]
    >>> costs = [[0.1, 2.0], [0.2, 1.0], [0.3, 1.0]]
    >>> best_labels(gains, costs, budget=2.5)
    array([0, 1, 1])
    """
    return best_of(LabelTable.of(gains, costs, budget, tol))


def best_of(table: LabelTable) -> Labels:
    """The same from a table laid out already."""
    unit = table.costs.unit
    if unit == 0.0:
        return np.asarray(np.argmax(table.gains, axis=1))
    return _branch(table) if isnan(unit) else _switch(table, unit)


def pareto_labels(
    gains: Sequence[npt.ArrayLike],
    costs: Sequence[npt.ArrayLike],
    budget: float,
    tol: float = TOLERANCE,
) -> tuple[Array, Array, Labels]:
    """Every affordable trade-off between cost and gain that nothing dominates.

    Parameters
    ----------
    gains, costs, budget, tol
        As for `best_labels`.

    Returns
    -------
    costs : array of shape (n,), increasing
    gains : array of shape (n,), increasing
    labels : array of integers of shape (n, blocks)

    Examples
    --------
    >>> pareto_labels([[0.0, 5.0], [0.0, 4.0]], [[0.0, 2.0], [0.0, 1.0]], budget=2.0)
    (array([0., 1., 2.]), array([0., 4., 5.]), array([[0, 0], [0, 1], [1, 0]]))
    """
    table = LabelTable.of(gains, costs, budget, tol)
    # Every class loses something finite; those that are absent lose inf.
    choices = promising(table, 0.0, np.finfo(float).max, MOST_STATES)
    if choices is None:
        raise InvalidParameter(
            f"pareto_labels(costs=...) must have at most {MOST_STATES} trade-offs "
            f"between cost and gain. Lower the budget or use fewer blocks."
        )
    labels = choices.labels(undominated(choices.cost, -choices.loss))
    excess, gain = np.array([table.totals(row) for row in labels]).T
    return excess + table.least, gain, labels


def milp_labels(
    gains: Sequence[npt.ArrayLike],
    costs: Sequence[npt.ArrayLike],
    budget: float,
    tol: float = TOLERANCE,
) -> Labels:
    """The same labels as `best_labels`, from the mixed-integer solver HiGHS.

    Slower, and independent: it is the cross-check, and the last resort for instances
    on which the lists of `best_labels` grow too long.

    Parameters
    ----------
    gains, costs, budget, tol
        As for `best_labels`.

    Returns
    -------
    array of integers, shape (blocks,)

    Examples
    --------
    >>> milp_labels([[0.0, 5.0], [0.0, 4.0]], [[0.0, 2.0], [0.0, 1.0]], budget=1.0)
    array([0, 1])
    """
    return _milp(LabelTable.of(gains, costs, budget, tol))


def _switch(table: LabelTable, unit: float) -> Labels:
    """The best labels where every cost is 0 or `unit`: the largest gains of paying."""
    free = np.where(table.costs.free, table.gains, -inf)
    paid = np.where(table.excess == unit, table.gains, -inf)
    labels = np.argmax(free, axis=1)
    improvement = paid.max(axis=1) - free.max(axis=1)
    chosen = np.argsort(-improvement, kind="stable")[: int(table.room // unit)]
    chosen = chosen[improvement[chosen] > 0]
    labels[chosen] = np.argmax(paid[chosen], axis=1)
    return np.asarray(labels)


def _branch(table: LabelTable) -> Labels:
    """The best labels: dual bound, labels at hand, then the choices between the two."""
    price, bound, under, over = _dual(table)
    gained, labels = _repaired(table, under, over)
    size = np.abs(table.gains[table.costs.usable]).sum() + price * table.room
    rounding = 1e-13 * float(size)
    gap = bound - gained + rounding
    if gap <= 2 * rounding:
        return labels
    choices = promising(table, price, gap, MOST_STATES)
    if choices is None:
        return _milp(table)
    if not choices.cost.size:
        # Nothing left between the bounds: the labels at hand are the best ones.
        return labels
    best = choices.one(int((price * choices.cost - choices.loss).argmax()))
    return best if table.gain(best) > gained else labels


def _dual(table: LabelTable) -> tuple[float, float, Labels, Labels]:
    """Price u that minimises u room + sum_k max_j (gain - u excess), with that value.

    The last affordable labels and the last unaffordable ones come along. The dual is
    piecewise linear, so the crossing of two tangents leads to the next in few steps;
    its value at any price is a bound, so stopping early is safe.
    """
    gains, excess, room = table.gains, table.excess, table.room
    under, over = table.free(), _greedy(table)
    low, low_gain = table.totals(under)
    high, high_gain = table.totals(over)
    if high <= room:
        return 0.0, high_gain, over, over
    for _ in range(100):
        price = (high_gain - low_gain) / (high - low)
        labels = (gains - price * excess).argmax(axis=1)
        cost, gain = table.totals(labels)
        bound = gain + price * (room - cost)
        line = high_gain + price * (room - high)
        if bound <= line + 1e-14 * (abs(gain) + price * (room + cost)):
            break
        if cost <= room:
            under, low, low_gain = labels, cost, gain
        else:
            over, high, high_gain = labels, cost, gain
    return price, max(bound, line), under, over


def _greedy(table: LabelTable) -> Labels:
    """The labels of largest gain, the cheapest of them where several are."""
    top = table.gains.max(axis=1, keepdims=True)
    return np.asarray(np.where(table.gains == top, table.excess, inf).argmin(axis=1))


def _repaired(table: LabelTable, under: Labels, over: Labels) -> tuple[float, Labels]:
    """Gain and labels of the best affordable choice one change away from either."""
    gains, excess, near = table.gains, table.excess, np.array((under, over))
    at = table.costs.starts + near
    spent, gained = excess.take(at), gains.take(at)
    room = table.room - spent.sum(axis=1, keepdims=True)
    # However sums are rounded, no change at all keeps the first labels affordable.
    room[0] = np.maximum(room[0], 0.0)
    rise = gains - gained[:, :, None]
    rise[excess > (spent + room)[:, :, None]] = -inf
    best = rise.reshape(2, -1).argmax(axis=1)
    total = gained.sum(axis=1) + rise.reshape(2, -1)[[0, 1], best]
    side = int(total[1] > total[0])
    labels = near[side]
    block, label = divmod(int(best[side]), gains.shape[1])
    labels[block] = label
    return float(total[side]), labels


def _milp(table: LabelTable) -> Labels:
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    block, label = np.nonzero(np.isfinite(table.gains))
    count = block.size
    one_each = csr_array((np.ones(count), (block, np.arange(count))))
    conditions = [LinearConstraint(one_each, 1.0, 1.0)]
    if table.room > 0:
        share = table.excess[block, label] / table.room
        conditions.append(LinearConstraint(share[None, :], -inf, 1.0))
    answer = milp(
        -table.gains[block, label],
        constraints=conditions,
        integrality=np.ones(count),
        bounds=Bounds(0.0, 1.0),
        options={"mip_rel_gap": 0.0},
    )
    if answer.x is None:
        raise SolverFailed(f"HIGHS failed on the worst labels: {answer.message}")
    chosen = answer.x > 0.5
    labels = np.zeros(len(table.gains), dtype=np.intp)
    labels[block[chosen]] = label[chosen]
    return labels
