"""Blocks of one-hot coordinates: from class names to outcomes and back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ..checks import Array, as_vector
from ..errors import InvalidParameter, UnseenClass
from ..label_table import Labels

Classes = tuple[tuple[Hashable, ...], ...]


def as_costs(value: Any) -> tuple[Array, ...]:
    """One read-only vector of costs a block, each with a finite entry.

    Examples
    --------
    >>> as_costs([[0.0, 1.0], [2.0]])
    (array([0., 1.]), array([2.]))
    """
    if not isinstance(value, Sequence | np.ndarray) or len(value) == 0:
        raise InvalidParameter(
            "LabelSet(costs=...) must be a non-empty sequence of vectors, one a "
            f"block, got {value!r}."
        )
    if any(np.ndim(block) == 0 for block in value):
        raise InvalidParameter(
            "LabelSet(costs=...) must be one vector of costs a block, got numbers. "
            "For a single block, pass (costs,)."
        )
    blocks = [
        as_vector("LabelSet", f"costs[{k}]", block, finite=False)
        for k, block in enumerate(value)
    ]
    for k, block in enumerate(blocks):
        if not np.isfinite(block).any() or (block == -np.inf).any():
            raise InvalidParameter(
                f"LabelSet(costs[{k}]=...) must have a finite cost and none of -inf, "
                f"got {block.tolist()}."
            )
    return tuple(blocks)


def as_classes(value: Any, costs: tuple[Array, ...]) -> Classes:
    """Names of the classes of each block; by default 0, 1, 2, ...

    Examples
    --------
    >>> as_classes(None, (np.zeros(2), np.zeros(1)))
    ((0, 1), (0,))
    """
    if value is None:
        return tuple(tuple(range(cost.size)) for cost in costs)
    names = tuple(tuple(block) for block in value)
    sizes = tuple(cost.size for cost in costs)
    if tuple(len(block) for block in names) != sizes:
        raise InvalidParameter(
            f"LabelSet(classes=...) must name {sizes} classes, as many as there are "
            f"costs in each block, got {tuple(len(block) for block in names)}."
        )
    if any(len(set(block)) < len(block) for block in names):
        raise InvalidParameter(
            "LabelSet(classes=...) must be distinct within a block, got a name twice."
        )
    return names


def one_hot(indices: Labels, sizes: Sequence[int]) -> Array:
    """Outcomes of class indices, shape (n, blocks) -> (n, sum of sizes).

    Examples
    --------
    >>> one_hot(np.array([[1, 0]]), [2, 3])
    array([[0., 1., 1., 0., 0.]])
    """
    starts = np.cumsum(sizes) - np.asarray(sizes)
    outcomes = np.zeros((len(indices), sum(sizes)))
    np.put_along_axis(outcomes, indices + starts, 1.0, axis=1)
    return outcomes


def indices_of(classes: Classes, labels: Any) -> Labels:
    """Class indices of rows of names, shape (n, blocks).

    Examples
    --------
    >>> indices_of((("cat", "dog"), (0, 1)), [["dog", 0]])
    array([[1, 0]])
    """
    places = [{name: j for j, name in enumerate(block)} for block in classes]
    indices = np.empty((len(labels), len(classes)), dtype=np.intp)
    for i, row in enumerate(labels):
        for k, name in enumerate(row):
            if name not in places[k]:
                raise UnseenClass(
                    f"LabelSet.encode(labels) must be classes of block {k}, "
                    f"{list(classes[k])}, got {name!r}."
                )
            indices[i, k] = places[k][name]
    return indices


def names_of(classes: Classes, outcomes: Array) -> list[tuple[Hashable, ...]]:
    """Names of the class of the largest entry in each block of each outcome.

    Examples
    --------
    >>> names_of((("cat", "dog"), (0, 1)), np.array([[0.0, 1.0, 1.0, 0.0]]))
    [('dog', 0)]
    """
    ends = np.cumsum([len(block) for block in classes])
    blocks = np.split(outcomes, ends[:-1], axis=1)
    tops = np.array([block.argmax(axis=1) for block in blocks]).T
    return [
        tuple(names[top] for names, top in zip(classes, row, strict=True))
        for row in tops
    ]
