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
_DISTANCES = ((0, 128), (1, 128), (8, 64), (15, 56), (22, 48), (29, 44))


@cache
def masks() -> tuple[int, ...]:
    """Return for each of the 128 places the mask of the message bits that are summed there."""
    powers = _powers()
    logarithms = {element: power for power, element in enumerate(powers)}
    places = [1]
    for place in range(1, LENGTH):
        logarithm = logarithms[place]
        mask = 1
        for part, exponent in enumerate(_EXPONENTS):
            for bit in range(7):
                value = powers[(bit + exponent * logarithm) % 127]
                mask |= _trace(value) << (1 + 7 * part + bit)
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


def distance(bits: int) -> int:
    """Return the smallest number of places in which codewords of messages of `bits` bits differ.

    >>> distance(18), distance(29)
    (48, 44)
    """
    return next(least for most, least in _DISTANCES if bits <= most)


def _powers() -> list[int]:
    """Return the powers 0..126 of a primitive element."""
    powers = [1]
    while len(powers) < 127:
        shifted = powers[-1] << 1
        powers.append(shifted ^ _MODULUS if shifted >= LENGTH else shifted)
    return powers


def _trace(element: int) -> int:
    """Return the sum of the seven conjugates of a field element, which is 0 or 1."""
    total = conjugate = element
    for _ in range(6):
        conjugate = _times(conjugate, conjugate)
        total ^= conjugate
    return total


def _times(left: int, right: int) -> int:
    """Return the product of two field elements."""
    product = 0
    while right:
        if right & 1:
            product ^= left
        left <<= 1
        if left >= LENGTH:
            left ^= _MODULUS
        right >>= 1
    return product
