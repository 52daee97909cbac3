"""Properties of the code for any message and any noise."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ldp_reference import distance

from hushcount.ldp.protocols.bitstogram.decode import decode_soft, signs
from hushcount.ldp.wire.codes import LENGTH, MESSAGE_BITS, codeword_bit, encode

messages = st.integers(0, (1 << MESSAGE_BITS) - 1)
signals = st.lists(st.integers(-8, 8), min_size=LENGTH, max_size=LENGTH)


@given(messages, messages)
def test_the_code_is_linear(left, right):
    assert encode(left) ^ encode(right) == encode(left ^ right)


@given(messages, messages)
def test_codewords_are_far_apart(left, right):
    bits = max((left ^ right).bit_length(), 1)
    assert left == right or (encode(left) ^ encode(right)).bit_count() >= distance(bits)


@given(messages, st.integers(0, LENGTH - 1))
def test_one_place(message, place):
    assert codeword_bit(message, place) == encode(message) >> place & 1


@settings(max_examples=50, deadline=None)
@given(signals, st.integers(1, MESSAGE_BITS), st.integers(0, 3), st.integers(1, 4))
def test_scores_are_correlations(signal, bits, order, best):
    """Whatever the signal: messages fit their bits, and each score is the correlation of its message."""
    values = np.array([signal], np.float32)
    found, scores = decode_soft(values, bits, order, best)
    there = np.isfinite(scores[0])
    assert there[0]
    assert np.all(found[0] < 1 << bits)
    assert np.array_equal(signs(found[0][there]) @ values[0], scores[0][there])
    assert len(set(found[0][there].tolist())) == there.sum()


@settings(max_examples=50, deadline=None)
@given(messages, st.sets(st.integers(0, LENGTH - 1), max_size=99), st.data())
def test_lost_places_do_not_matter(message, lost, data):
    """Places without a signal are not trusted; what is left decides as long as it decides at all."""
    clean = signs(np.array([message])).astype(np.float32)
    clean[0, list(lost)] = 0
    found, scores = decode_soft(clean, MESSAGE_BITS, data.draw(st.integers(0, 3)))
    assert scores[0, 0] == LENGTH - len(lost)
    if len(lost) < distance(MESSAGE_BITS):
        assert found[0, 0] == message
