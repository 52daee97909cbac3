"""The extended BCH(128, 29) code, as polynomials over the field of 128 elements. Pure Python, for clients.

A message gives four field elements and a bit; the codeword is the values, at all 128 elements x, of

    constant + Tr(a x) + Tr(b x^9) + Tr(c x^5) + Tr(d x^21),        Tr the trace to {0, 1}.

Without the place x = 0 this is cyclic, and its zeros include the powers 1..42 of a primitive element (the
tests check it on a basis), so by the BCH bound any two codewords differ in at least 43 places, and in 44
with the place that makes every weight even. The code is nested: messages that use only the lowest bits lie
in a smaller code of larger distance (8 bits: the first-order Reed-Muller code, 64; 15: 56; 22: 48; 29: 44).
The code is linear, so the bit at one place is the parity of the message under that place's mask.
"""

from __future__ import annotations

from functools import cache

MESSAGE_BITS = 29
LENGTH = 128
_MODULUS = 0b10000011  # x^7 + x + 1, primitive over {0, 1}
_EXPONENTS = (1, 9, 5, 21)  # one from each cyclotomic coset of nonzeros, in the order of nesting


@cache
def masks() -> tuple[int, ...]:
    """Return for each of the 128 places the mask of the message bits that are summed there."""
    powers = _powers()
    logarithms = {element: power for power, element in enumerate(powers)}
    places = [1]
    for place in range(1, LENGTH):
        mask = 1
        for part, exponent in enumerate(_EXPONENTS):
            for bit in range(7):
                power = bit + exponent * logarithms[place]
                mask |= _trace(power, powers) << (1 + 7 * part + bit)
        places.append(mask)
    return tuple(places)


def codeword_bit(message: int, place: int) -> int:
    """Return the bit of a message's codeword at one of the 128 places.

    >>> [codeword_bit(1, place) for place in (0, 5, 127)]
    [1, 1, 1]
    """
    return (message & masks()[place]).bit_count() & 1


def encode(message: int) -> int:
    """Return the codeword of a message, with place p as bit p.

    >>> (encode(0b1011) ^ encode(0b0011)).bit_count()
    64
    """
    return sum(codeword_bit(message, place) << place for place in range(LENGTH))


def _powers() -> list[int]:
    """Return the powers 0..126 of a primitive element."""
    powers = [1]
    while len(powers) < 127:
        shifted = powers[-1] << 1
        powers.append(shifted ^ _MODULUS if shifted >= LENGTH else shifted)
    return powers


def _trace(power: int, powers: list[int]) -> int:
    """Return the sum of the seven conjugates of a power of the primitive element, which is 0 or 1."""
    total = 0
    for square in range(7):
        total ^= powers[(power << square) % 127]
    return total
