"""The worst combination of labels: a multiple-choice knapsack, solved exactly.

    maximise  sum_k gains[k][j_k]   subject to   sum_k costs[k][j_k] <= budget,

one class j_k in each block k. Cross-entropy, hinge and 0-1 losses over several
classifiers lead here. The problem is NP-hard in general and easy in practice:

1. Costs are measured above each block's least cost, so what remains of the budget is
   the `room`, and the least-cost labels are always allowed: no set of labels is empty.
2. Costs of 0 or c: sort the gains of switching and take as many as there is room for.
3. Otherwise the Lagrangian dual gives an upper bound, a greedy repair a lower one, and
   classes that cannot bridge the two are dropped (Sinha and Zoltners, 1979).
4. What is left is solved by dynamic programming over lists of non-dominated pairs of
   cost and gain, one block at a time (Nemhauser and Ullmann, 1969).
"""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from .checks import Array
from .errors import InvalidParameter, SolverFailed
from .label_table import TOLERANCE, Labels, LabelTable

#: Longest list of partial solutions before the search turns to another method.
MOST_STATES = 2_000_000


def best_labels(
    gains: Sequence[Any], costs: Sequence[Any], budget: float, tol: float = TOLERANCE
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
    table = LabelTable.of(gains, costs, budget, tol)
    unit = float(table.excess.max())
    if unit == 0.0:
        return np.asarray(np.argmax(table.gains, axis=1))
    if ((table.excess == 0.0) | (table.excess == unit)).all():
        return _switch(table, unit)
    return _branch(table)


def pareto_labels(
    gains: Sequence[Any], costs: Sequence[Any], budget: float, tol: float = TOLERANCE
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
    found = _frontier(table, 0.0, inf)
    if found is None:
        raise InvalidParameter(
            f"pareto_labels(costs=...) must have at most {MOST_STATES} trade-offs "
            f"between cost and gain. Lower the budget or use fewer blocks."
        )
    excess, gain, labels = found
    return excess + table.least, gain, labels


def milp_labels(
    gains: Sequence[Any], costs: Sequence[Any], budget: float, tol: float = TOLERANCE
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
    free = np.where(table.excess == 0.0, table.gains, -inf)
    paid = np.where(table.excess == unit, table.gains, -inf)
    labels = np.argmax(free, axis=1)
    improvement = paid.max(axis=1) - free.max(axis=1)
    chosen = np.argsort(-improvement, kind="stable")[: int(table.room // unit)]
    chosen = chosen[improvement[chosen] > 0]
    labels[chosen] = np.argmax(paid[chosen], axis=1)
    return np.asarray(labels)


def _branch(table: LabelTable) -> Labels:
    """The best labels: dual bound, greedy repair, then the frontier between the two."""
    price, bound, under, over = _dual(table)
    labels = max((_repair(table, under), _repair(table, over)), key=table.gain)
    finite = np.where(np.isfinite(table.gains), table.gains, 0.0)
    rounding = 1e-13 * float(np.abs(finite).sum() + price * table.room)
    gap = bound - table.gain(labels) + rounding
    if gap <= 2 * rounding:
        return labels
    found = _frontier(table, price, gap)
    if found is None:
        return _milp(table)
    # Nothing left between the bounds: the repaired labels are the best ones.
    _, gains, rows = found
    improved = len(gains) > 0 and gains[-1] > table.gain(labels)
    return np.asarray(rows[-1] if improved else labels)


def _dual(table: LabelTable) -> tuple[float, float, Labels, Labels]:
    """Price u that minimises u room + sum_k max_j (gain - u excess), with that value.

    The last affordable labels and the last unaffordable ones come along. The dual is
    piecewise linear, so the crossing of two tangents leads to the next in few steps;
    its value at any price is a bound, so stopping early is safe.
    """
    under = np.argmax(np.where(table.excess == 0.0, table.gains, -inf), axis=1)
    top = table.gains.max(axis=1, keepdims=True)
    over = np.argmin(np.where(table.gains == top, table.excess, inf), axis=1)
    if table.cost(over) <= table.room:
        return 0.0, table.gain(over), over, over
    for _ in range(100):
        rise = table.gain(over) - table.gain(under)
        price = rise / (table.cost(over) - table.cost(under))
        labels = np.argmax(table.gains - price * table.excess, axis=1)
        cost, gain = table.cost(labels), table.gain(labels)
        bound = gain + price * (table.room - cost)
        known = table.gain(over) + price * (table.room - table.cost(over))
        if bound <= known + 1e-14 * (abs(gain) + price * (table.room + cost)):
            break
        under, over = (labels, over) if cost <= table.room else (under, labels)
    return price, max(bound, known), under, over


def _repair(table: LabelTable, labels: Labels) -> Labels:
    """Affordable labels near the given ones: the best single changes, one by one."""
    labels = labels.copy()
    blocks = np.arange(len(labels))
    for _ in range(2 * len(labels)):
        room = table.room - table.cost(labels)
        step = table.excess - table.excess[blocks, labels][:, None]
        rise = table.gains - table.gains[blocks, labels][:, None]
        rise = np.where(step <= room, rise, -inf)
        best = int(np.argmax(rise))
        block, label = divmod(best, rise.shape[1])
        if rise[block, label] == -inf:
            # No single change is enough: fall back on the labels that cost nothing.
            free = np.where(table.excess == 0.0, table.gains, -inf)
            return np.asarray(np.argmax(free, axis=1))
        if room >= 0 and rise[block, label] <= 0:
            break
        labels[block] = label
    return labels


class _States(NamedTuple):
    """Partial solutions: excess cost, gain and loss at the dual price, each (n,)."""

    cost: Array
    gain: Array
    loss: Array


def _frontier(
    table: LabelTable, price: float, gap: float
) -> tuple[Array, Array, Labels] | None:
    """Non-dominated costs, gains and labels whose loss at `price` is at most `gap`.

    None if a list would be longer than MOST_STATES.
    """
    reduced = table.gains - price * table.excess
    loss = reduced.max(axis=1, keepdims=True) - reduced
    kept = loss <= gap
    # Blocks with one class left are settled; the others are merged, shortest first.
    settled = np.argmax(kept, axis=1)
    choices = kept.sum(axis=1)
    free = np.argsort(choices, kind="stable")[int((choices == 1).sum()) :]
    fixed = np.flatnonzero(choices == 1)
    states = _States(
        np.array([table.excess[fixed, settled[fixed]].sum()]),
        np.array([table.gains[fixed, settled[fixed]].sum()]),
        np.array([loss[fixed, settled[fixed]].sum()]),
    )
    trail: list[tuple[Labels, Labels]] = []
    for k in free:
        if states.cost.size * choices[k] > MOST_STATES:
            return None
        states, parent, label = _merge(states, table, loss, k, gap)
        trail.append((parent, label))
    return states.cost, states.gain, _retrace(settled, free, trail, len(states.cost))


def _merge(
    states: _States, table: LabelTable, loss: Array, block: int, gap: float
) -> tuple[_States, Labels, Labels]:
    """Every state with every class of one more block, less the hopeless ones.

    The state each one came from and the class it chose come along.
    """
    classes = np.flatnonzero(loss[block] <= gap)
    cost = np.add.outer(states.cost, table.excess[block, classes]).ravel()
    lost = np.add.outer(states.loss, loss[block, classes]).ravel()
    alive = np.flatnonzero((cost <= table.room) & (lost <= gap))
    parent, choice = np.divmod(alive, classes.size)
    gain = states.gain[parent] + table.gains[block, classes[choice]]
    order = _undominated(cost[alive], gain)
    alive = alive[order]
    merged = _States(cost[alive], gain[order], lost[alive])
    return merged, parent[order], classes[choice[order]]


def _undominated(costs: Array, gains: Array) -> Labels:
    """Indices, by increasing cost, of the pairs that no cheaper pair equals in gain."""
    order = np.lexsort((-gains, costs))
    before = np.maximum.accumulate(np.concatenate(([-inf], gains[order][:-1])))
    return order[gains[order] > before]


def _retrace(
    settled: Labels, free: Labels, trail: list[tuple[Labels, Labels]], size: int
) -> Labels:
    """Labels of each final state, shape (size, blocks), by following its parents."""
    labels = np.tile(settled, (size, 1))
    state = np.arange(size)
    for k, (parent, choice) in zip(free[::-1], trail[::-1], strict=True):
        labels[:, k] = choice[state]
        state = parent[state]
    return labels


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
