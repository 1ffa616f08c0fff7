"""Eight contexts in one vector: a number type for compiled code.

A value of this type holds one number of each of WIDTH contexts. Arithmetic on it is one
instruction where the machine has vectors of 512 bits, two where it has 256. What
happens in one lane never depends on another lane.

Compiled code is given addresses, not arrays: for an array handed from function to
function it would count references, which took longer than small programs do.
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

_NUMBER, _POSITION = ir.DoubleType(), ir.IntType(32)
_VECTOR = ir.VectorType(_NUMBER, WIDTH)
_BITS = ir.VectorType(ir.IntType(64), WIDTH)


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


def _pointer(builder: Any, arguments: Any, kind: Any, width: int = 1) -> Any:
    """Where item number i is, counted from an address."""
    whole = ir.IntType(64)
    size = ir.Constant(whole, 4 if kind == _POSITION else 8 * width)
    address = builder.add(arguments[0], builder.mul(arguments[1], size))
    return builder.inttoptr(address, kind.as_pointer())


@intrinsic
def load(typing: Any, address: Any, i: Any) -> Any:
    """Vector number i from an address on."""
    del typing, address, i

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(builder, arguments, _VECTOR, WIDTH), align=8)

    return LANES(types.intp, types.intp), generate


@intrinsic
def store(typing: Any, address: Any, i: Any, value: Any) -> Any:
    """Write vector number i from an address on; a number goes to all lanes."""
    del typing, address, i

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(builder, arguments, _VECTOR, WIDTH)
        given = _vector(builder, signature.args[2], arguments[2])
        builder.store(given, pointer, align=8)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, value), generate


@intrinsic
def at(typing: Any, address: Any, i: Any) -> Any:
    """Position number i from an address on."""
    del typing, address, i

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        entry = builder.load(_pointer(builder, arguments, _POSITION))
        return builder.sext(entry, ir.IntType(64))

    return types.intp(types.intp, types.intp), generate


@intrinsic
def number(typing: Any, address: Any, i: Any) -> Any:
    """Number i from an address on."""
    del typing, address, i

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(builder, arguments, _NUMBER))

    return types.float64(types.intp, types.intp), generate


@intrinsic
def put(typing: Any, address: Any, i: Any, value: Any) -> Any:
    """Write number i from an address on."""
    del typing, address, i, value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _pointer(builder, arguments, _NUMBER))
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.float64), generate


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


def _bits(number: int) -> Any:
    """The same whole number in all lanes."""
    return ir.Constant(_BITS, [number] * WIDTH)


#: A float that has a small whole number k in its last bits if k is added to it, and the
#: bits of it, of one, and of the root of one half.
MAGIC = 1.5 * 2.0**52
_MAGIC_BITS, _ONE_BITS = 0x4338000000000000, 0x3FF0000000000000
_ROOT_BITS = 0x3FE6A09E667F3BCD
_SIGNIFICAND = 52


def _exponent_bits(builder: Any, value: Any) -> tuple[Any, Any]:
    """The bits of x, and of the whole k for which x / 2^k is near one."""
    bits = builder.bitcast(value, _BITS)
    above = builder.sub(bits, _bits(_ROOT_BITS))
    return bits, builder.ashr(above, _bits(_SIGNIFICAND))


@intrinsic
def exponent(typing: Any, a: Any) -> Any:
    """The whole k with x / 2^k between the roots of 1/2 and of 2, of a normal x > 0."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, whole = _exponent_bits(builder, arguments[0])
        shifted = builder.add(whole, _bits(_MAGIC_BITS))
        return builder.fsub(
            builder.bitcast(shifted, _VECTOR), ir.Constant(_VECTOR, [MAGIC] * WIDTH)
        )

    return LANES(a), generate


@intrinsic
def mantissa(typing: Any, a: Any) -> Any:
    """That x / 2^k."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits, whole = _exponent_bits(builder, arguments[0])
        moved = builder.shl(whole, _bits(_SIGNIFICAND))
        return builder.bitcast(builder.sub(bits, moved), _VECTOR)

    return LANES(a), generate


@intrinsic
def power_of_two(typing: Any, a: Any) -> Any:
    """2^k from k + MAGIC, for whole k of a normal number."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.bitcast(arguments[0], _BITS)
        moved = builder.shl(bits, _bits(_SIGNIFICAND))
        return builder.bitcast(builder.add(moved, _bits(_ONE_BITS)), _VECTOR)

    return LANES(a), generate
