"""From a CVXPY expression to its tape.

CVXPY's own atoms say what each node is; how the problem is rewritten for a solver plays
no part. Every tape is compared with CVXPY's value of the expression at random points
before it is used, so a step that is wrong is found out, and replaced by CVXPY.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.atom import Atom
from cvxpy.expressions.leaf import Leaf

from ...checks import Array
from ..model.dense import as_dense
from .tape import Leaves, Step, Tape

#: Points at which a tape is compared with CVXPY, and how close it must be.
POINTS, CLOSE = 2, 1e-9
#: Entries up to which an affine atom is probed for its matrix.
MOST_PROBED = 4000

#: Atoms that only pick, move or repeat entries of their arguments.
_PICKING = (
    "index",
    "special_index",
    "reshape",
    "AffineRule",
    "transpose",
    "permute_dims",
    "Hstack",
    "Vstack",
    "Concatenate",
    "Promote",
    "broadcast_to",
    "diag_mat",
    "upper_tri",
    "Wrap",
    "psd_wrap",
    "nonneg_wrap",
    "nonpos_wrap",
    "symmetric_wrap",
    "nsd_wrap",
    "real",
    "conj",
)


@dataclass(frozen=True, eq=False)
class Frame:
    """Where the leaves of a model are.

    Attributes
    ----------
    variables : id of a variable -> where its entries start in `Leaves.values`
    outcomes : id of an uncertain parameter -> (start, number of its key)
    ordinary : id of another parameter -> start
    leaves : all of them, by id
    tapes : expressions that were read, by the id of the object, each with its tape
    """

    variables: Mapping[int, int]
    outcomes: Mapping[int, tuple[int, int]]
    ordinary: Mapping[int, int]
    leaves: Mapping[int, Leaf]
    tapes: dict[int, tuple[cp.Expression, Tape]] = field(default_factory=dict)

    def sizes(self) -> tuple[int, tuple[int, ...], int]:
        """Entries of the variables, of each key, and of the ordinary parameters."""
        dims: dict[int, int] = {}
        for i, (start, key) in self.outcomes.items():
            dims[key] = max(dims.get(key, 0), start + self.leaves[i].size)
        return (
            _end(self.variables, self.leaves),
            tuple(dims[key] for key in sorted(dims)),
            _end(self.ordinary, self.leaves),
        )

    @cached_property
    def points(self) -> Leaves:
        """Random points at which what is read is held against what is written."""
        return self.random_leaves(np.random.default_rng(0), POINTS)

    def random_leaves(self, rng: np.random.Generator, n: int = 1) -> Leaves:
        """Leaves at random, positive and of any declared structure."""
        width, dims, count = self.sizes()
        values = rng.uniform(0.5, 1.5, (n, width))
        for i, start in self.variables.items():
            leaf = self.leaves[i]
            for row in values:
                part = row[start : start + leaf.size].reshape(leaf.shape, order="F")
                row[start : start + leaf.size] = np.ravel(_projected(leaf, part), "F")
        outcomes = [rng.uniform(0.5, 1.5, (n, dim)) for dim in dims]
        ordinary = rng.uniform(0.5, 1.5, count)
        for i, start in self.ordinary.items():
            leaf = self.leaves[i]
            part = ordinary[start : start + leaf.size].reshape(leaf.shape, order="F")
            ordinary[start : start + leaf.size] = np.ravel(_projected(leaf, part), "F")
        return Leaves(values, outcomes, ordinary)

    def written_values(self, expression: cp.Expression, leaves: Leaves) -> Array:
        """What CVXPY says its entries are at all contexts, column by column: (n, m)."""
        own = [*expression.variables(), *expression.parameters()]
        before = [(leaf, leaf.value) for leaf in own]
        values = []
        try:
            for i in range(len(leaves)):
                for leaf in own:
                    part = self._part(leaf, leaves, i)
                    _assign(leaf, part.reshape(leaf.shape, order="F"))
                with np.errstate(all="ignore"):
                    values.append(np.ravel(as_dense(expression.value), order="F"))
        finally:
            for leaf, value in before:
                _assign(leaf, value)
        return np.stack(values).astype(float)

    def _part(self, leaf: Leaf, leaves: Leaves, i: int) -> Array:
        """The entries of a leaf at context i."""
        if leaf.id in self.variables:
            row, start = leaves.values[i], self.variables[leaf.id]
        elif leaf.id in self.outcomes:
            start, key = self.outcomes[leaf.id]
            row = leaves.outcomes[key][i]
        else:
            row, start = leaves.ordinary, self.ordinary[leaf.id]
        part: Array = row[start : start + leaf.size]
        return part


def read(expression: cp.Expression, frame: Frame) -> Tape:
    """The tape of an expression, checked against CVXPY at random points."""
    kept = frame.tapes.get(id(expression))
    if kept is None:
        # The expression is kept beside its tape, so that its id stays its own.
        kept = frame.tapes[id(expression)] = expression, _checked(expression, frame)
    return kept[1]


def _checked(expression: cp.Expression, frame: Frame) -> Tape:
    tape = Tape(tuple(_Reader(frame).steps_of(expression)))
    if len(tape.steps) == 1 and tape.steps[0].name == "constant":
        # What CVXPY says it is was copied.
        return tape
    leaves = frame.points
    values = tape.rows(leaves)
    wanted = frame.written_values(expression, leaves)

    def size() -> Array:
        # Every entry by its own terms: coefficients of 1e-9 have digits to be compared
        # too.
        return tape.gross(leaves, np.zeros(leaves.values.shape))

    return tape if are_close(values, wanted, size) else _by_cvxpy(expression, frame)


def are_close(values: Array, wanted: Array, size: Callable[[], Array]) -> bool:
    """Whether numbers agree, to CLOSE of what was added up for them.

    That is asked for only where they do not agree to CLOSE of themselves.

    Parameters
    ----------
    values, wanted : (n, m) numbers that were read, and those that were written
    size : gives (n, m) sums of the absolute values of their terms
    """
    with np.errstate(invalid="ignore"):
        apart = np.abs(values - wanted)
    same = (values == wanted) | (np.isnan(values) & np.isnan(wanted))
    finite = np.isfinite(apart)
    same |= finite & (apart <= CLOSE * np.abs(wanted))
    return bool(same.all() or (same | (finite & (apart <= CLOSE * size()))).all())


def _by_cvxpy(expression: cp.Expression, frame: Frame) -> Tape:
    """The whole expression as one step that CVXPY evaluates."""
    reader = _Reader(frame)
    leaves = [*expression.variables(), *expression.parameters()]
    numbers = [reader.add(leaf) for leaf in leaves]
    step = Step("atom", tuple(numbers), expression.shape, (_Whole(expression, leaves),))
    return Tape((*reader.steps, step))


def violation_tape(constraint: cp.Constraint, frame: Frame) -> Tape:
    """One number: by how much CVXPY says a constraint is violated, at the most."""
    reader = _Reader(frame)
    leaves = [*constraint.variables(), *constraint.parameters()]
    numbers = tuple(reader.add(leaf) for leaf in leaves)
    step = Step("atom", numbers, (), (_Violation(constraint, leaves),))
    return Tape((*reader.steps, step))


@dataclass(frozen=True, eq=False)
class _Violation:
    """How far a constraint is from holding, evaluated like an atom of its leaves."""

    constraint: cp.Constraint
    leaves: Sequence[Leaf]

    def numeric(self, values: Sequence[Array]) -> Array:
        before = [(leaf, leaf.value) for leaf in self.leaves]
        try:
            for leaf, value in zip(self.leaves, values, strict=True):
                _assign(leaf, value)
            return np.asarray(np.max(self.constraint.violation(), initial=0.0))
        finally:
            for leaf, value in before:
                _assign(leaf, value)


@dataclass(frozen=True, eq=False)
class _Whole:
    """An expression that is evaluated like an atom of its leaves."""

    expression: cp.Expression
    leaves: Sequence[Leaf]

    def numeric(self, values: Sequence[Array]) -> Array:
        before = [(leaf, leaf.value) for leaf in self.leaves]
        try:
            for leaf, value in zip(self.leaves, values, strict=True):
                _assign(leaf, value)
            value = self.expression.value
            return as_dense(value)
        finally:
            for leaf, value in before:
                _assign(leaf, value)


class _Reader:
    """Walks an expression and writes down its steps, each node once."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.steps: list[Step] = []
        self._numbers: dict[int, int] = {}

    def steps_of(self, expression: cp.Expression) -> list[Step]:
        """The steps; the last one is the expression."""
        last = self.add(expression)
        if last != len(self.steps) - 1:
            size = self.steps[last].shape
            self._append(Step("negate", (last,), size))
            self._append(Step("negate", (len(self.steps) - 1,), size))
        return self.steps

    def add(self, node: cp.Expression) -> int:
        """The number of the step that is a node."""
        if id(node) not in self._numbers:
            self._numbers[id(node)] = self._append(self._step(node))
        return self._numbers[id(node)]

    def _append(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _step(self, node: cp.Expression) -> Step:
        shape = tuple(node.shape)
        if isinstance(node, cp.Variable):
            return Step("variable", (), shape, (self.frame.variables[node.id],))
        if isinstance(node, cp.Parameter):
            if node.id in self.frame.outcomes:
                return Step("outcome", (), shape, self.frame.outcomes[node.id])
            return Step("ordinary", (), shape, (self.frame.ordinary[node.id],))
        if not node.variables() and not node.parameters():
            return Step("constant", (), shape, (as_dense(node.value).astype(float),))
        if not isinstance(node, Atom):
            leaves = [*node.variables(), *node.parameters()]
            numbers = tuple(self.add(leaf) for leaf in leaves)
            return Step("atom", numbers, shape, (_Whole(node, leaves),))
        return self._atom(node, shape)

    def _atom(self, node: cp.Expression, shape: tuple[int, ...]) -> Step:
        kind = type(node).__name__
        if kind in _PICKING:
            return self._gathering(node, shape)
        if kind == "MulExpression":
            return self._product(node, shape)
        if kind in _PLAIN:
            args = tuple(self.add(arg) for arg in node.args)
            return Step(_PLAIN[kind], args, shape)
        if kind in _WITH_DATA:
            step = _WITH_DATA[kind](node)
            if step is not None:
                name, data = step
                args = tuple(self.add(arg) for arg in node.args)
                return Step(name, args, shape, data)
        linear = self._linear(node, shape) if isinstance(node, AffAtom) else None
        if linear is not None:
            return linear
        args = tuple(self.add(arg) for arg in node.args)
        return Step("atom", args, shape, (node,))

    def _gathering(self, node: cp.Expression, shape: tuple[int, ...]) -> Step:
        """Numbers of the entries, found by sending them through the atom."""
        start, numbered = 0, []
        for arg in node.args:
            count = np.arange(start, start + arg.size, dtype=float)
            numbered.append(count.reshape(arg.shape, order="F"))
            start += arg.size
        picked = np.ravel(as_dense(node.numeric(numbered)), order="F").astype(int)
        return Step("gather", tuple(self.add(a) for a in node.args), shape, (picked,))

    def _product(self, node: cp.Expression, shape: tuple[int, ...]) -> Step:
        one, other = node.args
        matrix = one.value if _is_number(one) else None
        if matrix is not None and one.ndim == 2 and other.ndim >= 1:
            kept = sp.csr_array(matrix) if sp.issparse(matrix) else np.asarray(matrix)
            return Step("left", (self.add(other),), shape, (kept,))
        return Step("product", (self.add(one), self.add(other)), shape)

    def _linear(self, node: cp.Expression, shape: tuple[int, ...]) -> Step | None:
        """An affine atom of one argument that varies, as a matrix."""
        moving = [arg for arg in node.args if not _is_number(arg)]
        if len(moving) != 1 or moving[0].size > MOST_PROBED:
            return None
        arg = moving[0]
        fixed = {id(a): as_dense(a.value) for a in node.args if a is not arg}

        def at(values: Array) -> Array:
            given = [values if a is arg else fixed[id(a)] for a in node.args]
            return np.ravel(as_dense(node.numeric(given)), order="F")

        constant = at(np.zeros(arg.shape))
        if constant.any():
            return None
        columns = []
        for k in range(arg.size):
            unit = np.zeros(arg.size)
            unit[k] = 1.0
            columns.append(
                sp.csc_array(at(unit.reshape(arg.shape, order="F"))[:, None])
            )
        matrix = sp.csr_array(sp.hstack(columns))
        return Step("linear", (self.add(arg),), shape, (matrix,))


#: Atoms that need no more than their arguments.
_PLAIN = {
    "AddExpression": "add",
    "NegExpression": "negate",
    "multiply": "multiply",
    "DivExpression": "divide",
    "maximum": "maximum",
    "minimum": "minimum",
    "abs": "abs",
    "exp": "exp",
    "log": "log",
    "log1p": "log1p",
    "logistic": "logistic",
    "entr": "entropy",
    "rel_entr": "relative_entropy",
    "kl_div": "kl_divergence",
    "lambda_max": "lambda_max",
    "QuadForm": "quad_form",
}


def _power(node: cp.Expression) -> tuple[str, tuple[Any, ...]] | None:
    exponent = node.p.value
    return None if exponent is None else ("power", (float(np.asarray(exponent)),))


def _by_axis(name: str) -> Callable[[Any], tuple[str, tuple[Any, ...]]]:
    return lambda node: (name, (node.axis,))


def _pnorm(node: cp.Expression) -> tuple[str, tuple[Any, ...]]:
    return "pnorm", (node.axis, float(node.p))


def _huber(node: cp.Expression) -> tuple[str, tuple[Any, ...]] | None:
    knee = node.M.value
    return None if knee is None else ("huber", (float(np.asarray(knee)),))


def _geo_mean(node: cp.Expression) -> tuple[str, tuple[Any, ...]]:
    return "geo_mean", (np.array([float(w) for w in node.w]),)


#: Atoms that need some number of their own: their step, or None where it is not known.
_WITH_DATA: dict[str, Callable[[Any], tuple[str, tuple[Any, ...]] | None]] = {
    "Sum": _by_axis("sum"),
    "max": _by_axis("max"),
    "min": _by_axis("min"),
    "norm1": _by_axis("norm1"),
    "norm_inf": _by_axis("norm_inf"),
    "log_sum_exp": _by_axis("log_sum_exp"),
    "quad_over_lin": lambda node: ("quad_over_lin", (getattr(node, "axis", None),)),
    "Pnorm": _pnorm,
    "PnormApprox": _pnorm,
    "power": _power,
    "Power": _power,
    "PowerApprox": _power,
    "huber": _huber,
    "sum_largest": lambda node: ("sum_largest", (node.k,)),
    "geo_mean": _geo_mean,
    "GeoMean": _geo_mean,
    "GeoMeanApprox": _geo_mean,
}


def _is_number(node: cp.Expression) -> bool:
    return not node.variables() and not node.parameters()


def _assign(leaf: Leaf, value: npt.ArrayLike) -> None:
    """Give a leaf a value, whatever its declared signs."""
    leaf.save_value(value)


def _projected(leaf: Leaf, value: Array) -> Array:
    """The value, of the structure the leaf declares."""
    return as_dense(leaf.project(value)).astype(float)


def _end(starts: Mapping[int, int], leaves: Mapping[int, Leaf]) -> int:
    return max((start + leaves[i].size for i, start in starts.items()), default=0)
