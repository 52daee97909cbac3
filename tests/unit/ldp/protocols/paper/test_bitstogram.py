"""BitstogramPaper: its manifest, the nearest codeword, heavy items found and counted."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.ldp_population import answered
from tests.unit.ldp.protocols.paper.paper_cases import COUNTS, EXPIRES, HEAVY, USERS, WORDS, by_key, inside

from hushcount import ldp
from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.protocols.paper.bitstogram import parts_of
from hushcount.ldp.protocols.paper.constants import BitstogramConstants, bitstogram_proof
from hushcount.ldp.protocols.paper.decode import nearest
from hushcount.ldp.server.codewords import signs
from hushcount.ldp.wire.codes import LENGTH, distance, encode
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import CodeBit, Prefix


def protocol(**more):
    return ldp.BitstogramPaper(WORDS, epsilon=6, users=USERS, rows=5, expires=EXPIRES, **more)


def test_manifest():
    manifest = ldp.BitstogramPaper(WORDS, epsilon=2, users=10_000_000).manifest
    first, second = manifest.groups
    assert manifest.protocol == "bitstogram_paper"
    assert [(question.bucket_bits, question.rows, len(question.columns)) for question in first.questions] == [
        (12, 2, 128),
        (12, 2, 128),
    ]
    assert all(isinstance(question, CodeBit) and question.quotient_bits == 0 for question in first.questions)
    assert second.questions == (Prefix(30, 285, 12),)
    assert [(group.epsilon, group.symbol_bits) for group in manifest.groups] == [("1", 1), ("1", 1)]
    assert Manifest.parse(manifest.to_json()) == manifest


@pytest.mark.parametrize("width", [1, 8, 15, 16, 30, 61])
def test_parts_cover_the_item(width):
    parts = parts_of(width)
    assert sum(size for _, size in parts) == width
    assert parts[-1][0] == 0
    assert max(size for _, size in parts) <= 15
    assert all(low + size == above[0] for above, (low, size) in pairwise(parts))


def wrong_bits(message, wrong, generator):
    received = signs(np.array([message]))[0].astype(np.float32)
    received[generator.choice(LENGTH, wrong, replace=False)] *= -1
    return received


@pytest.mark.parametrize("bits", [1, 5, 8, 9, 12, 15])
def test_an_eighth_of_wrong_bits_and_more_is_corrected(bits):
    generator = np.random.default_rng(bits)
    wrong = (distance(bits) - 1) // 2
    assert wrong >= LENGTH // 8
    messages = generator.integers(0, 1 << bits, 40)
    received = np.stack([wrong_bits(message, wrong, generator) for message in messages])
    assert nearest(received, bits).tolist() == messages.tolist()


def test_the_nearest_of_all_codewords():
    generator = np.random.default_rng(3)
    received = np.where(generator.random((20, LENGTH)) < 0.5, 1.0, -1.0)
    found = nearest(received, 9)
    for row, message in zip(received, found, strict=True):
        word = sum(1 << place for place in range(LENGTH) if row[place] < 0)
        distances = [(encode(each) ^ word).bit_count() for each in range(1 << 9)]
        assert distances[message] == min(distances)


def test_more_bits_than_the_decoder_knows():
    with pytest.raises(ParameterError) as error:
        nearest(np.ones((1, LENGTH)), 16)
    assert str(error.value) == "bits must be at most 15, got 16."


def test_heavy_hitters():
    release = answered(protocol().manifest, COUNTS, 2).heavy_hitters()
    assert set(by_key(release)) == set(HEAVY)
    assert inside(release, COUNTS) == len(release)
    assert release.guarantee.epsilon == 6
    assert release.guarantee.mechanism == "bitstogram_paper"


def test_items_of_more_than_sixty_bits():
    encoding = ldp.Bytes(8)
    counts = {b"tea": 12_000, b"a long o": 9000} | {bytes([i, i + 1]): 40 for i in range(200)}
    campaign = ldp.BitstogramPaper(encoding, epsilon=8, users=29_000, rows=3, bucket_bits=5, repetitions=1)
    found = answered(campaign.manifest, counts, 4).heavy_hitters(4000)
    assert set(by_key(found)) == {b"tea", b"a long o"}


def test_repetitions_find_what_one_division_lets_collide():
    """Where two heavy items share a bucket only one can win; another division holds them apart."""
    counts = dict.fromkeys((5, 600, 1200, 2222, 4000), 12_000)
    found = []
    for repetitions in (1, 12):
        campaign = ldp.BitstogramPaper(
            ldp.Integers(12),
            epsilon=12,
            users=60_000,
            repetitions=repetitions,
            bucket_bits=2,
            rows=3,
            cell_bits=8,
        )
        found.append(set(by_key(answered(campaign.manifest, counts, 8).heavy_hitters(6000))))
    assert len(found[0]) <= 4  # four buckets
    assert found[1] == set(counts)


def test_the_proof_at_ten_million_exceeds_all_users():
    proved = bitstogram_proof(10_000_000, 2.0, 256)
    assert proved.found > 1000 * 10_000_000
    assert proved.rows == 144
    mild = BitstogramConstants(1, 1, 1)
    assert bitstogram_proof(10_000_000, 2.0, 256, constants=mild).found < 10_000_000


def test_other_questions_are_refused():
    manifest = protocol().manifest
    first, second = manifest.groups
    wrong = replace(manifest, groups=(replace(first, questions=first.questions[::-1]), second))
    with pytest.raises(ManifestError) as error:
        answered(wrong, {"tea": 10}, 1).heavy_hitters()
    assert str(error.value) == "the questions must be such as bitstogram_paper asks."


@pytest.mark.parametrize("repetitions", [0, -1, True, 2.5])
def test_repetitions(repetitions):
    with pytest.raises(ParameterError, match=r"^rows must be .*\.$"):
        protocol(repetitions=repetitions)
