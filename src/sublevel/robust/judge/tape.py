"""A written expression as a list of steps, evaluated for many contexts at once.

Every array has the contexts on its first axis (or a single one that stands for all), so
a step is one NumPy call for all of them. Nothing of CVXPY is needed to run a tape;
`reading` makes one from an expression. An atom that has no step of its own is evaluated
context by context through CVXPY.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from ...checks import Array, BoolArray
from ...conic.sparse_table import is_table
from ...deferred import special

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Leaves:
    """What the leaves of an expression are, at n contexts.

    Attributes
    ----------
    values : array of shape (n, entries of the user's variables, one after another)
    outcomes : for each key, array of shape (n, dim)
    ordinary : array of shape (entries,), values of the ordinary parameters
    """

    values: Array
    outcomes: Sequence[Array]
    ordinary: Array

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Step:
    """One step: an operation on the results of earlier ones.

    Attributes
    ----------
    name : name of the operation, a key of OPERATIONS or a leaf's
    args : numbers of the steps it works on
    shape : shape of the result at one context
    data : what else it needs: numbers and arrays, or a CVXPY atom
    """

    name: str
    args: tuple[int, ...]
    shape: Shape
    data: tuple[Any, ...] = ()

    def repeats(self, other: Step, later: int) -> bool:
        """Whether it does what a step of another tape does, so many steps later."""
        return (
            (self.name, self.shape) == (other.name, other.shape)
            and self.args == tuple(k + later for k in other.args)
            and len(self.data) == len(other.data)
            and all(map(_is_same, self.data, other.data))
        )


@dataclass(frozen=True, eq=False)
class Tape:
    """Steps in the order to go through; the last one is the expression.

    Examples
    --------
    >>> square = Step("power", (0,), (2,), (2.0,))
    >>> tape = Tape((Step("variable", (), (2,), (0,)), square))
    >>> tape.run(Leaves(np.array([[1.0, 3.0]]), (), np.zeros(0)))
    array([[1., 9.]])
    """

    steps: tuple[Step, ...]

    @property
    def shape(self) -> Shape:
        """Shape of the expression."""
        return self.steps[-1].shape

    @property
    def storable(self) -> str | None:
        """The atom that no file can hold, or None if there is none."""
        atoms = [step.data[0] for step in self.steps if step.name == "atom"]
        return type(atoms[0]).__name__ if atoms else None

    def run(self, leaves: Leaves) -> Array:
        """The expression at every context, shape (n, *shape)."""
        return self.results(leaves)[-1]

    def results(self, leaves: Leaves, wanted: Sequence[int] = ()) -> list[Array]:
        """Some steps at every context, and the last: shape (n, *shape) each."""
        results: list[Array] = []
        with np.errstate(all="ignore"):
            for step in self.steps:
                results.append(_perform(step, [results[k] for k in step.args], leaves))
        n = len(leaves)
        return [
            each if len(each) == n else np.broadcast_to(each, (n, *each.shape[1:]))
            for each in (*(results[k] for k in wanted), results[-1])
        ]

    def position(self, other: Tape) -> int | None:
        """The step at which another tape ends, if that is part of this one."""
        count = len(other.steps)
        for start in range(len(self.steps) - count + 1):
            pairs = zip(self.steps[start:], other.steps, strict=False)
            if all(mine.repeats(its, start) for mine, its in pairs):
                return start + count - 1
        return None

    def gross(
        self, leaves: Leaves, floor: Array, whole: BoolArray | bool = False
    ) -> Array:
        """Size of what each entry adds up, before the decision cancels: (n, size).

        What is exact, numbers and outcomes and whole variables, is added up first: a
        large constant that a switch turns off is of no size.

        Parameters
        ----------
        floor : shape (n, entries of the variables), least size of each
        whole : shape (entries of the variables,), which ones are exact
        """
        values = leaves.values
        exact = replace(leaves, values=np.where(whole, values, 0.0))
        rough = np.where(whole, 0.0, np.maximum(np.abs(values), floor))
        real: list[Array] = []
        parts: list[tuple[Array, Array]] = []
        with np.errstate(all="ignore"):
            for step in self.steps:
                real.append(_perform(step, [real[k] for k in step.args], leaves))
                if step.name == "variable":
                    noisy = replace(leaves, values=rough)
                    parts.append((_perform(step, [], exact), _perform(step, [], noisy)))
                elif step.args:
                    args = [parts[k] for k in step.args]
                    nets = [real[k] for k in step.args]
                    parts.append(_sized(step, args, nets, real[-1], leaves))
                else:
                    parts.append((real[-1], np.zeros_like(real[-1])))
        sure, unsure = parts[-1]
        last = np.abs(sure) + unsure
        return flat(np.broadcast_to(last, (len(leaves), *last.shape[1:])))

    def rows(self, leaves: Leaves) -> Array:
        """The same with the entries of the expression column by column: (n, size)."""
        return flat(self.run(leaves))


def _is_same(one: Any, other: Any) -> bool:
    """Whether two things a step needs are the same, as far as can be told."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and bool((one == other).all())
    simple = isinstance(one, int | float | str | tuple | None)
    return one is other or (simple and type(one) is type(other) and one == other)


def flat(values: Array) -> Array:
    """Values of shape (n, *shape), each read column by column: (n, size)."""
    axes = (0, *range(values.ndim - 1, 0, -1))
    size = int(np.prod(values.shape[1:]))
    return np.asarray(values.transpose(axes).reshape(len(values), size))


def shaped(rows: Array, shape: Shape) -> Array:
    """The inverse of `flat`: rows (n, size) as arrays of a shape."""
    turned = rows.reshape((len(rows), *shape[::-1]))
    return turned.transpose(0, *range(len(shape), 0, -1))


#: Steps that choose one of what they are given.
_CHOOSING = ("maximum", "minimum", "max", "min")
#: Steps that add up or move what they are given, and those that multiply.
_ADDING = ("add", "negate", "left", "linear", "gather", "sum")
_MULTIPLYING = ("multiply", "product")


def _sized(
    step: Step,
    args: list[tuple[Array, Array]],
    nets: list[Array],
    value: Array,
    leaves: Leaves,
) -> tuple[Array, Array]:
    """The exact part of a step, and the size of what else it adds up."""
    if not any(rough.any() for _, rough in args):
        return value, np.zeros_like(value)
    if step.name in _ADDING:
        sure = _perform(step, [exact for exact, _ in args], leaves)
        return sure, _perform(_absolute(step), [rough for _, rough in args], leaves)
    if step.name in _MULTIPLYING:
        (one, noise), (other, more) = args
        rough = _perform(step, [noise, np.abs(other) + more], leaves)
        rough = rough + _perform(step, [np.abs(one), more], leaves)
        return _perform(step, [one, other], leaves), rough
    if step.name in _CHOOSING:
        # The size of what was chosen, whatever it was chosen from.
        sizes = [np.abs(exact) + rough for exact, rough in args]
        best = _best(step, nets)
        chosen = [
            np.where(net == best, s, 0.0) for net, s in zip(nets, sizes, strict=True)
        ]
        return np.zeros_like(value), _perform(_largest(step), chosen, leaves)
    return np.zeros_like(value), np.abs(value)


def _best(step: Step, nets: list[Array]) -> Array:
    """What is chosen, in a shape that compares with what it is chosen from."""
    lowest = step.name in ("min", "minimum")
    if step.name in ("max", "min"):
        function = np.min if lowest else np.max
        axis = _axes(step, nets[0])
        return np.asarray(function(nets[0], axis=axis, keepdims=True))
    return np.asarray(reduce(np.minimum if lowest else np.maximum, nets))


def _largest(step: Step) -> Step:
    """The step that chooses the largest."""
    name = {"min": "max", "minimum": "maximum"}.get(step.name, step.name)
    return Step(name, step.args, step.shape, step.data)


def _absolute(step: Step) -> Step:
    """The step with the sizes of its own numbers, and without its sign."""
    if step.name == "negate":
        return Step("abs", step.args, step.shape)
    if step.name in ("left", "linear"):
        return Step(step.name, step.args, step.shape, (abs(step.data[0]),))
    return step


def _perform(step: Step, args: list[Array], leaves: Leaves) -> Array:
    if step.name == "variable":
        return shaped(_part(leaves.values, step), step.shape)
    if step.name == "outcome":
        return shaped(_part(leaves.outcomes[step.data[1]], step), step.shape)
    if step.name == "ordinary":
        return shaped(_part(leaves.ordinary[None], step), step.shape)
    if step.name == "constant":
        return np.asarray(step.data[0])[None]
    if step.name == "atom":
        return _atom(step, args, len(leaves))
    return OPERATIONS[step.name](step, args)


def _part(rows: Array, step: Step) -> Array:
    start = step.data[0]
    size = int(np.prod(step.shape, dtype=int))
    return rows[:, start : start + size]


def _atom(step: Step, args: list[Array], n: int) -> Array:
    """A CVXPY atom, context by context."""
    atom = step.data[0]
    wide = [np.broadcast_to(arg, (n, *arg.shape[1:])) for arg in args]
    each = [atom.numeric([arg[i] for arg in wide]) for i in range(n)]
    return np.reshape(np.asarray(each, dtype=float), (n, *step.shape))


def _matched(args: list[Array], dims: int) -> list[Array]:
    """Arguments with axes added, so that they broadcast behind the contexts."""
    return [
        arg.reshape(arg.shape[:1] + (1,) * (dims + 1 - arg.ndim) + arg.shape[1:])
        for arg in args
    ]


def _elementwise(
    function: Callable[..., Array],
) -> Callable[[Step, list[Array]], Array]:
    def perform(step: Step, args: list[Array]) -> Array:
        return function(*_matched(args, len(step.shape)))

    return perform


def _folded(function: np.ufunc) -> Callable[..., Array]:
    return lambda *args: np.asarray(reduce(function, args))


def _sum(step: Step, args: list[Array]) -> Array:
    total = args[0]
    for arg in _matched(args, len(step.shape))[1:]:
        total = _matched([total], len(step.shape))[0] + arg
    return total


def _product(step: Step, args: list[Array]) -> Array:
    """Matrix product, whatever the dimensions."""
    del step
    one, other = args
    if one.ndim == 1 or other.ndim == 1:
        dims = max(one.ndim, other.ndim) - 1
        first, second = _matched([one, other], dims)
        return first * second
    if one.ndim == 2 and other.ndim == 2:
        return np.asarray(np.sum(one * other, axis=-1))
    if other.ndim == 2:
        return np.asarray((one @ other[..., None])[..., 0])
    if one.ndim == 2:
        return np.asarray((one[:, None, :] @ other)[:, 0, :])
    return np.asarray(one @ other)


def _left(step: Step, args: list[Array]) -> Array:
    """A constant matrix times the argument."""
    matrix, arg = step.data[0], args[0]
    if arg.ndim == 2:
        return np.asarray((matrix @ arg.T).T if is_table(matrix) else arg @ matrix.T)
    if is_table(matrix):
        return np.stack([matrix @ each for each in arg])
    return np.asarray(matrix @ arg)


def _linear(step: Step, args: list[Array]) -> Array:
    """A constant sparse matrix times the entries of all arguments."""
    n = max(len(arg) for arg in args)
    rows = [flat(np.broadcast_to(arg, (n, *arg.shape[1:]))) for arg in args]
    return shaped(
        np.ascontiguousarray((step.data[0] @ np.hstack(rows).T).T), step.shape
    )


def _gather(step: Step, args: list[Array]) -> Array:
    """Entries of the arguments, picked by number."""
    n = max(len(arg) for arg in args)
    rows = [flat(np.broadcast_to(arg, (n, *arg.shape[1:]))) for arg in args]
    together = rows[0] if len(rows) == 1 else np.hstack(rows)
    return shaped(together[:, step.data[0]], step.shape)


def _axes(step: Step, arg: Array) -> tuple[int, ...]:
    """The axes a reduction goes over, behind that of the contexts."""
    axis = step.data[0]
    if axis is None:
        return tuple(range(1, arg.ndim))
    dims = arg.ndim - 1
    given = axis if isinstance(axis, tuple | list) else (axis,)
    return tuple(1 + int(a) % dims for a in given)


def _reduction(
    function: Callable[..., Array],
) -> Callable[[Step, list[Array]], Array]:
    def perform(step: Step, args: list[Array]) -> Array:
        result = function(args[0], axis=_axes(step, args[0]))
        return np.asarray(result).reshape(len(args[0]), *step.shape)

    return perform


def _norm1(arg: Array, axis: tuple[int, ...]) -> Array:
    return np.asarray(np.sum(np.abs(arg), axis=axis))


def _norm_inf(arg: Array, axis: tuple[int, ...]) -> Array:
    return np.asarray(np.max(np.abs(arg), axis=axis))


def _log_sum_exp(arg: Array, axis: tuple[int, ...]) -> Array:
    top = np.max(arg, axis=axis, keepdims=True)
    inner = np.log(np.sum(np.exp(arg - top), axis=axis, keepdims=True))
    return np.asarray(np.squeeze(top + inner, axis=axis))


def _pnorm(step: Step, args: list[Array]) -> Array:
    _, power = step.data
    arg, axes = args[0], _axes(step, args[0])
    size = np.abs(arg) if power >= 1 else arg
    largest = np.max(np.abs(arg), axis=axes, keepdims=True)
    unit = np.where(largest > 0, largest, 1.0)
    # In units of the largest entry, so that no power over- or underflows.
    total = np.sum((size / unit) ** power, axis=axes, keepdims=True) ** (1 / power)
    return np.asarray(total * unit).reshape(len(arg), *step.shape)


def _quad_over_lin(step: Step, args: list[Array]) -> Array:
    inner = args[0]
    axes = tuple(range(1, inner.ndim)) if step.data[0] is None else _axes(step, inner)
    below = args[1].reshape(len(args[1]), *step.shape)
    total = np.sum(inner**2, axis=axes).reshape(len(inner), *step.shape)
    return np.asarray(total / below)


def _power(step: Step, args: list[Array]) -> Array:
    power = step.data[0]
    if power == 2:
        return args[0] * args[0]
    return np.asarray(args[0] ** power)


def _huber(step: Step, args: list[Array]) -> Array:
    knee, size = step.data[0], np.abs(args[0])
    return np.where(size <= knee, size**2, 2 * knee * size - knee**2)


def _sum_largest(step: Step, args: list[Array]) -> Array:
    rows, count = np.sort(flat(args[0]), axis=1)[:, ::-1], step.data[0]
    whole = int(count)
    total = rows[:, :whole].sum(axis=1)
    if count > whole:
        total = total + (count - whole) * rows[:, whole]
    return np.asarray(total)


def _quad_form(step: Step, args: list[Array]) -> Array:
    del step
    inner = flat(args[0])
    n, size = inner.shape
    matrix = np.broadcast_to(args[1], (n, size, size))
    return np.asarray(np.einsum("ni,nij,nj->n", inner, matrix, inner))


def _geo_mean(step: Step, args: list[Array]) -> Array:
    weights = np.asarray(step.data[0])
    logs = special.xlogy(weights, np.maximum(flat(args[0]), 0.0))
    return np.asarray(np.exp(np.sum(np.where(weights > 0, logs, 0.0), axis=1)))


def _lambda_max(step: Step, args: list[Array]) -> Array:
    del step
    return np.asarray(np.linalg.eigvalsh(args[0])[:, -1])


def _nearest(step: Step, args: list[Array]) -> Array:
    """Distance of each entry from the nearest of some options."""
    return np.asarray(np.min(np.abs(args[0][..., None] - step.data[0]), axis=-1))


#: Name -> what it does with its arguments.
OPERATIONS: dict[str, Callable[[Step, list[Array]], Array]] = {
    "add": _sum,
    "negate": _elementwise(np.negative),
    "multiply": _elementwise(np.multiply),
    "divide": _elementwise(np.divide),
    "product": _product,
    "left": _left,
    "linear": _linear,
    "gather": _gather,
    "sum": _reduction(np.sum),
    "max": _reduction(np.max),
    "min": _reduction(np.min),
    "norm1": _reduction(_norm1),
    "norm_inf": _reduction(_norm_inf),
    "log_sum_exp": _reduction(_log_sum_exp),
    "pnorm": _pnorm,
    "quad_over_lin": _quad_over_lin,
    "quad_form": _quad_form,
    "power": _power,
    "maximum": _elementwise(_folded(np.maximum)),
    "minimum": _elementwise(_folded(np.minimum)),
    "abs": _elementwise(np.abs),
    "exp": _elementwise(np.exp),
    "log": _elementwise(np.log),
    "log1p": _elementwise(np.log1p),
    "logistic": _elementwise(lambda arg: np.logaddexp(0.0, arg)),
    "entropy": _elementwise(lambda arg: special.entr(arg)),
    "relative_entropy": _elementwise(lambda *args: special.rel_entr(*args)),
    "kl_divergence": _elementwise(lambda *args: special.kl_div(*args)),
    "huber": _huber,
    "sum_largest": _sum_largest,
    "geo_mean": _geo_mean,
    "lambda_max": _lambda_max,
    "nearest": _nearest,
}
