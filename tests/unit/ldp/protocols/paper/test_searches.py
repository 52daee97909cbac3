"""TreeHistPaper, SuccinctHist and BitstogramPaper: manifests, decoding, heavy items, what the proofs need."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from experiments.ldp.lemmas import (
    BitstogramConstants,
    TreeConstants,
    bitstogram_proof,
    succinct_proof,
    tree_proof,
)
from tests.ldp_population import answered
from tests.ldp_reference import distance
from tests.unit.ldp.protocols.paper.paper_cases import COUNTS, EXPIRES, HEAVY, USERS, WORDS, by_key, inside

from hushcount import ldp
from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.client.client import assigned
from hushcount.ldp.protocols.bitstogram.decode import signs
from hushcount.ldp.protocols.bitstogram.protocol import parts_of
from hushcount.ldp.protocols.paper import decode
from hushcount.ldp.protocols.paper.campaign import epsilon_part
from hushcount.ldp.protocols.paper.decode import decode_bits, nearest
from hushcount.ldp.protocols.paper.medians import MedianOracle
from hushcount.ldp.protocols.paper.searches import MOST_PART_BITS
from hushcount.ldp.wire.codes import LENGTH, encode
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Chunk, CodeBit, Prefix


def tree_hist(**more):
    return ldp.TreeHistPaper(WORDS, epsilon=6, users=USERS, rows=5, expires=EXPIRES, **more)


def test_manifest_tree_hist():
    manifest = ldp.TreeHistPaper(WORDS, epsilon=2, users=10_000_000).manifest
    first, second = manifest.groups
    assert manifest.protocol == "tree_hist_paper"
    assert first.questions == tuple(Prefix(bits, 285, min(bits, 12), 1) for bits in range(1, 31))
    assert second.questions == (Prefix(30, 285, 12, 1),)
    assert [(group.epsilon, group.symbol_bits) for group in manifest.groups] == [("1", 1), ("1", 1)]
    assert manifest.parameters == {"threshold": 47435}
    assert Manifest.parse(manifest.to_json()) == manifest


def test_a_report_is_two_bits():
    campaign = tree_hist()
    symbols = {campaign.client(nonce).report("tea", now=0)[-2] for nonce in range(60)}
    assert symbols == {0, 1, 2, 3}


def test_the_estimate_is_that_of_algorithm_2():
    """gamma a_epsilon times the sum over users of the row of y_i s W[r_i, c], one group and level."""
    campaign = ldp.TreeHistPaper(ldp.Integers(4), epsilon=2, users=80, rows=3, cell_bits=2)
    manifest = campaign.manifest
    nonces = [number.to_bytes(16, "little") for number in range(80)]
    reports = [campaign.client(nonce).report(9, now=0) for nonce in nonces]
    collected = campaign.aggregator().add(reports, now=0).collected()
    level, value = 2, 9  # the first three bits, 100
    oracle = MedianOracle(collected, 0, level)
    rows = [0.0, 0.0, 0.0]
    for nonce, report in zip(nonces, reports, strict=True):
        question = assigned(manifest, nonce, 0)
        if question.question == level:
            place = oracle.tally.at(question.row)
            cell, flip = manifest.groups[0].questions[level].cell(value, place)
            sign = (-1) ** (flip + (question.masks[0] & cell).bit_count())
            rows[question.row] += (-1) ** (report[-2] & 1) * sign
    a = (np.e + 1) / (np.e - 1)
    assert np.isclose(oracle.estimate([value])[0], 3 * 4 * a * np.median(rows))


def test_heavy_hitters_tree_hist():
    """An item is lost if one of thirty levels misses it, so these have ten times the counts of the others."""
    counts = {item: 10 * count for item, count in HEAVY.items()}
    campaign = ldp.TreeHistPaper(WORDS, epsilon=6, users=300_000, rows=5, expires=EXPIRES)
    release = answered(campaign.manifest, counts, 2).heavy_hitters(30_000)
    assert set(by_key(release)) == set(HEAVY)
    assert inside(release.at_confidence(1 - 1e-9), counts) == len(release)
    assert release.guarantee.epsilon == 6
    assert release.guarantee.mechanism == "tree_hist_paper"


def test_the_list_of_the_paper_has_no_second_threshold():
    """What passes all levels is published whatever its final estimate, if `published` says so.

    All 64 items have the threshold's count: each passes the last level with probability one half and, by
    answers of its own, has a final estimate below it with one half. Only .75^64 = 1e-8 of all seeds have none
    that does both.
    """
    counts = dict.fromkeys(range(64), 1000)
    asked_for = {"epsilon": 6, "users": 64_000, "rows": 5, "threshold": 1000, "expires": EXPIRES}
    strict = ldp.TreeHistPaper(ldp.Integers(6), **asked_for).manifest
    whole = ldp.TreeHistPaper(ldp.Integers(6), published=1, **asked_for).manifest
    assert whole.parameters == {"threshold": 1000, "published": 1}
    few, more = (answered(manifest, counts, 7).heavy_hitters() for manifest in (strict, whole))
    above = {item for item, count in by_key(more).items() if count > 1000}  # 1000 may be 999.5, rounded
    assert above <= set(by_key(few)) < set(by_key(more))
    assert min(few.counts.to_pylist()) >= 1000 > min(more.counts.to_pylist())
    assert len(more) < 64


def test_a_threshold_of_the_call_holds_for_both():
    """Heavy items lie some ten standard deviations of a level above this threshold, light ones below it."""
    counts = {37: 25_000, 100: 20_000, 200: 20_000} | dict.fromkeys(range(0, 100, 10), 100)
    campaign = ldp.TreeHistPaper(ldp.Integers(8), epsilon=6, users=66_000, rows=5, threshold=10**9)
    aggregator = answered(campaign.manifest, counts, 2)
    assert len(aggregator.heavy_hitters()) == 0
    assert set(by_key(aggregator.heavy_hitters(10_000))) == {37, 100, 200}


def test_prefixes_are_kept_up_to_a_number(monkeypatch):
    monkeypatch.setattr(decode, "MOST_PREFIXES", 2)
    found = by_key(answered(tree_hist().manifest, COUNTS, 2).heavy_hitters(1e-9))
    assert len(found) <= 2


def test_merged_and_loaded():
    campaign = ldp.TreeHistPaper(ldp.Integers(8), epsilon=4, users=400, rows=3, expires=EXPIRES)
    reports = [campaign.client(nonce).report(nonce % 3 * 50, now=0) for nonce in range(400)]
    halves = [campaign.aggregator().add(reports[start::2], now=0) for start in (0, 1)]
    whole = campaign.aggregator().add(reports, now=0)
    merged = ldp.Aggregator.load(halves[0].merge(halves[1]).to_bytes())
    assert merged.reports == 400
    assert by_key(merged.heavy_hitters(60)) == by_key(whole.heavy_hitters(60))


def test_the_proof_at_ten_million_exceeds_all_users_tree_hist():
    proved = tree_proof(10_000_000, 2.0, 30)
    assert proved.pruned > 10_000_000
    assert (proved.rows, proved.cell_bits) == (2103, 16)
    assert tree_proof(10_000_000, 2.0, 30, constants=TreeConstants(110, 48, 14.7)).pruned == pytest.approx(
        proved.pruned / 10
    )


def test_parameters_of_the_proof_make_a_campaign():
    proved = tree_proof(1000, 4.0, 8)
    campaign = ldp.TreeHistPaper(
        ldp.Integers(8),
        epsilon=4,
        users=1000,
        rows=proved.rows | 1,
        cell_bits=proved.cell_bits,
        threshold=proved.pruned,
    )
    assert campaign.manifest.parameters["threshold"] > 1000
    assert campaign.manifest.groups[0].questions[7] == Prefix(8, 1091, 8, 1)


def test_other_questions_are_refused_tree_hist():
    manifest = tree_hist().manifest
    wrong = replace(manifest, groups=manifest.groups[::-1])
    with pytest.raises(ManifestError) as error:
        answered(wrong, {"tea": 10}, 1).heavy_hitters()
    assert str(error.value) == "the questions must be those that tree_hist_paper asks."


@pytest.mark.parametrize("published", [0, -5, float("nan"), True])
def test_published(published):
    with pytest.raises(ParameterError) as error:
        tree_hist(published=published)
    assert str(error.value) == f"published must be above 0 and at most 9007199254740991, got {published!r}."


def succinct_hist(**more):
    return ldp.SuccinctHist(WORDS, epsilon=6, users=USERS, expires=EXPIRES, **more)


def test_manifest_succinct_hist():
    manifest = succinct_hist().manifest
    first, second = manifest.groups
    assert manifest.protocol == "succinct_hist"
    assert first.questions == tuple(Chunk(8, place, 1) for place in range(30))
    assert max(first.shares) - min(first.shares) == 1
    assert second.questions == (Prefix(30, 1, 20),)
    assert [group.epsilon for group in manifest.groups] == ["3", "3"]
    assert manifest.symbols == 4
    assert Manifest.parse(manifest.to_json()) == manifest


@pytest.mark.parametrize(("width", "cell_bits"), [(16, 16), (24, 24), (25, 20)])
def test_items_of_few_bits_are_not_hashed(width, cell_bits):
    manifest = ldp.SuccinctHist(ldp.Integers(width), epsilon=1, users=1000).manifest
    assert manifest.groups[1].questions == (Prefix(width, 1, cell_bits),)


@pytest.mark.parametrize(("epsilon", "half"), [("0.3", "0.15"), ("0.000000000000000003", None), ("7", "3.5")])
def test_halves_of_epsilon(epsilon, half):
    if half is None:  # an odd last place is rounded down
        half = "0.000000000000000001"
    assert epsilon_part(epsilon, 2) == half


def test_heavy_hitters_succinct_hist():
    """Two items in one bucket hide each other, so buckets are many; the interval of a row misses by 1e-9."""
    release = answered(succinct_hist(bucket_bits=10).manifest, HEAVY, 2).heavy_hitters()
    assert set(by_key(release)) == set(HEAVY)
    assert inside(release.at_confidence(1 - 1e-9), HEAVY) == len(release)
    assert release.guarantee.epsilon == 6


def test_every_bucket_gives_the_item_of_its_larger_bits():
    """The list L before any threshold, recomputed from the sums of Algorithm 5 bucket by bucket."""
    campaign = ldp.SuccinctHist(ldp.Integers(6), epsilon=6, users=2000, bucket_bits=3)
    collected = answered(campaign.manifest, {5: 900, 44: 700, 63: 400}, 3).collected()
    expected = set()
    for bucket in range(8):
        value = 0
        for tally in collected.groups[0]:
            sums = []
            for bit in (0, 1):
                cell = bucket << 1 | bit
                signs = [(-1) ** (mask & cell).bit_count() for mask in range(16)]
                sums.append(sum(int(t) * s for t, s in zip(tally.tables[0], signs, strict=True)))
            value = value << 1 | (sums[1] > sums[0])
        expected.add(value)
    published = set(decode_bits(collected, 1e-9).values)
    assert {5, 44, 63} <= published <= expected


def test_other_questions_are_refused_succinct_hist():
    manifest = succinct_hist().manifest
    wrong = replace(manifest, groups=manifest.groups[:1])
    with pytest.raises(ManifestError) as error:
        answered(wrong, {"tea": 10}, 1).heavy_hitters()
    assert str(error.value) == "the questions must be those that succinct_hist asks."
    other = ldp.TreeHistPaper(WORDS, epsilon=2, users=100, rows=1, cell_bits=2).manifest
    with pytest.raises(ManifestError):
        answered(replace(other, protocol="succinct_hist"), {"tea": 10}, 1).heavy_hitters()


def test_what_the_lemma_asks_for():
    proved = succinct_proof(10_000_000, 2.0, 30)
    assert proved.cells == 198
    assert proved.cell_bits == 8
    assert 1.6e6 < proved.found < 1.7e6  # a sixth of all users, and then with chance 1/2 only


@pytest.mark.parametrize("bits", [0, 32, True, 1.5])
def test_bucket_bits(bits):
    with pytest.raises(ParameterError, match=r"bucket_bits.*\.$"):
        succinct_hist(bucket_bits=bits)


def bitstogram(**more):
    return ldp.BitstogramPaper(WORDS, epsilon=6, users=USERS, rows=5, expires=EXPIRES, **more)


def test_manifest_bitstogram():
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
    parts = parts_of(width, MOST_PART_BITS)
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


def test_heavy_hitters_bitstogram():
    release = answered(bitstogram().manifest, COUNTS, 2).heavy_hitters()
    assert set(by_key(release)) == set(HEAVY)
    assert inside(release.at_confidence(1 - 1e-9), COUNTS) == len(release)
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


def test_the_proof_at_ten_million_exceeds_all_users_bitstogram():
    proved = bitstogram_proof(10_000_000, 2.0, 256)
    assert proved.found > 1000 * 10_000_000
    assert proved.rows == 144
    mild = BitstogramConstants(1, 1, 1)
    assert bitstogram_proof(10_000_000, 2.0, 256, constants=mild).found < 10_000_000


def test_other_questions_are_refused_bitstogram():
    manifest = bitstogram().manifest
    first, second = manifest.groups
    wrong = replace(manifest, groups=(replace(first, questions=first.questions[::-1]), second))
    with pytest.raises(ManifestError) as error:
        answered(wrong, {"tea": 10}, 1).heavy_hitters()
    assert str(error.value) == "the questions must be those that bitstogram_paper asks."


@pytest.mark.parametrize("repetitions", [0, -1, True, 2.5])
def test_repetitions(repetitions):
    with pytest.raises(ParameterError, match=r"^rows must be .*\.$"):
        bitstogram(repetitions=repetitions)
