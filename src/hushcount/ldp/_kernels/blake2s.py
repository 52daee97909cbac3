"""Keyed BLAKE2s of short messages, sixteen at a time.

BLAKE2s is the hash of public randomness (wire/public_randomness.py), and the key is the seed of the campaign.
In version 1 the message is a nonce of eight bytes and the number of a group; in version 2 a nonce of sixteen,
the group and the number of the digest. The key fills a block of its own, so the state after it is computed
once, and a digest costs one compression.

The sixteen working words of a compression become sixteen vectors, each with one lane for each of sixteen
messages; only messages differ between lanes. The rounds are written once, over whatever adds, xors and
rotates: Python's integers for the block of the key, vectors of LLVM in the kernel. The words of a message
after its end are zero, so they are None here and their additions are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 16
WORDS = 8
_BLOCK = 64
_MASK = 0xFFFFFFFF
_VECTOR = ir.VectorType(ir.IntType(32), LANES)
_WIDE = ir.VectorType(ir.IntType(64), LANES)
_IV = (
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
)  # fmt: skip
_SCHEDULE = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
)
_COLUMNS_THEN_DIAGONALS = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip

Operation = Callable[[Any, Any], Any]


def _rounds(v: list[Any], message: Sequence[Any], add: Operation, xor: Operation, rotate: Operation) -> None:
    """Run ten rounds over the sixteen working words; a message word that is None is zero."""
    for order in _SCHEDULE:
        for step, (a, b, c, d) in enumerate(_COLUMNS_THEN_DIAGONALS):
            for word, far, near in ((message[order[2 * step]], 16, 12), (message[order[2 * step + 1]], 8, 7)):
                v[a] = add(v[a], v[b])
                if word is not None:
                    v[a] = add(v[a], word)
                v[d] = rotate(xor(v[d], v[a]), far)
                v[c] = add(v[c], v[d])
                v[b] = rotate(xor(v[b], v[c]), near)


def key_state(key: bytes, digest_size: int = 32) -> npt.NDArray[np.uint32]:
    """Return the chaining words after the block of the key."""
    parameter = 0x01010000 ^ (len(key) << 8) ^ digest_size
    state = [_IV[0] ^ parameter, *_IV[1:]]
    block = key.ljust(_BLOCK, b"\0")
    message = [int.from_bytes(block[4 * i : 4 * i + 4], "little") for i in range(16)]
    v = [*state, *_IV]
    v[12] ^= _BLOCK
    _rounds(
        v,
        message,
        lambda x, y: (x + y) & _MASK,
        lambda x, y: x ^ y,
        lambda x, n: ((x >> n) | (x << (32 - n))) & _MASK,
    )
    return np.array([state[i] ^ v[i] ^ v[i + 8] for i in range(WORDS)], np.uint32)


def _words_of(builder: Any, nonces: Any) -> list[Any]:
    """Return the two 32-bit words of each of LANES 64-bit numbers, as vectors."""
    wide = builder.load(builder.bitcast(nonces.data, _WIDE.as_pointer()))
    wide.align = 8
    shift = ir.Constant(_WIDE, [32] * LANES)
    return [builder.trunc(wide, _VECTOR), builder.trunc(builder.lshr(wide, shift), _VECTOR)]


def _generator(message_bytes: int, nonces: int) -> Callable[..., Any]:
    """Return what writes the code of one compression, for arguments (state, nonces .., last word, out)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def array(place: int) -> Any:
            return context.make_array(signature.args[place])(context, builder, args[place])

        def splat(word: Any) -> Any:
            one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), word, ir.IntType(32)(0))
            zeros = ir.Constant(_VECTOR, [0] * LANES)
            return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), zeros)

        def constant(word: int) -> Any:
            return ir.Constant(_VECTOR, [word] * LANES)

        def rotate(x: Any, by: int) -> Any:
            return builder.or_(builder.lshr(x, constant(by)), builder.shl(x, constant(32 - by)))

        chain = [splat(builder.load(builder.gep(array(0).data, [ir.IntType(64)(i)]))) for i in range(WORDS)]
        message = [word for place in range(1, 1 + nonces) for word in _words_of(builder, array(place))]
        message += [splat(args[-2]), *[None] * (15 - len(message))]
        v = [*chain, *(constant(word) for word in _IV)]
        v[12] = constant(_IV[4] ^ (_BLOCK + message_bytes))
        v[14] = constant(_IV[6] ^ _MASK)
        _rounds(v, message, builder.add, builder.xor, rotate)
        for i in range(WORDS):
            word = builder.xor(chain[i], builder.xor(v[i], v[i + 8]))
            place = builder.gep(array(len(args) - 1).data, [ir.IntType(64)(i * LANES)])
            builder.store(word, builder.bitcast(place, _VECTOR.as_pointer())).align = 4
        return context.get_dummy_value()

    return generate


def _compress(typing: Any, state: Any, nonces: Any, last: Any, out: Any) -> Any:
    """Write the eight digest words of LANES nonces of 8 bytes to the rows of out; `last` is the group."""
    return types.void(state, nonces, types.uint32, out), _generator(9, 1)


def _compress_wide(typing: Any, state: Any, low: Any, high: Any, last: Any, out: Any) -> Any:  # noqa: PLR0917
    """Write those of nonces of 16 bytes; `last` is the group, and above it the number of the digest."""
    return types.void(state, low, high, types.uint32, out), _generator(18, 2)


compress: Any = intrinsic(_compress)
compress_wide: Any = intrinsic(_compress_wide)
