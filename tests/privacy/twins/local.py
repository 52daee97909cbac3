"""Twins of the clients of the local model."""

from __future__ import annotations

from fractions import Fraction

from tests.privacy.twins import Distribution, Twin, joint

from hushcount.ldp.wire.response import ONE, response_probability

PAIR = ({0: 1}, {1: 1})


def truth_of(counts):
    return next(iter(counts), None)


def response(counts, bits, extra=0) -> Distribution:
    """Randomised response over 2^bits symbols; `extra` is added to the truthful probability."""
    symbols, truth = 1 << bits, truth_of(counts)
    if truth is None:
        return {symbol: Fraction(1, symbols) for symbol in range(symbols)}
    honest = Fraction(response_probability("2", bits) + extra, ONE)
    other = (1 - honest) / (symbols - 1)
    return {symbol: honest if symbol == truth else other for symbol in range(symbols)}


def modulo(counts) -> Distribution:
    """The replacement is an octet modulo 7: some of the other symbols are rarer."""
    truth, honest = truth_of(counts), Fraction(response_probability("2", 3), ONE)
    found = {truth: honest}
    for octet in range(256):
        symbol = (truth + 1 + octet % 7) % 8
        found[symbol] = found.get(symbol, Fraction(0)) + (1 - honest) / 256
    return found


def one_byte_for_ten_bits(counts) -> Distribution:
    """A symbol of 10 bits whose replacement is one byte: the two highest bits are always true."""
    truth, honest = truth_of(counts), Fraction(response_probability("2", 5), ONE)
    return {truth: honest} | {truth ^ byte: (1 - honest) / 255 for byte in range(1, 256)}


def says_unfit(counts) -> Distribution:
    """A client that answers with an error if its item cannot be encoded."""
    return response(counts, 3) if counts else {"error": Fraction(1)}


TWINS = {
    "truthful probability rounded up": Twin((2.0, 0.0), 1e-21, PAIR, lambda counts: response(counts, 3, 1)),
    "replacement by modulo": Twin((2.0, 0.0), 1e-5, PAIR, modulo),
    "a byte that never moves 10 bits": Twin((2.0, 0.0), 0.99, ({0: 1}, {256: 1}), one_byte_for_ten_bits),
    "a report for every nonce": Twin(
        (2.0, 0.0), 0.1, PAIR, lambda counts: joint(response(counts, 3), response(counts, 3))
    ),
    "a client that says that an item does not fit": Twin((2.0, 0.0), 0.99, ({0: 1}, {}), says_unfit),
}
