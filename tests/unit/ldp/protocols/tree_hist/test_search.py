"""TreeHist finds what is heavy, for every encoding and number of levels, and its valid prefixes are right."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.client.simulation import Items, respond_all
from hushcount.ldp.protocols.bitstogram.protocol import Bitstogram
from hushcount.ldp.protocols.tree_hist.protocol import TreeHist, levels_of
from hushcount.ldp.server.aggregator import Aggregator
from hushcount.ldp.wire.encodings import Bytes, Categories, Integers, PackedWords, Words
from hushcount.ldp.wire.groups import ALL_SHARES, Group
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.prefixes import count_prefixes, state_of, suffixes
from hushcount.ldp.wire.questions import Chunk, Prefix, TaggedPrefix

NEVER = 253_402_300_799
LETTERS = "abcdefghijklmnopqrstuvwxyz"
USERS = 60_000


def collect(protocol, counts, seed=1):
    """An aggregator with the reports of users who hold items so often, and of others who hold none."""
    bits = SeededBits(seed)
    manifest = replace(protocol.manifest, seed=bits.bytes(32))
    items = Items.of([None, *counts], manifest.encoding)
    held = np.repeat(np.arange(1, len(counts) + 1), list(counts.values()))
    who = np.concatenate((held, np.zeros(USERS - len(held), np.int64)))
    nonces = bits.words(USERS)
    symbols = respond_all(manifest, nonces, items.take(who), bits)
    return Aggregator(manifest).add((nonces, symbols))


CASES = {
    "words of two levels": (Words(LETTERS, 6), ["tea", "coffee", "milk", "a"]),
    "words of five levels": (Words(LETTERS, 12), ["tea", "cappuccino", "milkshakes", "capuccino"]),
    "packed words": (PackedWords(LETTERS, 6), ["tea", "coffee", "milk", "zzzzzz"]),
    "bytes": (Bytes(5), [b"tea", b"\xff\xff\xff\xff\xff", b"", b"\x00\x01"]),
    "integers": (Integers(40), [0, 1, (1 << 40) - 1, 123456789]),
    "categories": (
        Categories([f"name {i}" for i in range(3000)]),
        ["name 0", "name 7", "name 2999", "name 8"],
    ),
}


@pytest.mark.parametrize("case", list(CASES))
def test_heavy_items_are_found(case):
    encoding, (first, second, third, fourth) = CASES[case]
    protocol = TreeHist(encoding, epsilon=4.0, users=USERS, expires=NEVER)
    counts = {first: 20_000, second: 9000, third: 4000, fourth: 50}
    release = collect(protocol, counts).heavy_hitters()
    assert release.table["key"].to_pylist() == [first, second, third]
    for row in release.at_confidence(0.9999).table.to_pylist():
        assert row["lower"] <= counts[row["key"]] <= row["upper"]
    assert release.guarantee.mechanism == "tree_hist"


def test_nothing_is_found_in_noise():
    protocol = TreeHist(Words(LETTERS, 6), epsilon=1.0, users=USERS, threshold=100, expires=NEVER)
    release = collect(protocol, {"tea": 20_000}).heavy_hitters()
    assert release.table["key"].to_pylist() == ["tea"]
    assert release.floor > 100  # noise alone would reach the threshold asked for
    release = collect(protocol, {}).heavy_hitters()
    assert release.table["key"].to_pylist() == []


def test_a_very_heavy_item_hides_nobody():
    protocol = TreeHist(Words(LETTERS, 6), epsilon=4.0, users=USERS, threshold=700, expires=NEVER)
    counts = {"tea": 50_000, "teapot": 1500, "milk": 1200, "teas": 1100}
    release = collect(protocol, counts).heavy_hitters()
    assert set(release.table["key"].to_pylist()) == set(counts)
    found = dict(zip(release.table["key"].to_pylist(), release.table["count"].to_pylist(), strict=True))
    assert found["tea"] == pytest.approx(50_000, abs=500)
    assert found["milk"] == pytest.approx(1200, abs=450)


def test_an_aggregator_of_the_manifest_alone_answers():
    protocol = TreeHist(Words(LETTERS, 6), epsilon=4.0, users=USERS, expires=NEVER)
    aggregator = collect(protocol, {"tea": 20_000})
    again = Aggregator.load(aggregator.to_bytes())
    assert Manifest.parse(aggregator.manifest.to_json()) == again.manifest
    assert protocol.aggregator().manifest is protocol.manifest
    assert again.heavy_hitters().table["key"].to_pylist() == ["tea"]
    assert again.heavy_hitters(30_000).table["key"].to_pylist() == []


def test_the_manifest_follows_the_plan():
    protocol = TreeHist(Words(LETTERS, 6), epsilon=2.0, users=10_000_000, threshold=47_434)
    assert protocol.manifest.groups[0].shares == protocol.plan.shares
    assert protocol.manifest.parameters["threshold"] == 47_434
    tagged, last = levels_of(protocol.manifest)
    assert [question.bits for question in (*tagged, last)] == [15, 30]
    assert protocol.client(7).manifest is protocol.manifest


@pytest.mark.parametrize(
    "questions",
    [
        (Prefix(15, 1, 15), Prefix(30, 4, 18)),
        (TaggedPrefix(15, 9, 4, 16),),
        (TaggedPrefix(20, 9, 4, 16), TaggedPrefix(15, 9, 4, 16), Prefix(30, 4, 18)),
        (TaggedPrefix(15, 9, 4, 16), TaggedPrefix(20, 8, 4, 16), Prefix(30, 4, 18)),
        (TaggedPrefix(15, 9, 4, 16), Chunk(5, 0, 15)),
        (TaggedPrefix(15, 11, 4, 16), Prefix(30, 4, 18)),
        (TaggedPrefix(15, 9, 4, 16), Prefix(25, 4, 18)),
    ],
    ids=str,
)
def test_other_questions_are_refused(questions):
    share = ALL_SHARES // len(questions)
    shares = (*[share] * (len(questions) - 1), ALL_SHARES - share * (len(questions) - 1))
    manifest = Manifest("tree_hist", Integers(30), "2", (Group("2", 1, questions, shares),), 10, NEVER)
    with pytest.raises(ManifestError) as caught:
        levels_of(manifest)
    assert str(caught.value) == (
        "the questions of tree_hist must ask for prefixes, shortest first and with tags of one length"
        " of at most 10 bits, and then for the whole item."
    )


ENCODINGS = [
    (Words("abc", 4), [0, 1, 2, 3, 5, 6, 8]),
    (Words("abcde", 3), [0, 1, 3, 4, 6, 7, 9]),
    (Words("ab", 5), [0, 2, 4, 7, 10]),
    (Integers(9), [0, 2, 5, 9]),
    (Categories([str(i) for i in range(37)]), [0, 2, 3, 6]),
]


@pytest.mark.parametrize(("encoding", "cuts"), ENCODINGS, ids=lambda value: str(value)[:20])
def test_suffixes_are_those_of_valid_items(encoding, cuts):
    width = encoding.width
    valid = [value for value in range(1 << width) if encoding.decode(value) is not None]
    for start, stop in combinations(cuts, 2):
        parents = {value >> (width - start) for value in valid}
        children = {value >> (width - stop) for value in valid}
        tails = {
            parent: suffixes(encoding, state_of(encoding, parent, start), stop - start) for parent in parents
        }
        found = [parent << (stop - start) | int(tail) for parent in parents for tail in tails[parent]]
        assert sorted(found) == sorted(children)
        assert count_prefixes(encoding, stop) == len(children)


def test_packed_words_wider_than_a_machine_word_are_found():
    protocol = TreeHist(PackedWords(LETTERS, 20), epsilon=4.0, users=USERS, threshold=15_000)
    counts = {"z" * 20: 20_000, "tea": 20_000, "": 20_000}
    assert protocol.plan.chance_of(20_000) > 0.99  # though each of the eight short levels asks 133 users
    assert set(collect(protocol, counts).heavy_hitters().table["key"].to_pylist()) == set(counts)


@pytest.mark.parametrize("users", [1, 10])
def test_few_users_have_a_campaign_that_finds_nothing(users):
    protocol = TreeHist(Words(LETTERS, 6), epsilon=1.0, users=users)
    assert protocol.manifest.parameters["threshold"] == users
    reports = [protocol.client(nonce).report("tea") for nonce in range(users)]
    assert len(protocol.aggregator().add(reports).heavy_hitters()) == 0


@pytest.mark.parametrize("protocol", [TreeHist, Bitstogram])
@pytest.mark.parametrize("threshold", [0, -1, 1001, float("nan"), True, "5"])
def test_bad_thresholds(protocol, threshold):
    with pytest.raises(ParameterError) as error:
        protocol(encoding=Words("ab", 3), epsilon=1.0, users=1000, threshold=threshold)
    assert str(error.value) == f"threshold must be above 0 and at most users = 1000, got {threshold!r}."


@pytest.mark.parametrize(
    ("bits", "text"), [(0, "at least 1, got 0"), (11, "at most 10, got 11"), (2.5, "a whole number, got 2.5")]
)
def test_bad_lengths_of_a_response(bits, text):
    with pytest.raises(ParameterError) as error:
        TreeHist(Words("ab", 3), epsilon=1.0, users=1000, symbol_bits=bits)
    assert str(error.value) == f"symbol_bits must be {text}."
