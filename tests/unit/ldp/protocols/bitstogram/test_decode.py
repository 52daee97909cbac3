"""Bitstogram by a code: its plan, the noise its decoder stands, and what it finds."""

import math
import string

import numpy as np
import pytest
from tests.ldp_population import answered, assert_found, random_words, zipf

from hushcount import ldp
from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.protocols.bitstogram.decode import decode_soft, items, likely_values, signs
from hushcount.ldp.protocols.bitstogram.protocol import (
    BitstogramBinary,
    coded,
    columns,
    part_of,
    refuse_other_questions,
)
from hushcount.ldp.server.tallies import bucket_of, from_words, to_words
from hushcount.ldp.wire.codes import codeword_bit
from hushcount.ldp.wire.questions import CodeBit, Prefix

WORDS = ldp.Words(string.ascii_lowercase, 6)


@pytest.mark.parametrize(
    ("width", "parts"), [(21, [7]), (30, [16]), (43, [29]), (44, [15, 15]), (60, [23, 23])]
)
def test_codewords_cover_the_rest_of_the_item(width, parts):
    plan = coded(width)
    found = [part_of(question, width) for question in plan.questions[:-1]]
    assert [bits for _, bits in found] == parts
    assert [low for low, _ in found] == [sum(parts[place + 1 :]) for place in range(len(parts))]
    assert plan.questions[-1] == Prefix(width, 16, 18)
    assert sum(plan.shares) == 1 << 32


def test_the_widest_item():
    assert len(coded(246).questions) == 9
    with pytest.raises(ParameterError) as refusal:
        coded(247)
    assert str(refusal.value) == "BitstogramBinary takes items of at most 246 bits, got 247."


def test_narrow_items_need_no_code():
    assert coded(20).questions == (Prefix(20, 1, 20),)


def test_columns_are_those_of_the_code():
    """The client needs no code: the manifest's columns give the codeword bit of the rest of the item."""
    question = coded(30).questions[0]
    assert isinstance(question, CodeBit)
    for place, column in enumerate(question.columns):
        assert (0x2ABCD123 & column).bit_count() & 1 == codeword_bit(0x2ABCD123 & 0xFFFF, place)


@pytest.mark.parametrize("bits", [8, 16, 22, 29])
def test_the_need_of_a_message(bits):
    """At the energy the plan asks for, 98 of 100 messages decode; at two thirds of it clearly fewer do."""
    need = 5 + 3.4 * bits
    messages = np.random.default_rng(bits).integers(0, 1 << bits, 3000)
    noise = np.random.default_rng(bits + 1).normal(size=(3000, 128))
    found = []
    for energy in (need, need * 2 / 3):
        signals = (math.sqrt(energy / 128) * signs(messages) + noise).astype(np.float32)
        found.append((decode_soft(signals, bits, 3)[0][:, 0] == messages).mean())
    assert found[0] >= 0.98
    assert found[1] < found[0] - 0.01


def test_a_report_is_one_bit():
    manifest = BitstogramBinary(WORDS, epsilon=2.0, users=1000).manifest
    assert manifest.symbols == 2
    assert manifest.protocol == "bitstogram_binary"


def test_least_detectable_count():
    manifest = BitstogramBinary(WORDS, epsilon=2.0, users=1_000_000).manifest
    assert manifest.parameters["threshold"] == pytest.approx(13_465, abs=5)


@pytest.mark.parametrize("width", [30, 60])
def test_likely_values_of_clean_signals(width):
    """Without noise each bucket gives the message of its item, and bucket and messages the item."""
    tallies = (
        BitstogramBinary(ldp.Integers(width), epsilon=2.0, users=1000).aggregator()._groups[0].questions()
    )
    value = 0x123456789ABCDEF & ((1 << width) - 1)
    words = to_words([value], width)
    bucket = int(bucket_of(tallies[0].place, words, 14, 14)[0])
    chosen = []
    for question in tallies[:-1]:
        low, bits = part_of(question.question, width)
        message = value >> low & ((1 << bits) - 1)
        estimates = np.zeros((128, 1 << 14, 1), np.float32)
        estimates[:, bucket, 0] = signs(np.array([message]))[0] * 10
        lists = likely_values(question, estimates[:, bucket : bucket + 1], 1200.0)
        assert lists.values.tolist() == [message]
        assert lists.scores.tolist() == [1280.0]
        chosen.append(message)
    bits = [part_of(question.question, width)[1] for question in tallies[:-1]]
    assert from_words(items(np.array([chosen]), np.array([bucket]), bits, tallies[0])) == [value]


@pytest.mark.parametrize(
    ("encoding", "letters", "epsilon"),
    [
        (WORDS, 6, 2.0),
        (WORDS, 6, 4.0),
        (ldp.PackedWords(string.ascii_lowercase, 6), 6, 2.0),
        (ldp.Words(string.ascii_lowercase, 12), 12, 3.0),
    ],
    ids=["words", "four", "packed", "sixty-bits"],
)
def test_heavy_hitters(encoding, letters, epsilon):
    counts = zipf(random_words(1000, 10, letters), 400_000)
    protocol = BitstogramBinary(encoding, epsilon=epsilon, users=400_000)
    assert_found(answered(protocol.manifest, counts, 11).heavy_hitters(), counts)


def test_narrow_items():
    counts = zipf(list(range(500, 1000)), 200_000)
    protocol = BitstogramBinary(ldp.Integers(12), epsilon=2.0, users=200_000)
    assert_found(answered(protocol.manifest, counts, 14).heavy_hitters(), counts)


def test_a_heavy_item_hides_no_other_of_its_bucket():
    """The second item is found only once the first is out of the bucket's signal."""
    manifest = BitstogramBinary(ldp.Integers(30), epsilon=3.0, users=200_000).manifest
    first = answered(manifest, {1: 1}, 15)
    tallies = first.collected().groups[0]
    together = from_words(items(np.array([[5], [700]]), np.full(2, 1234), [16], tallies[0]))
    counts = dict(zip(together, [120_000, 12_000], strict=True)) | dict.fromkeys(range(1360), 50)
    release = answered(first.manifest, counts, 15).heavy_hitters(threshold=8000)
    assert release.table["key"].to_pylist() == together
    np.testing.assert_allclose(release.counts.to_numpy(), [120_000, 12_000], atol=2500)


def test_nothing_heavy_is_an_empty_release():
    counts = dict.fromkeys(random_words(2000, 16), 50)
    manifest = BitstogramBinary(WORDS, epsilon=1.0, users=100_000).manifest
    assert len(answered(manifest, counts, 17).heavy_hitters()) == 0


def test_columns_of_another_code_are_refused():
    manifest = BitstogramBinary(WORDS, epsilon=2.0, users=1000).manifest
    refuse_other_questions(manifest)
    group = manifest.groups[0]
    foreign = CodeBit(14, (*columns(0, 16)[1:], columns(0, 16)[0]), 1, 14)
    changed = type(group)(group.epsilon, 1, (foreign, group.questions[1]), group.shares)
    with pytest.raises(ManifestError) as refusal:
        refuse_other_questions(
            type(manifest)(manifest.protocol, WORDS, manifest.epsilon, (changed,), 1000, manifest.expires)
        )
    assert str(refusal.value) == "the questions must be those that bitstogram_binary asks."
