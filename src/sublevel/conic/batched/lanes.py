"""Eight contexts in one vector: a number type for compiled code.

A value of this type holds one number of each of WIDTH contexts. Arithmetic on it is one
instruction where the machine has vectors of 512 bits, two where it has 256. What
happens in one lane never depends on another lane.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

#: Contexts side by side.
WIDTH = 8

_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)


class LanesType(types.Type):  # type: ignore[misc]
    """One number of each of WIDTH contexts."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes{WIDTH}")


LANES = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _splat(builder: Any, number: Any) -> Any:
    one = builder.insert_element(
        ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(ir.IntType(32), 0)
    )
    order = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), order)


def _vector(builder: Any, kind: Any, value: Any) -> Any:
    return value if isinstance(kind, LanesType) else _splat(builder, value)


def _numbers(*kinds: Any) -> bool:
    """Whether all are lanes or floats, and one at least lanes."""
    fits = all(isinstance(k, LanesType | types.Float) for k in kinds)
    return fits and any(isinstance(k, LanesType) for k in kinds)


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Where the vector number i of an array is."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    at = builder.mul(arguments[1], ir.Constant(arguments[1].type, WIDTH))
    return builder.bitcast(builder.gep(array.data, [at]), _VECTOR.as_pointer())


@intrinsic
def load(typing: Any, array: Any, i: Any) -> Any:
    """Vector number i of an array of numbers."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(context, builder, signature, arguments), align=8)

    return LANES(array, types.intp), generate


@intrinsic
def store(typing: Any, array: Any, i: Any, value: Any) -> Any:
    """Write vector number i of an array of numbers; a number goes to all lanes."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        given = _vector(builder, signature.args[2], arguments[2])
        builder.store(given, pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


@intrinsic
def at(typing: Any, array: Any, i: Any) -> Any:
    """Entry i of an array of positions; unlike array[i], never counted from the end."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        entries = context.make_array(signature.args[0])(context, builder, arguments[0])
        entry = builder.load(builder.gep(entries.data, [arguments[1]]))
        return builder.sext(entry, ir.IntType(64))

    return types.intp(array, types.intp), generate


@intrinsic
def splat(typing: Any, number: Any) -> Any:
    """The same number in all lanes."""
    del typing, number

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _splat(builder, arguments[0])

    return LANES(types.float64), generate


def _declared(builder: Any, name: str, kind: Any) -> Any:
    """One of LLVM's own functions on vectors."""
    full = f"{name}.v{WIDTH}f64"
    return cgutils.get_or_insert_function(builder.module, kind, full)


def _ternary(name: str) -> Any:
    @intrinsic
    def call(typing: Any, a: Any, b: Any, c: Any) -> Any:
        del typing

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vectors = [
                _vector(builder, k, v)
                for k, v in zip(signature.args, arguments, strict=True)
            ]
            kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
            function = _declared(builder, name, kind)
            return builder.call(function, vectors)

        return LANES(a, b, c), generate

    return call


#: a b + c, rounded once where the machine can.
fma = _ternary("llvm.fmuladd")


def _unary(name: str) -> Any:
    @intrinsic
    def call(typing: Any, a: Any) -> Any:
        del typing

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(_VECTOR, [_VECTOR])
            function = _declared(builder, name, kind)
            return builder.call(function, [arguments[0]])

        return LANES(a), generate

    return call


root = _unary("llvm.sqrt")
size = _unary("llvm.fabs")


@intrinsic
def choose_less(typing: Any, a: Any, b: Any, yes: Any, no: Any) -> Any:
    """`yes` in lanes where a < b, `no` elsewhere, so also where one is no number."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, other, good, bad = (
            _vector(builder, k, v)
            for k, v in zip(signature.args, arguments, strict=True)
        )
        return builder.select(builder.fcmp_ordered("<", one, other), good, bad)

    return LANES(a, b, yes, no), generate


@intrinsic
def any_less(typing: Any, a: Any, b: Any) -> Any:
    """Whether a < b in some lane."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, other = (
            _vector(builder, k, v)
            for k, v in zip(signature.args, arguments, strict=True)
        )
        less = builder.fcmp_ordered("<", one, other)
        bits = builder.bitcast(less, ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(a, b), generate


def _binary(operation: Any, name: str) -> None:
    @intrinsic
    def call(typing: Any, a: Any, b: Any) -> Any:
        del typing

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            one, other = (
                _vector(builder, k, v)
                for k, v in zip(signature.args, arguments, strict=True)
            )
            return getattr(builder, name)(one, other)

        return LANES(a, b), generate

    @overload(operation, strict=False)
    def typed(a: Any, b: Any) -> Any:
        return (lambda a, b: call(a, b)) if _numbers(a, b) else None


for _operation, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _binary(_operation, _name)


@intrinsic
def _negative(typing: Any, a: Any) -> Any:
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fneg(arguments[0])

    return LANES(a), generate


@overload(operator.neg, strict=False)
def _negated(a: Any) -> Any:
    return (lambda a: _negative(a)) if isinstance(a, LanesType) else None
