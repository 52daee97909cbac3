"""The aggregator: what it takes, what it refuses and counts, merging, saving, answering."""

import hashlib
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import DataError, ParameterError
from hushcount.ldp.client.client import Client
from hushcount.ldp.client.simulation import Items, respond_all
from hushcount.ldp.protocols.bitstogram.protocol import Bitstogram
from hushcount.ldp.protocols.tree_hist.protocol import TreeHist
from hushcount.ldp.server.aggregator import Aggregator
from hushcount.ldp.wire.encodings import Categories, Integers
from hushcount.ldp.wire.groups import ALL_SHARES, Group
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Prefix
from hushcount.sketches.exact import Exact

NEVER = 253_402_300_799
NAMES = ("tea", "milk", "salt", "bread")


def manifest(seed=1, expires=NEVER):
    group = Group("2", 3, (Prefix(2, 1, 2),), (ALL_SHARES,))
    given = ("tree_hist", Categories(NAMES), "2", (group,), 1000, expires, {"threshold": 100})
    return Manifest(*given, bytes([seed] * 32), version=1)


CAMPAIGN = manifest()


def report(nonce, item="tea", campaign=CAMPAIGN):
    return Client(campaign, nonce, bits=SeededBits(nonce)).report(item)


def none_refused():
    return dict.fromkeys(("length", "version", "campaign", "symbol", "expired", "duplicate"), 0)


def many(size, campaign=CAMPAIGN, seed=3):
    bits = SeededBits(seed)
    nonces = bits.words(size)
    items = Items.of(NAMES, campaign.encoding).take(np.minimum(np.arange(size) % 8, 3))
    return nonces, respond_all(campaign, nonces, items, bits)


def packed(nonces, symbols, campaign=CAMPAIGN):
    front = b"\x01" + campaign.campaign[:8]
    return b"".join(
        front + int(nonce).to_bytes(8, "little") + bytes((int(symbol),))
        for nonce, symbol in zip(nonces, symbols, strict=True)
    )


def same(left, right):
    found = [aggregator.collected().groups[0][0] for aggregator in (left, right)]
    return left.reports == right.reports and (found[0].tables == found[1].tables).all()


def test_bytes_lists_and_arrays_are_the_same():
    nonces, symbols = many(500)
    data = packed(nonces, symbols)
    reports = [data[i : i + 18] for i in range(0, len(data), 18)]
    first = Aggregator(CAMPAIGN).add((nonces, symbols))
    assert first.reports == 500
    assert first.refused == none_refused()
    for other in (data, bytearray(data), memoryview(data), reports, tuple(reports), iter(reports)):
        assert same(first, Aggregator(CAMPAIGN).add(other))
    parts = Aggregator(CAMPAIGN)
    for one in reports:
        parts.add(one)
    assert same(first, parts)


def test_every_reason_is_counted():
    good = report(1)
    aggregator = Aggregator(CAMPAIGN)
    aggregator.add(
        [
            good,
            good,
            good[:17],
            good + b"\0",
            b"",
            b"\x02" + good[1:],
            report(2, campaign=manifest(seed=2)),
            good[:9] + bytes(8) + b"\x08",
            good[:9] + bytes(8) + b"\x07",
        ]
    )
    assert aggregator.reports == 2
    assert aggregator.refused == {
        "length": 3, "version": 1, "campaign": 1, "symbol": 1, "expired": 0, "duplicate": 1,
    }  # fmt: skip


def test_packed_bytes_with_a_rest():
    aggregator = Aggregator(CAMPAIGN).add(report(1) + report(2)[:5])
    assert (aggregator.reports, aggregator.refused["length"]) == (1, 1)


def test_symbols_of_arrays_are_checked():
    nonces = np.arange(4, dtype=np.uint64)
    aggregator = Aggregator(CAMPAIGN).add((nonces, np.array([0, 7, 8, -1])))
    assert (aggregator.reports, aggregator.refused["symbol"]) == (2, 2)


def test_after_the_end_reports_are_refused():
    campaign = manifest(expires=1000)
    aggregator = Aggregator(campaign).add((np.arange(3, dtype=np.uint64), np.zeros(3, np.uint8)), now=999.9)
    aggregator.add((np.arange(5, 9, dtype=np.uint64), np.zeros(4, np.uint8)), now=1000)
    assert (aggregator.reports, aggregator.refused["expired"]) == (3, 4)


@pytest.mark.parametrize(
    ("reports", "text"),
    [
        (["tea"], "a report must be bytes, got str."),
        ([7], "a report must be bytes, got int."),
        (
            (np.arange(3), np.zeros(3, np.uint8)),
            "nonces must be an array of uint64 and symbols one of the same length.",
        ),
        (
            (np.arange(3, dtype=np.uint64), np.zeros(2, np.uint8)),
            "nonces must be an array of uint64 and symbols one of the same length.",
        ),
        (
            (np.arange(3, dtype=np.uint64), np.zeros(3)),
            "symbols must be an array of integers, got float64.",
        ),
    ],
)
def test_what_is_no_report(reports, text):
    with pytest.raises(ParameterError) as caught:
        Aggregator(CAMPAIGN).add(reports)
    assert str(caught.value) == text


def test_a_duplicate_keeps_the_first_report():
    one = Aggregator(CAMPAIGN).add((np.array([5, 5], np.uint64), np.array([1, 2], np.uint8)))
    assert same(one, Aggregator(CAMPAIGN).add((np.array([5], np.uint64), np.array([1], np.uint8))))


def test_merge_counts_a_nonce_once():
    nonces, symbols = many(300)
    left = Aggregator(CAMPAIGN).add((nonces[:200], symbols[:200]))
    right = Aggregator(CAMPAIGN).add((nonces[100:], symbols[100:])).add(b"x")
    merged = left.merge(right)
    assert same(merged, Aggregator(CAMPAIGN).add((nonces, symbols)))
    assert merged.refused == {**none_refused(), "duplicate": 100, "length": 1}
    assert (left.reports, right.reports) == (200, 200)
    assert same(merged, left.merge(right).merge(Aggregator(CAMPAIGN)))


def test_merge_needs_one_campaign():
    other = manifest(seed=2)
    with pytest.raises(ParameterError) as caught:
        Aggregator(CAMPAIGN).merge(Aggregator(other))
    assert (
        str(caught.value)
        == f"aggregators must be of the same campaign, got {CAMPAIGN.id[:16]} and {other.id[:16]}."
    )


def test_save_and_load(tmp_path):
    path = tmp_path / "reports.ldp"
    aggregator = Aggregator(CAMPAIGN).add(many(400)).add(b"??")
    aggregator.save(path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    loaded = Aggregator.load(path)
    assert same(aggregator, loaded)
    assert loaded.refused == aggregator.refused
    assert loaded.manifest == CAMPAIGN
    assert loaded.to_bytes() == aggregator.to_bytes()
    assert loaded.add(many(400)).refused["duplicate"] == 400


def test_an_expired_campaign_still_loads_and_merges():
    campaign = manifest(expires=1000)
    aggregator = Aggregator(campaign).add(many(10, campaign), now=10)
    assert Aggregator.load(aggregator.to_bytes()).merge(Aggregator(campaign)).reports == 10


def signed(body):
    return body + hashlib.sha256(body).digest()


PARTS = "The aggregator is damaged: its contents contradict each other."
CHECKSUM = "The aggregator is damaged: its contents do not match its checksum."
MISFIT = "the aggregator is damaged: its reports cannot belong to its manifest."
FOREIGN = "The aggregator is not a hushcount aggregator."
DAMAGES = {
    "empty": (lambda good: b"", FOREIGN),
    "a sketch": (lambda good: Exact().to_bytes(), FOREIGN),
    "another version": (
        lambda good: good[:8] + b"\x02\0\0\0" + good[12:],
        "The aggregator was written by a newer hushcount (format 2, this one reads up to 1).",
    ),
    "cut": (lambda good: good[:-1], CHECKSUM),
    "changed": (lambda good: good[:100] + b"!" + good[101:], CHECKSUM),
    "longer": (lambda good: signed(good[:-32] + b"\0"), PARTS),
    "shorter": (lambda good: signed(good[:-33]), PARTS),
    "long header": (lambda good: signed(good[:12] + b"\xff\xff\xff\x7f" + good[16:-32]), PARTS),
    "negative": (lambda good: signed(good[:-32].replace(b'"length": 0', b'"length":-1')), PARTS),
    "unknown reason": (lambda good: signed(good[:-32].replace(b'"length": 0', b'"height": 0')), PARTS),
    "edited manifest": (
        lambda good: signed(good[:-32].replace(b"milk", b"silk")),
        "The aggregator holds a manifest that is refused:"
        " the id is not that of this manifest, which was edited or damaged.",
    ),
    "a nonce twice": (lambda good: signed(good[:-212] + good[-212:-204] * 2 + good[-196:-32]), MISFIT),
    "a large symbol": (lambda good: signed(good[:-33] + b"\x09"), MISFIT),
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_what_is_damaged_is_refused(damage):
    change, text = DAMAGES[damage]
    good = Aggregator(CAMPAIGN).add(many(20)).to_bytes()
    with pytest.raises(DataError) as caught:
        Aggregator.load(change(good))
    assert str(caught.value) == text


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError) as caught:
        Aggregator.load(tmp_path / "none")
    assert str(caught.value) == f"{tmp_path / 'none'} does not exist."


def test_no_report_no_answer():
    aggregator = Aggregator(CAMPAIGN).add(b"nothing")
    with pytest.raises(DataError) as caught:
        aggregator.heavy_hitters()
    assert str(caught.value) == (
        "No report belongs to this campaign, so nothing can be estimated."
        " Check that the clients used the same manifest."
    )


@pytest.mark.parametrize("threshold", [0, -1, float("nan"), float("inf"), True, "5"])
def test_thresholds(threshold):
    with pytest.raises(ParameterError) as caught:
        Aggregator(CAMPAIGN).add(many(10)).heavy_hitters(threshold)
    assert str(caught.value) == f"threshold must be a finite number above 0, got {threshold!r}."


def test_the_answer():
    release = Aggregator(CAMPAIGN).add(many(8000)).heavy_hitters(1500)
    assert release.table["key"].to_pylist() == ["bread"]
    count, lower, upper = (release.table[name][0].as_py() for name in ("count", "lower", "upper"))
    assert lower < 5000 < upper
    assert lower < count < upper
    assert release.floor == 1500
    assert (release.guarantee.epsilon, release.guarantee.delta) == (2.0, 0.0)
    assert release.guarantee.unit.neighbours == "any two items of one user, or an item and none"
    assert release.guarantee.parameters["reports"] == 8000
    accuracy = release.accuracy(0.95)
    assert "biased upward" in accuracy.sentences[-2]
    assert f"at least {accuracy.published_from:,} users hold would have been found" in accuracy.sentences[-1]
    assert accuracy.below == accuracy.above
    assert accuracy.simultaneous_below == accuracy.below
    assert upper - lower <= 2 * accuracy.below + 2


def test_tables_widen_before_they_overflow():
    aggregator = Aggregator(CAMPAIGN).add(many(100))
    group = aggregator._groups[0]
    group._reports[0] += (1 << 31) // 7
    before = group._cells.copy()
    group.add(np.empty(0, np.uint64), np.empty(0, np.uint8))
    assert group._cells.dtype == np.int32
    group.add(*many(1, seed=9))
    assert group._cells.dtype == np.int64
    assert np.abs(group._cells - before).sum() == 7


def test_an_array_may_be_used_again_by_whoever_added_it():
    nonces, symbols = np.arange(5, dtype=np.uint64), np.ones(5, np.uint8)
    aggregator = Aggregator(CAMPAIGN).add((nonces, symbols))
    before = aggregator.to_bytes()
    nonces += 5
    symbols[:] = 0
    aggregator.add((nonces, symbols))
    assert Aggregator.load(aggregator.to_bytes()).reports == 10
    assert before[-37:-32] == bytes([1] * 5)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_pair_of_reports_is_no_pair_of_arrays(kind):
    assert Aggregator(CAMPAIGN).add((kind(report(1)), kind(report(2)))).reports == 2


def test_a_view_of_other_items_than_bytes_is_read_as_bytes():
    packed = np.frombuffer(report(1) + report(2), "<u2")
    assert Aggregator(CAMPAIGN).add(memoryview(packed)).reports == 2


@pytest.mark.parametrize("parameters", [{}, {"threshold": "many"}, {"threshold": 0}])
def test_a_manifest_without_a_threshold_is_refused_when_it_is_needed(parameters):
    fields = CAMPAIGN
    made = Manifest(fields.protocol, fields.encoding, fields.epsilon, fields.groups, 1000, NEVER, parameters)
    aggregator = Aggregator(made).add([Client(made, 1).report("tea")])
    with pytest.raises(DataError) as error:
        aggregator.heavy_hitters()
    assert str(error.value) == "the parameters of the manifest must have a threshold of at least 1."
    assert len(aggregator.heavy_hitters(10**400)) == 0


@pytest.mark.parametrize(
    ("width", "kind"), [(1, "int64"), (63, "int64"), (64, "uint64"), (65, "string"), (128, "string")]
)
@pytest.mark.parametrize("protocol", [TreeHist, Bitstogram])
def test_integers_of_any_width_are_published(protocol, width, kind):
    made = protocol(encoding=Integers(width), epsilon=8.0, users=2000, threshold=500)
    top = (1 << width) - 1
    items = Items.of([top, 0] * 1000, made.manifest.encoding)
    nonces = np.arange(2000, dtype=np.uint64)
    symbols = respond_all(made.manifest, nonces, items, SeededBits(5))
    keys = made.aggregator().add((nonces, symbols)).heavy_hitters().table["key"]
    assert keys.type == kind
    assert sorted(map(int, keys.to_pylist())) == [0, top]


def test_a_file_of_an_earlier_version_still_loads():
    old = Aggregator.load(Path(__file__).parents[3] / "vectors" / "files" / "ldp_aggregator_1.hc")
    assert (old.reports, old.refused["length"], old.manifest.id[:16]) == (400, 1, "1e6fe1276186078f")
    assert old.heavy_hitters().table.to_pydict() == {
        "key": ["bread"], "count": [275], "lower": [229], "upper": [321],
    }  # fmt: skip
