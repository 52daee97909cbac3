"""SuccinctHist: its manifest, bits against an obvious twin, heavy items found and counted."""

from dataclasses import replace

import pytest
from tests.ldp_population import answered
from tests.unit.ldp.protocols.paper.paper_cases import COUNTS, EXPIRES, HEAVY, USERS, WORDS, by_key, inside

from hushcount import ldp
from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.protocols.paper.campaign import epsilon_part
from hushcount.ldp.protocols.paper.constants import succinct_proof
from hushcount.ldp.protocols.paper.decode import decode_bits
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Chunk, Prefix


def protocol(**more):
    return ldp.SuccinctHist(WORDS, epsilon=6, users=USERS, expires=EXPIRES, **more)


def test_manifest():
    manifest = protocol().manifest
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


def test_heavy_hitters():
    release = answered(protocol(bucket_bits=7).manifest, COUNTS, 2).heavy_hitters()
    assert set(by_key(release)) == set(HEAVY)
    assert inside(release, COUNTS) == len(release)
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


def test_other_questions_are_refused():
    manifest = protocol().manifest
    wrong = replace(manifest, groups=manifest.groups[:1])
    with pytest.raises(ManifestError) as error:
        answered(wrong, {"tea": 10}, 1).heavy_hitters()
    assert str(error.value) == "the questions must be such as succinct_hist asks."
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
        protocol(bucket_bits=bits)
