"""The extended BCH code: its algebra, its distances, and soft decoding."""

import itertools
import random
import subprocess
import sys

import numpy as np
import pytest
from tests.ldp_reference import distance

from hushcount.errors import ParameterError
from hushcount.ldp.protocols.bitstogram.decode import codewords, decode_soft, signs
from hushcount.ldp.wire.codes import LENGTH, MESSAGE_BITS, codeword_bit, encode, masks


def times(left, right):
    """The product of two field elements, by long multiplication and division by x^7 + x + 1."""
    product = 0
    for bit in range(7):
        product ^= (left << bit) * (right >> bit & 1)
    for bit in range(13, 6, -1):
        if product >> bit & 1:
            product ^= 0b10000011 << (bit - 7)
    return product


def powers():
    elements = [1]
    while len(elements) < 127:
        elements.append(times(elements[-1], 2))
    return elements


def span(bits):
    """Weights of the codewords of all messages of `bits` bits."""
    words = np.zeros((1, 2), np.uint64)
    for bit in range(bits):
        words = np.concatenate([words, words ^ codewords(np.array([1 << bit]))])
    return np.bitwise_count(words).sum(axis=1)


def noisy(messages, amplitude, seed):
    """Signals of codewords in Gaussian noise of deviation 1."""
    rng = np.random.default_rng(seed)
    clean = signs(messages)
    return (amplitude * clean + rng.normal(size=clean.shape)).astype(np.float32), clean


def test_primitive_element():
    assert len(set(powers())) == 127


@pytest.mark.parametrize("bit", range(MESSAGE_BITS))
def test_zeros_of_the_basis(bit):
    """Every basis word vanishes at the powers 1..42 of the element: the BCH bound gives distance 43."""
    elements = powers()
    word = encode(1 << bit)
    ones = [log for log, element in enumerate(elements) if word >> element & 1]
    for zero in range(1, 43):
        total = 0
        for log in ones:
            total ^= elements[log * zero % 127]
        assert total == 0


def test_basis_is_independent_and_even():
    basis = [encode(1 << bit) for bit in range(MESSAGE_BITS)]
    assert all(word.bit_count() % 2 == 0 for word in basis)
    reduced = []
    for word in basis:
        rest = word
        for other in reduced:
            rest = min(rest, rest ^ other)
        assert rest
        reduced.append(rest)


@pytest.mark.parametrize("bits", [1, 8, 15, 18])
def test_nested_distance_is_exact(bits):
    weights = np.sort(span(bits))
    assert weights[0] == 0
    assert weights[1] >= distance(bits)
    if bits in (1, 8, 15):
        assert weights[1] == distance(bits)


def test_codeword_of_least_weight():
    """Random sums of the basis stay above the distance; 44 is reached or not, never passed."""
    generator = random.Random(4)
    messages = np.array([generator.randrange(1, 1 << MESSAGE_BITS) for _ in range(100_000)])
    assert np.bitwise_count(codewords(messages)).sum(axis=1).min() >= 44


def test_bit_and_codeword_agree():
    generator = random.Random(5)
    for _ in range(50):
        message = generator.randrange(1 << MESSAGE_BITS)
        word = encode(message)
        assert [word >> place & 1 for place in range(LENGTH)] == [
            codeword_bit(message, place) for place in range(LENGTH)
        ]
        low, high = (int(half) for half in codewords(np.array([message]))[0])
        assert low | high << 64 == word


def test_masks_are_distinct_and_small():
    assert len(set(masks())) == LENGTH
    assert all(0 < mask < 1 << MESSAGE_BITS for mask in masks())


def test_distance_of_no_bits():
    assert distance(0) == 128


def test_encoder_imports_nothing_heavy():
    program = "import sys, hushcount.ldp.wire.codes; print({'numpy', 'numba', 'pyarrow'} & set(sys.modules))"
    assert subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout == ("set()\n")


@pytest.mark.parametrize("message", [0, 1, 0x155, (1 << MESSAGE_BITS) - 1])
def test_every_pattern_of_two_errors_decodes(message):
    patterns = [(), *itertools.combinations(range(LENGTH), 1), *itertools.combinations(range(LENGTH), 2)]
    signals = np.repeat(signs(np.array([message])), len(patterns), axis=0).astype(np.float32)
    for row, places in enumerate(patterns):
        signals[row, list(places)] *= -1
    messages, scores = decode_soft(signals, MESSAGE_BITS, order=2)
    assert np.all(messages[:, 0] == message)
    assert np.all(scores[:, 0] == [LENGTH - 2 * len(places) for places in patterns])


def test_patterns_of_three_errors_decode_at_order_three():
    generator = random.Random(6)
    signals = np.repeat(signs(np.array([12345])), 3000, axis=0).astype(np.float32)
    for row in signals:
        row[generator.sample(range(LENGTH), 3)] *= -1
    assert np.all(decode_soft(signals, MESSAGE_BITS, order=3)[0] == 12345)


def test_soft_decoding_beats_hard():
    """At 24 to 33 wrong bits, where hard decisions correct at most 21, nearly all are found."""
    messages = np.random.default_rng(7).integers(0, 1 << MESSAGE_BITS, 2000)
    signals, clean = noisy(messages, 0.8, 8)
    errors = ((signals < 0) != (clean < 0)).sum(axis=1)
    assert 26 < errors.mean() < 29
    soft = decode_soft(signals, MESSAGE_BITS, order=2)[0][:, 0] == messages
    within_radius = errors <= (distance(MESSAGE_BITS) - 2) // 2
    assert within_radius.mean() < 0.15
    assert soft.mean() > 0.85
    assert soft[(errors >= 24) & (errors <= 33)].mean() > 0.85


def test_a_higher_order_finds_more():
    messages = np.random.default_rng(9).integers(0, 1 << MESSAGE_BITS, 1000)
    signals, _ = noisy(messages, 0.7, 10)
    found = [(decode_soft(signals, MESSAGE_BITS, order)[0][:, 0] == messages).mean() for order in range(4)]
    assert found == sorted(found)
    assert found[3] > found[0] + 0.3


def test_fewer_bits_decode_in_more_noise():
    messages = np.random.default_rng(11).integers(0, 1 << 18, 1000)
    signals, _ = noisy(messages, 0.7, 12)
    wide = decode_soft(signals, MESSAGE_BITS, 3)[0][:, 0] == messages
    assert (decode_soft(signals, 18, 3)[0][:, 0] == messages).mean() > wide.mean() + 0.05


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_decoding_against_all_codewords(order):
    """With eight bits every codeword can be tried: none has a larger correlation than is claimed."""
    signals, _ = noisy(np.random.default_rng(13).integers(0, 256, 200), 0.3, 14)
    everything = signals @ signs(np.arange(256)).T.astype(np.float32)
    messages, scores = decode_soft(signals, 8, order, best=3 if order else 1)
    np.testing.assert_allclose(np.take_along_axis(everything, messages, axis=1), scores, atol=1e-3)
    assert np.all(np.diff(scores, axis=1) <= 0)
    assert np.all(scores[:, 0] <= everything.max(axis=1) + 1e-3)
    if order == 3:
        assert (messages[:, 0] == everything.argmax(axis=1)).mean() > 0.9


def test_list_of_candidates_is_distinct():
    messages, _ = decode_soft(noisy(np.arange(50), 0.1, 15)[0], 18, 2, best=8)
    assert all(len(set(row)) == 8 for row in messages.tolist())


def test_a_list_longer_than_what_is_tried():
    messages, scores = decode_soft(signs(np.array([3])).astype(np.float32), 5, order=0, best=2)
    assert messages[0, 0] == 3
    assert scores.tolist() == [[128.0, -np.inf]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((30, 2, 1), "bits must be at most 29, got 30."),
        ((0, 2, 1), "bits must be at least 1, got 0."),
        ((29, 4, 1), "order must be at most 3, got 4."),
        ((29, True, 1), "order must be a whole number, got True."),
        ((29, 2, 0), "best must be at least 1, got 0."),
    ],
)
def test_refusals(arguments, sentence):
    with pytest.raises(ParameterError) as refusal:
        decode_soft(np.zeros((1, LENGTH), np.float32), *arguments)
    assert str(refusal.value) == sentence
