"""Instructions that Python lacks: prefetch, unaligned load and store, a folded product, borrowed arrays.

Each is a numba intrinsic: the function gets the types of its arguments and returns the type of its result
with a function that generates LLVM instructions. None checks bounds; callers do.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_I8 = ir.IntType(8)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_I128 = ir.IntType(128)


def _address(context: Any, builder: Any, signature: Any, args: Any, target: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.bitcast(builder.gep(array.data, [args[1]]), target.as_pointer())


def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of array[index] before it is needed, to be written to."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _I8.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, _I32, _I32, _I32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        address = _address(context, builder, signature, args, _I8)
        builder.call(function, [address, _I32(1), _I32(3), _I32(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


def _load64(typing: Any, data: Any, index: Any) -> Any:
    """Return the eight bytes data[index : index + 8] as a word, whatever their alignment."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = builder.load(_address(context, builder, signature, args, _I64))
        word.align = 1
        return word

    return types.uint64(data, index), generate


def _store64(typing: Any, data: Any, index: Any, word: Any) -> Any:
    """Write a word to the eight bytes data[index : index + 8], whatever their alignment."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        store = builder.store(args[2], _address(context, builder, signature, args, _I64))
        store.align = 1
        return context.get_dummy_value()

    return types.void(data, index, types.uint64), generate


def _fold(typing: Any, left: Any, right: Any) -> Any:
    """Return high half xor low half of the 128-bit product of two words."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        product = builder.mul(builder.zext(args[0], _I128), builder.zext(args[1], _I128))
        high = builder.trunc(builder.lshr(product, _I128(64)), _I64)
        return builder.xor(high, builder.trunc(product, _I64))

    return types.uint64(types.uint64, types.uint64), generate


def _borrow(typing: Any, array: Any) -> Any:
    """Return the same array without ownership, so that passing it on costs no reference counting.

    The caller must keep the array itself alive for as long.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()

    return array(array), generate


prefetch: Any = intrinsic(_prefetch)
load64: Any = intrinsic(_load64)
store64: Any = intrinsic(_store64)
fold: Any = intrinsic(_fold)
borrow: Any = intrinsic(_borrow)
