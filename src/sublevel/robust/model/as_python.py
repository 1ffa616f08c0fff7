"""A CVXPY expression as a user would type it, for messages that write code."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.hstack import Hstack
from cvxpy.atoms.affine.index import index, special_index
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.reshape import reshape
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.affine.vstack import Vstack
from cvxpy.atoms.axis_atom import AxisAtom
from cvxpy.atoms.quad_form import QuadForm
from cvxpy.expressions.leaf import Leaf

from .dense import as_dense

#: Most numbers of a constant that are written out.
MOST_NUMBERS = 6
#: The exponents that have names of their own.
POWERS = {2.0: "square", 0.5: "sqrt", -1.0: "inv_pos"}
#: What binds less than a product, and less than an index.
LOOSE = (AddExpression, NegExpression)
OPERATORS = (*LOOSE, MulExpression, multiply, DivExpression)


def as_python(node: cp.Expression) -> str:
    """The expression in the words of `cvxpy as cp`; constants that are long as `...`.

    Examples
    --------
    >>> y, q = cp.Parameter(3, name="y"), cp.Variable(3, name="q")
    >>> as_python(cp.sum(5 * cp.pos(y - q)) + cp.square(q[0]))
    'cp.sum(5 * cp.pos(y - q)) + cp.square(q[0])'
    >>> as_python(cp.sum_squares(y - 2 * q))
    'cp.sum_squares(y - 2 * q)'
    """
    if isinstance(node, cp.Constant) and node.name() == str(cp.Constant(node.value)):
        return _number(node.value)
    if isinstance(node, Leaf):
        return str(node.name())
    if isinstance(node, Promote):
        return as_python(node.args[0])
    if isinstance(node, OPERATORS):
        return _operation(node)
    if isinstance(node, index):
        inner = node.args[0]
        brackets = str(node.name()).removeprefix(str(inner.name()))
        return _held(inner, OPERATORS) + brackets
    if isinstance(node, special_index):
        return f"{_held(node.args[0], OPERATORS)}[{node.key}]"
    if isinstance(node, Hstack | Vstack):
        parts = ", ".join(as_python(part) for part in node.args)
        return f"cp.{type(node).__name__.lower()}([{parts}])"
    if isinstance(node, reshape) and node.args[0].size == 1:
        return as_python(node.args[0])
    return _atom(node)


def _number(value: object) -> str:
    numbers = as_dense(value)
    if numbers.size == 1:
        return f"{numbers.item():.6g}"
    if numbers.size > MOST_NUMBERS:
        return "..."
    return f"np.array({np.array2string(numbers, separator=', ')})".replace("\n", "")


def _held(node: cp.Expression, kinds: tuple[type, ...]) -> str:
    """An operand, in brackets where it would fall apart without them."""
    text = as_python(node)
    return f"({text})" if isinstance(node, kinds) else text


def _operation(node: cp.Expression) -> str:
    if isinstance(node, AddExpression):
        return _sum([as_python(part) for part in node.args])
    if isinstance(node, NegExpression):
        return f"-{_held(node.args[0], LOOSE)}"
    one, other = node.args
    if isinstance(node, DivExpression):
        return f"{_held(one, LOOSE)} / {_held(other, OPERATORS)}"
    alone = one.is_scalar() or other.is_scalar()
    if isinstance(one, Promote) or isinstance(other, Promote):
        alone = True
    if isinstance(node, multiply) and not alone:
        return f"cp.multiply({as_python(one)}, {as_python(other)})"
    sign = "*" if alone else "@"
    return f"{_held(one, LOOSE)} {sign} {_held(other, OPERATORS)}"


def _sum(parts: list[str]) -> str:
    text = parts[0]
    for part in parts[1:]:
        text += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
    return text


def _atom(node: cp.Expression) -> str:
    first, *others = [as_python(argument) for argument in node.args]
    if isinstance(node, cp.Pnorm):
        order = "" if node.p == 2 else f", {float(node.p):g}"
        return _over(node, "norm", first + order)
    if isinstance(node, cp.Power):
        exponent = float(node.p.value) if isinstance(node.p, cp.Constant) else None
        if exponent in POWERS:
            return f"cp.{POWERS[exponent]}({first})"
        return f"cp.power({first}, {as_python(node.p)})"
    if isinstance(node, cp.quad_over_lin) and others == ["1"]:
        return _over(node, "sum_squares", first)
    if isinstance(node, cp.maximum) and others == ["0"]:
        return f"cp.pos({first})"
    if isinstance(node, QuadForm):
        return f"cp.quad_form({first}, {others[0]})"
    if isinstance(node, cp.huber):
        bend = as_python(node.M)
        return f"cp.huber({first})" if bend == "1" else f"cp.huber({first}, {bend})"
    if isinstance(node, cp.sum_largest):
        return _over(node, "sum_largest", f"{first}, {node.k}")
    name = type(node).__name__
    name = "sum" if name == "Sum" else name
    plain = not node.get_data() or isinstance(node, AxisAtom)
    if not plain or name not in dir(cp):
        return str(node)
    return _over(node, name, ", ".join([first, *others]))


def _over(node: cp.Expression, name: str, arguments: str) -> str:
    """A call, with the axis that it goes along, if it does."""
    along = isinstance(node, AxisAtom) and node.axis is not None
    return f"cp.{name}({arguments}{f', axis={node.axis}' if along else ''})"
