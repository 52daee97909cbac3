"""Bitstogram by chunks: its plan, its parts against obvious twins, and what it finds."""

import itertools
import math
import random
import string
from dataclasses import replace

import numpy as np
import pytest
from tests.ldp_population import answered, assert_found, pure_reports, random_words, with_seed, zipf

from hushcount import ldp
from hushcount.errors import DataError, ManifestError, ParameterError
from hushcount.ldp._kernels import bitstogram as kernels
from hushcount.ldp.protocols.bitstogram import decode as decoder
from hushcount.ldp.protocols.bitstogram.decode import Lists, combine, items, valid
from hushcount.ldp.protocols.bitstogram.evidence import Evidence
from hushcount.ldp.protocols.bitstogram.protocol import Bitstogram, chunked, divide, part_of
from hushcount.ldp.protocols.campaign import zipf_counts
from hushcount.ldp.server.aggregator import Aggregator
from hushcount.ldp.server.frequency import FrequencyOracle
from hushcount.ldp.server.tallies import bucket_of, from_words, to_words
from hushcount.ldp.wire.questions import Chunk, Prefix

WORDS = ldp.Words(string.ascii_lowercase, 6)


def evidence_of(aggregator):
    return Evidence(aggregator.collected().groups[0])


# The plan


@pytest.mark.parametrize("width", [21, 22, 30, 41, 60, 108, 252])
def test_chunks_cover_the_rest_of_the_item(width):
    plan = chunked(width)
    *chunks, last = plan.questions
    assert [question.start for question in chunks] == [
        12 + sum(question.bits for question in chunks[:place]) for place in range(len(chunks))
    ]
    assert 12 + sum(question.bits for question in chunks) == width
    assert max(question.bits for question in chunks) - min(question.bits for question in chunks) <= 1
    assert all(question.bits <= 10 and question.quotient_bits == 12 for question in chunks)
    assert last == Prefix(width, 16, 18)
    assert sum(plan.shares) == 1 << 32


def test_six_letters_are_two_chunks_of_nine_bits():
    assert [question.bits for question in chunked(30).questions[:-1]] == [9, 9]


@pytest.mark.parametrize("width", [1, 12, 20])
def test_narrow_items_are_their_own_cells(width):
    assert chunked(width).questions == (Prefix(width, 1, width),)
    assert chunked(width).shares == (1 << 32,)


def test_least_detectable_count():
    """At 30 bits and epsilon = 2 (V0 = 0.7246): about nine times the square root of the users."""
    assert chunked(30).least_detectable(10_000, 0.7246) == pytest.approx(886, abs=2)
    manifest = Bitstogram(WORDS, epsilon=2.0, users=10_000).manifest
    assert manifest.parameters["threshold"] == math.ceil(
        chunked(30).least_detectable(10_000, 7 / (8 * manifest.groups[0].probability / 2**64 - 1) ** 2)
    )


@pytest.mark.parametrize(
    ("protocol", "precision", "recall"), [(ldp.Bitstogram, 0.98, 0.99), (ldp.BitstogramBinary, 0.97, 0.97)]
)
def test_forecast_of_the_zipf_words(protocol, precision, recall):
    """What is measured at ten million users (docs/ldp-bitstogram.md) is what was to be expected."""
    plan = protocol(WORDS, epsilon=2.0, users=10_000_000).plan
    threshold = 15 * math.sqrt(10_000_000)
    expected = plan.quality(zipf_counts(10_000_000, 1.5, 93), threshold)
    assert expected.above_threshold == 19
    assert expected.precision == pytest.approx(precision, abs=0.015)
    assert expected.recall == pytest.approx(recall, abs=0.015)


def test_forecast():
    plan = Bitstogram(WORDS, epsilon=2.0, users=1_000_000).plan
    assert plan.least_detectable == pytest.approx(8864, abs=2)
    assert plan.threshold == math.ceil(plan.least_detectable)
    assert plan.memory == 8 * (2 * 2**21 + 16 * 2**18) + 66 * 1_000_000
    assert plan.chance_of(0) < 1e-9
    assert 0.45 < plan.chance_of(plan.threshold) < 0.51
    assert plan.chance_of(2 * plan.threshold) > 0.999
    assert plan.quality([]).recall == 1.0
    binary = ldp.BitstogramBinary(WORDS, epsilon=2.0, users=1_000_000).plan
    assert binary.memory == 8 * (128 * 2**14 + 16 * 2**18) + 66 * 1_000_000


def test_a_small_campaign_has_a_threshold_within_its_users():
    assert Bitstogram(WORDS, epsilon=0.5, users=10).manifest.parameters["threshold"] == 10


@pytest.mark.parametrize(("bits", "most"), [(1, 10), (10, 10), (11, 10), (48, 10), (240, 10), (58, 29)])
def test_parts_are_nearly_equal(bits, most):
    parts = divide(bits, most)
    assert sum(parts) == bits
    assert max(parts) <= most
    assert max(parts) - min(parts) <= 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"users": 0}, "users must be at least 1, got 0."),
        ({"epsilon": 0.0}, "epsilon must be a finite number above 0, got 0.0."),
        ({"threshold": 0}, "threshold must be above 0 and at most users = 1000, got 0."),
        ({"threshold": 1001}, "threshold must be above 0 and at most users = 1000, got 1001."),
        ({"threshold": math.nan}, "threshold must be above 0 and at most users = 1000, got nan."),
        ({"encoding": ldp.Bytes(30)}, "Bitstogram takes items of at most 252 bits, got 270."),
    ],
)
def test_refusals(change, sentence):
    with pytest.raises(ParameterError) as refusal:
        Bitstogram(**{"encoding": WORDS, "epsilon": 2.0, "users": 1000, **change})
    assert str(refusal.value) == sentence


def test_no_report_is_no_answer():
    with pytest.raises(DataError):
        Bitstogram(WORDS, epsilon=2.0, users=1000).aggregator().heavy_hitters()


FOREIGN = [
    (Chunk(12, 12, 9, 1, 12), Prefix(30, 16, 18)),
    (Chunk(12, 12, 9, 1, 12), Chunk(12, 20, 10, 1, 12), Prefix(30, 16, 18)),
    (Chunk(12, 12, 9, 1, 12), Chunk(12, 21, 9, 2, 12), Prefix(30, 16, 18)),
    (Chunk(4, 0, 15, 1, 0), Chunk(4, 15, 15, 1, 0), Prefix(30, 16, 18)),
    (Chunk(12, 12, 9, 1, 12), Chunk(12, 21, 9, 1, 12), Prefix(29, 16, 18)),
    (Chunk(12, 12, 9, 1, 12), Chunk(12, 21, 9, 1, 12), Prefix(30, 16, 18, 1)),
    (Prefix(15, 1, 15), Prefix(30, 16, 18)),
    (Prefix(30, 16, 18),),
]


@pytest.mark.parametrize("questions", FOREIGN, ids=lambda questions: f"{len(questions)}-questions")
def test_questions_of_another_protocol_are_refused(questions):
    manifest = Bitstogram(WORDS, epsilon=1.0, users=1000).manifest
    shares = [1 << 32 - len(questions)] * (len(questions) - 1)
    group = replace(
        manifest.groups[0], questions=questions, shares=(*shares, (1 << 32) - sum(shares)), symbol_bits=1
    )
    with pytest.raises(ManifestError) as refusal:
        Aggregator(replace(manifest, groups=(group,)))
    assert str(refusal.value) == "the questions must be those that bitstogram asks."


# The parts


@pytest.mark.parametrize("seed", range(5))
def test_combinations_against_all(seed):
    """Against the product of the lists, bucket by bucket."""
    rng = np.random.default_rng(seed)
    buckets, parts = 20, 3
    lists, entries = [], {}
    for part in range(parts):
        sizes = rng.integers(0, 5, buckets)
        values = rng.integers(0, 1000, sizes.sum())
        scores = rng.normal(size=sizes.sum())
        starts = np.concatenate([[0], np.cumsum(sizes)])
        lists.append(Lists(10, starts, values, scores))
        for bucket in range(buckets):
            kept = slice(starts[bucket], starts[bucket + 1])
            entries[part, bucket] = list(zip(values[kept], scores[kept], strict=True))
    expected = {
        (bucket, *(int(value) for value, _ in row))
        for bucket in range(buckets)
        for row in itertools.product(*(entries[part, bucket] for part in range(parts)))
        if sum(score for _, score in row) >= 0.3 * parts
    }
    chosen, where = combine(lists, 0.3)
    assert {(int(bucket), *map(int, row)) for bucket, row in zip(where, chosen, strict=True)} == expected
    assert expected


def test_a_bucket_gives_only_its_best(monkeypatch):
    monkeypatch.setattr(decoder, "WIDEST", 7)
    rng = np.random.default_rng(1)
    scores = [rng.normal(size=6) for _ in range(4)]
    lists = [Lists(3, np.array([0, 6]), np.arange(6), part) for part in scores]
    chosen, _ = combine(lists, -100.0)
    sums = [sum(part[value] for part, value in zip(scores, row, strict=True)) for row in chosen]
    everything = sorted((sum(row) for row in itertools.product(*scores)), reverse=True)
    np.testing.assert_allclose(sorted(sums, reverse=True), everything[:7])


def test_peeling_against_the_obvious():
    rng = np.random.default_rng(2)
    number, tables = 60, 7
    cells = rng.integers(0, 6, (number, tables)).astype(np.uint32)
    signs = (1 - 2 * rng.integers(0, 2, (number, tables))).astype(np.int8)
    weights = rng.random((tables, 2)) / tables
    estimates = rng.exponential(100, (number, 2))
    limits = (80.0, 60.0)
    expected, left, tried = [], estimates.copy(), set()
    while True:
        open_items = [item for item in range(number) if item not in tried]
        best = max(open_items, key=lambda item: left[item, 0])
        if left[best, 0] < limits[0]:
            break
        tried.add(best)
        if left[best, 1] < limits[1]:
            continue
        expected.append(best)
        for item in range(number):
            if item not in expected:
                shared = (cells[item] == cells[best]) * (signs[item] * signs[best])
                left[item] -= left[best, 0] * (shared @ weights)
    accepted = np.full(number, -1)
    kernels.peel((cells, signs), weights, estimates, np.array(limits), accepted)
    assert np.argsort(accepted)[np.count_nonzero(accepted < 0) :].tolist() == expected
    np.testing.assert_allclose(estimates, left)
    assert 5 < len(expected) < number


@pytest.mark.parametrize("bits", [21, 30, 47, 64, 76, 129])
def test_bucket_and_chunks_give_the_item_back(bits):
    protocol = Bitstogram(ldp.Integers(bits), epsilon=2.0, users=1000)
    tallies = protocol.aggregator()._groups[0].questions()
    generator = random.Random(bits)
    values = [generator.randrange(1 << bits) for _ in range(200)]
    words = to_words(values, bits)
    parts = [part_of(question.question, bits) for question in tallies[:-1]]
    chosen = np.array([[value >> low & ((1 << size) - 1) for low, size in parts] for value in values])
    buckets = bucket_of(tallies[0].place, words, 12, 12).astype(np.int64)
    assert from_words(items(chosen, buckets, [size for _, size in parts], tallies[0])) == values


@pytest.mark.parametrize("encoding", [ldp.Words("abc", 4), ldp.Integers(8), ldp.Categories(("x", "y", "z"))])
def test_valid_items_are_those_that_decode(encoding):
    values = range(1 << encoding.width)
    expected = [encoding.decode(value) is not None for value in values]
    assert valid(to_words(values, encoding.width), encoding).tolist() == expected


def test_pooled_estimates_are_those_of_the_oracle():
    counts = dict.fromkeys(random_words(50, 3), 400)
    collected = answered(Bitstogram(WORDS, epsilon=2.0, users=20_000).manifest, counts, 4).collected()
    evidence = Evidence(collected.groups[0])
    words = to_words([WORDS.encode(word) for word in counts], 30)
    pooled = evidence.estimates(evidence.locate(words))
    together = FrequencyOracle(collected.groups[0], collected.reports).estimate_words(words)
    np.testing.assert_allclose(pooled[:, 0], together, atol=0.5)
    alone = FrequencyOracle(collected.groups[0][-1:], collected.reports).estimate_words(words)
    np.testing.assert_allclose(pooled[:, 1], alone, atol=0.5)
    np.testing.assert_allclose(evidence.check(words), pooled[:, 1])


def test_what_is_removed_is_gone():
    aggregator = answered(
        Bitstogram(WORDS, epsilon=4.0, users=20_000).manifest, {"tea": 15_000, "milk": 5_000}, 5
    )
    evidence = evidence_of(aggregator)
    located = evidence.locate(to_words([WORDS.encode("tea"), WORDS.encode("milk")], 30))
    before = evidence.estimates(located)
    evidence.remove(located.take(np.array([0])), np.array([15_000.0]))
    after = evidence.estimates(located)
    np.testing.assert_allclose(before[0] - after[0], 15_000, atol=1)
    np.testing.assert_allclose(after[1], before[1], atol=1)


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize("protocol", [ldp.Bitstogram, ldp.BitstogramBinary])
def test_deviation_of_absent_items(protocol, epsilon):
    """Mean 0 and the deviation of an oracle over all users, although each question has only a share."""
    users = 200_000
    counts = dict.fromkeys(random_words(2000, 6), users // 2000)
    evidence = evidence_of(answered(protocol(WORDS, epsilon=epsilon, users=users).manifest, counts, 7))
    absent = [word for word in random_words(5000, 8) if word not in counts]
    estimates = evidence.estimates(evidence.locate(to_words([WORDS.encode(word) for word in absent], 30)))
    deviation = evidence.error(users / 2000).of_absent
    assert estimates[:, 0].std() / deviation == pytest.approx(1, abs=0.05)
    assert abs(estimates[:, 0].mean()) < 4 * deviation / math.sqrt(len(absent))
    assert deviation == pytest.approx(math.sqrt(users * evidence.response.absent), rel=0.01)


# What is found


@pytest.mark.parametrize("protocol", [ldp.Bitstogram, ldp.BitstogramBinary])
def test_reports_of_pure_clients(protocol):
    manifest = with_seed(protocol(WORDS, epsilon=6.0, users=6000).manifest, 9)
    words = ["tea"] * 3000 + ["milk"] * 2000 + random_words(1000, 9)
    reports = pure_reports(manifest, words, 10)
    release = ldp.Aggregator(manifest).add(reports).heavy_hitters()
    assert release.table["key"].to_pylist() == ["tea", "milk"]
    assert (release.guarantee.epsilon, release.guarantee.delta) == (6.0, 0.0)
    assert release.guarantee.mechanism == manifest.protocol


@pytest.mark.parametrize("protocol", [ldp.Bitstogram, ldp.BitstogramBinary])
def test_the_names_of_the_contract(protocol):
    campaign = protocol(encoding=WORDS, epsilon=2.0, users=1000)
    report = campaign.client(nonce=5).report("tea")
    assert len(campaign.aggregator().add([report]).heavy_hitters()) == 0


@pytest.mark.parametrize(
    ("encoding", "letters", "epsilon"),
    [
        (WORDS, 6, 2.0),
        (WORDS, 6, 1.0),
        (WORDS, 6, 4.0),
        (ldp.PackedWords(string.ascii_lowercase, 6), 6, 2.0),
        (ldp.Words(string.ascii_lowercase, 12), 12, 2.0),
    ],
    ids=["words", "one", "four", "packed", "sixty-bits"],
)
def test_heavy_hitters(encoding, letters, epsilon):
    counts = zipf(random_words(1000, 10, letters), 400_000)
    protocol = Bitstogram(encoding, epsilon=epsilon, users=400_000)
    assert_found(answered(protocol.manifest, counts, 11).heavy_hitters(), counts)


def test_wide_bytes():
    counts = {word.encode(): count for word, count in zipf(random_words(300, 12, 16), 200_000).items()}
    protocol = Bitstogram(ldp.Bytes(16), epsilon=5.0, users=200_000)
    assert_found(answered(protocol.manifest, counts, 13).heavy_hitters(), counts)


def test_narrow_items():
    counts = zipf(list(range(500, 1000)), 200_000)
    protocol = Bitstogram(ldp.Integers(12), epsilon=2.0, users=200_000)
    assert_found(answered(protocol.manifest, counts, 14).heavy_hitters(), counts)


def test_heavy_items_of_one_bucket():
    """Items built to fall into one bucket, some with a chunk in common, hide nothing from each other."""
    manifest = Bitstogram(ldp.Integers(30), epsilon=3.0, users=200_000).manifest
    seeded = answered(manifest, {1: 1}, 15).manifest
    tallies = answered(manifest, {1: 1}, 15).collected().groups[0]
    chosen = np.array([[5, 77], [5, 300], [200, 77], [9, 9]])
    words = items(chosen, np.full(4, 1234), [9, 9], tallies[0])
    together = from_words(words)
    assert len({int(bucket) for bucket in bucket_of(tallies[0].place, words, 12, 12)}) == 1
    counts = dict(zip(together, [90_000, 40_000, 15_000, 8_000], strict=True)) | dict.fromkeys(range(940), 50)
    release = answered(seeded, counts, 15).heavy_hitters(threshold=5000)
    assert release.table["key"].to_pylist() == together
    np.testing.assert_allclose(release.counts.to_numpy(), [90_000, 40_000, 15_000, 8_000], atol=1200)


def test_nothing_heavy_is_an_empty_release():
    counts = dict.fromkeys(random_words(2000, 16), 100)
    release = answered(Bitstogram(WORDS, epsilon=1.0, users=200_000).manifest, counts, 17).heavy_hitters()
    assert len(release) == 0


def test_a_threshold_below_the_noise_is_raised():
    counts = zipf(random_words(1000, 18), 100_000)
    aggregator = answered(Bitstogram(WORDS, epsilon=2.0, users=100_000).manifest, counts, 19)
    release = aggregator.heavy_hitters(threshold=1)
    assert 5 < release.floor / math.sqrt(100_000) < 6
    assert all(counts.get(word, 0) >= release.floor / 2 for word in release.table["key"].to_pylist())


def test_the_threshold_of_the_manifest():
    counts = zipf(random_words(100, 20), 100_000)
    manifest = Bitstogram(WORDS, epsilon=4.0, users=100_000, threshold=9000).manifest
    assert answered(manifest, counts, 21).heavy_hitters().floor == 9000


def test_a_campaign_of_one_report():
    assert (
        len(answered(Bitstogram(WORDS, epsilon=1.0, users=1).manifest, {"tea": 1}, 22).heavy_hitters()) == 0
    )


def test_one_bit_responses():
    manifest = Bitstogram(WORDS, epsilon=2.0, users=200_000, symbol_bits=1).manifest
    assert manifest.symbols == 2
    counts = zipf(random_words(300, 23), 200_000)
    assert_found(answered(manifest, counts, 24).heavy_hitters(), counts)
