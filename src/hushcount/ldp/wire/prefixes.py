"""The valid prefixes of an encoding, and how many there are. Only the functions with arrays load numpy."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hushcount.ldp.wire.encodings import Encoding

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Counts, Mask, Nonces

    Growing = tuple[Nonces, Counts, Mask]  # values so far, value of the unfinished symbol, whether it ended


def count_prefixes(encoding: Encoding, bits: int) -> int:
    """Return how many values the top `bits` bits of a valid item take.

    >>> from hushcount.ldp.wire.encodings import Words
    >>> [count_prefixes(Words("abcdefghijklmnopqrstuvwxyz", 6), bits) for bits in (5, 10, 15)]
    [27, 703, 18279]
    """
    whole, rest = divmod(bits, encoding.symbol_bits)
    begun = ((encoding.symbols - 1) >> (encoding.symbol_bits - rest)) + 1 if rest else 1
    if not encoding.padded:
        return int(encoding.symbols**whole * begun)
    letters = encoding.symbols - 1
    ended = sum(letters**length for length in range(whole))
    return int(ended + letters**whole * begun)


_PLAIN_BITS = 62  # a longer symbol would overflow 64 bits when it is shifted


class State(NamedTuple):
    """What decides which bits may follow a prefix."""

    bits: int  # of its last, unfinished symbol: 0 to symbol_bits - 1
    begun: int  # the value of those bits; -1 if any bits may follow and it is not 0
    ended: bool  # only zeros follow


def state_of(encoding: Encoding, prefix: int, bits: int) -> State:
    """Return the state after a valid prefix of `bits` bits."""
    size = encoding.symbol_bits
    rest = bits % size
    begun = prefix & ((1 << rest) - 1)
    whole = prefix >> rest
    ended = encoding.padded and bits >= size and whole & ((1 << size) - 1) == 0
    if ended:
        return State(rest, 0, True)
    free = (begun + 1) << (size - rest) <= encoding.symbols
    plain = rest > 0 and free and not (encoding.padded and begun == 0)
    return State(rest, -1 if plain else begun, False)


@lru_cache(maxsize=64)
def suffixes(encoding: Encoding, state: State, bits: int) -> Nonces:
    """Return the values that the next `bits` bits may have, in increasing order."""
    import numpy as np

    values = np.zeros(1, np.uint64)
    wide = encoding.symbol_bits > _PLAIN_BITS
    begun = np.array([state.begun], object if wide else np.int64)
    ended = np.array([state.ended])
    rest, left = state.bits, bits
    while left:
        step = min(left, encoding.symbol_bits - rest)
        values, begun, ended = _grown((values, begun, ended), step, encoding, rest + step)
        rest = (rest + step) % encoding.symbol_bits
        left -= step
    return values


def _grown(nodes: Growing, step: int, encoding: Encoding, rest: int) -> Growing:
    """Return nodes longer by `step` bits, which bring their last symbol to `rest` bits."""
    import numpy as np

    values, begun, ended = nodes
    more = np.arange(1 << step, dtype=np.int64)
    symbol = np.where(begun[:, None] < 0, -1, (begun[:, None] << step) | more)
    fits = (symbol << (encoding.symbol_bits - rest)) < encoding.symbols
    fits &= ~ended[:, None] | (more == 0)
    node, tail = np.nonzero(fits)
    grown = (values[node] << np.uint64(step)) | tail.astype(np.uint64)
    if rest < encoding.symbol_bits:
        return grown, symbol[node, tail], ended[node]
    stops = ended[node] | (symbol[node, tail] == 0) if encoding.padded else ended[node]
    return grown, np.zeros(len(node), np.int64), stops
