"""Expressions of the judge in a file: step by step, and nothing that does not fit.

Every step that is read is checked against the shapes of the steps it works on, before
anything of that shape is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, prod
from typing import Any

import numpy as np

from ...conic.sparse_table import is_table
from ...errors import InvalidParameter
from ..judge.tape import OPERATIONS, Shape, Step, Tape
from .packing import Packer, Unpacker, as_shape, require, whole

#: Numbers that the steps of one expression come to at one context, at most.
MOST_NUMBERS = 50_000_000

#: Where leaves are: entries of the variables, of each key, of the ordinary parameters.
Sizes = tuple[int, tuple[int, ...], int]


def tape_to(tape: Tape, packer: Packer) -> list[Any]:
    """An expression as plain data."""
    if sum(prod(step.shape) for step in tape.steps) > MOST_NUMBERS:
        raise InvalidParameter(
            "Policy.save() cannot write an expression that comes to more than "
            f"{MOST_NUMBERS:,} numbers at one context. Write it in parts."
        )
    return [
        [
            step.name,
            list(step.args),
            list(step.shape),
            [_item_to(item, packer) for item in step.data],
        ]
        for step in tape.steps
    ]


def tape_from(about: list[Any], reader: Unpacker, sizes: Sizes) -> Tape:
    """The expression again, of which every step fits the ones before it."""
    steps: list[Step] = []
    left = MOST_NUMBERS
    for name, args, shape, written in about:
        before = [steps[whole(k, len(steps))].shape for k in args]
        own = as_shape(shape)
        left -= prod(own)
        require(left >= 0, "the size of an expression")
        items = tuple(_item_from(item, reader) for item in written)
        if name in _LEAVES:
            require(not args and _LEAVES[name](items, own, sizes), "a leaf")
        else:
            require(name in _FITS and name in OPERATIONS, "an operation")
            require(_FITS[name](before, own, items), f"what {name!r} works on")
        steps.append(Step(name, tuple(args), own, items))
    require(bool(steps), "an expression")
    return Tape(tuple(steps))


# -- what a step has of its own -------------------------------------------------------


def _item_to(item: object, packer: Packer) -> Any:
    if item is None or isinstance(item, bool | int | float):
        return item
    if isinstance(item, np.integer | np.floating):
        return item.item()
    if isinstance(item, tuple | list):
        return {"axes": [int(axis) for axis in item]}
    if isinstance(item, np.ndarray):
        kind = np.int64 if item.dtype.kind == "i" else np.float64
        return {"array": packer.array(item.astype(kind))}
    return {"sparse": packer.sparse(item)}


def _item_from(item: Any, reader: Unpacker) -> Any:
    if item is None or isinstance(item, int | float):
        return item
    if "axes" in item:
        return tuple(int(axis) for axis in item["axes"])
    if "array" in item:
        return reader.values(item["array"])
    return reader.sparse(item["sparse"], None, whole(item["sparse"][0][1], 2**31))


# -- leaves ---------------------------------------------------------------------------

Items = tuple[Any, ...]


def _is_part(start: object, shape: Shape, end: int) -> bool:
    return isinstance(start, int) and 0 <= start <= end - prod(shape)


def _variable(items: Items, shape: Shape, sizes: Sizes) -> bool:
    return len(items) == 1 and _is_part(items[0], shape, sizes[0])


def _outcome(items: Items, shape: Shape, sizes: Sizes) -> bool:
    start, key = items
    return _is_part(start, shape, sizes[1][whole(key, len(sizes[1]))])


def _ordinary(items: Items, shape: Shape, sizes: Sizes) -> bool:
    return len(items) == 1 and _is_part(items[0], shape, sizes[2])


def _constant(items: Items, shape: Shape, sizes: Sizes) -> bool:
    del sizes
    (value,) = items
    return isinstance(value, np.ndarray) and value.shape == shape


_LEAVES: dict[str, Callable[[Items, Shape, Sizes], bool]] = {
    "variable": _variable,
    "outcome": _outcome,
    "ordinary": _ordinary,
    "constant": _constant,
}


# -- operations: do the shapes of arguments and result fit? ---------------------------

Fit = Callable[[Sequence[Shape], Shape, Items], bool]


def _elementwise(least: int, most: int | None) -> Fit:
    def fits(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
        count = least <= len(args) <= (most or len(args))
        return count and not items and np.broadcast_shapes(*args) == shape

    return fits


def _with_number(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    return list(args) == [shape] and len(items) == 1 and _is_number(items[0])


def _is_number(item: object) -> bool:
    return isinstance(item, int | float) and isfinite(item)


def _product(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    one, other = args
    if items or max(len(one), len(other)) > 2:
        return False
    if not one or not other:
        return shape == (one or other)
    fits = one[-1] == other[0]
    return fits and shape == one[:-1] + other[1:]


def _left(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    (arg,), (matrix,) = args, items
    table = _shape_of(matrix)
    fits = len(table) == 2 and 1 <= len(arg) <= 2 and table[1] == arg[0]
    return fits and shape == table[:1] + arg[1:]


def _linear(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    (matrix,) = items
    table = (prod(shape), sum(map(prod, args)))
    return is_table(matrix) and _shape_of(matrix) == table


def _gather(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    (where,) = items
    fits = isinstance(where, np.ndarray) and where.dtype.kind == "i"
    return (
        fits
        and where.shape == (prod(shape),)
        and bool(((where >= 0) & (where < sum(map(prod, args)))).all())
    )


def _reduction(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    (arg,), axis = args, items[0]
    dims = len(arg)
    axes = range(dims) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(a, int) and -dims <= a < dims for a in axes):
        return False
    over = {a % dims for a in axes}
    rest = prod(n for k, n in enumerate(arg) if k not in over)
    return len(over) == len(axes) and prod(arg) > 0 and rest == prod(shape)


def _plain_reduction(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    return len(items) == 1 and _reduction(args, shape, items)


def _pnorm(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    axis, power = items
    return _is_number(power) and power != 0 and _reduction(args, shape, (axis,))


def _quad_over_lin(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    inner, below = args
    return _plain_reduction([inner], shape, items) and prod(below) == prod(shape)


def _quad_form(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    inner, matrix = args
    return not items and shape == () and matrix == (prod(inner), prod(inner))


def _sum_largest(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    (arg,), (count,) = args, items
    return shape == () and _is_number(count) and 0 < count <= prod(arg)


def _geo_mean(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    (arg,), (weights,) = args, items
    return shape == () and _shape_of(weights) == (prod(arg),)


def _lambda_max(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    (arg,) = args
    return not items and shape == () and len(arg) == 2 and 0 < arg[0] == arg[1]


def _nearest(args: Sequence[Shape], shape: Shape, items: Items) -> bool:
    (arg,), (options,) = args, items
    (count,) = _shape_of(options)
    return arg == shape and count > 0 and prod(arg) * count <= MOST_NUMBERS


def _shape_of(matrix: Any) -> Shape:
    has_shape = isinstance(matrix, np.ndarray) or is_table(matrix)
    return tuple(matrix.shape) if has_shape else ()


_FITS: dict[str, Fit] = {
    "add": _elementwise(1, None),
    "maximum": _elementwise(1, None),
    "minimum": _elementwise(1, None),
    "multiply": _elementwise(2, 2),
    "divide": _elementwise(2, 2),
    "relative_entropy": _elementwise(2, 2),
    "kl_divergence": _elementwise(2, 2),
    "negate": _elementwise(1, 1),
    "abs": _elementwise(1, 1),
    "exp": _elementwise(1, 1),
    "log": _elementwise(1, 1),
    "log1p": _elementwise(1, 1),
    "logistic": _elementwise(1, 1),
    "entropy": _elementwise(1, 1),
    "power": _with_number,
    "huber": _with_number,
    "product": _product,
    "left": _left,
    "linear": _linear,
    "gather": _gather,
    "sum": _plain_reduction,
    "max": _plain_reduction,
    "min": _plain_reduction,
    "norm1": _plain_reduction,
    "norm_inf": _plain_reduction,
    "log_sum_exp": _plain_reduction,
    "pnorm": _pnorm,
    "quad_over_lin": _quad_over_lin,
    "quad_form": _quad_form,
    "sum_largest": _sum_largest,
    "geo_mean": _geo_mean,
    "lambda_max": _lambda_max,
    "nearest": _nearest,
}
