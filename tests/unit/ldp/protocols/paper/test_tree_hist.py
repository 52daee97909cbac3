"""TreeHistPaper: its manifest, estimates as in Algorithm 2, pruning, and what the proof requires."""

from dataclasses import replace

import numpy as np
import pytest
from tests.ldp_population import answered
from tests.unit.ldp.protocols.paper.paper_cases import COUNTS, EXPIRES, HEAVY, USERS, WORDS, by_key, inside

from hushcount import ldp
from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.client.client import assigned
from hushcount.ldp.protocols.paper import decode
from hushcount.ldp.protocols.paper.constants import TreeConstants, tree_proof
from hushcount.ldp.protocols.paper.medians import MedianOracle
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Prefix


def protocol(**more):
    return ldp.TreeHistPaper(WORDS, epsilon=6, users=USERS, rows=5, expires=EXPIRES, **more)


def test_manifest_by_default():
    manifest = ldp.TreeHistPaper(WORDS, epsilon=2, users=10_000_000).manifest
    first, second = manifest.groups
    assert manifest.protocol == "tree_hist_paper"
    assert first.questions == tuple(Prefix(bits, 285, min(bits, 12), 1) for bits in range(1, 31))
    assert second.questions == (Prefix(30, 285, 12, 1),)
    assert [(group.epsilon, group.symbol_bits) for group in manifest.groups] == [("1", 1), ("1", 1)]
    assert manifest.parameters == {"threshold": 47435}
    assert Manifest.parse(manifest.to_json()) == manifest


def test_a_report_is_two_bits():
    campaign = protocol()
    symbols = {campaign.client(nonce).report("tea", now=0)[-1] for nonce in range(60)}
    assert symbols == {0, 1, 2, 3}


def test_the_estimate_is_that_of_algorithm_2():
    """gamma a_epsilon times the sum over users of the row of y_i s W[r_i, c], one group and level."""
    campaign = ldp.TreeHistPaper(ldp.Integers(4), epsilon=2, users=80, rows=3, cell_bits=2)
    manifest = campaign.manifest
    nonces = [number.to_bytes(8, "little") for number in range(80)]
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
            rows[question.row] += (-1) ** (report[-1] & 1) * sign
    a = (np.e + 1) / (np.e - 1)
    assert np.isclose(oracle.estimate([value])[0], 3 * 4 * a * np.median(rows))


def test_heavy_hitters():
    release = answered(protocol().manifest, COUNTS, 2).heavy_hitters()
    assert set(by_key(release)) == set(HEAVY)
    assert inside(release, COUNTS) == len(release)
    assert release.guarantee.epsilon == 6
    assert release.guarantee.mechanism == "tree_hist_paper"


def test_the_list_of_the_paper_has_no_second_threshold():
    """What passes all levels is published whatever its final estimate, if `published` says so."""
    counts = {341: 3000, 682: 2500} | dict.fromkeys(range(0, 1000, 20), 30)
    asked_for = {"epsilon": 4, "users": 7000, "rows": 5, "threshold": 600, "expires": EXPIRES}
    strict = ldp.TreeHistPaper(ldp.Integers(10), **asked_for).manifest
    whole = ldp.TreeHistPaper(ldp.Integers(10), published=1, **asked_for).manifest
    assert whole.parameters == {"threshold": 600, "published": 1}
    few, more = (answered(manifest, counts, 7).heavy_hitters() for manifest in (strict, whole))
    assert set(by_key(few)) == {341, 682} < set(by_key(more))
    assert min(few.counts.to_pylist()) >= 600 > min(more.counts.to_pylist())


def test_a_threshold_of_the_call_holds_for_both():
    aggregator = answered(protocol(threshold=10**9).manifest, COUNTS, 2)
    assert len(aggregator.heavy_hitters()) == 0
    assert set(by_key(aggregator.heavy_hitters(3000))) == set(HEAVY)


def test_prefixes_are_kept_up_to_a_number(monkeypatch):
    monkeypatch.setattr(decode, "MOST_PREFIXES", 2)
    found = by_key(answered(protocol().manifest, COUNTS, 2).heavy_hitters(1e-9))
    assert len(found) <= 2


def test_merged_and_loaded():
    campaign = ldp.TreeHistPaper(ldp.Integers(8), epsilon=4, users=400, rows=3, expires=EXPIRES)
    reports = [campaign.client(nonce).report(nonce % 3 * 50, now=0) for nonce in range(400)]
    halves = [campaign.aggregator().add(reports[start::2], now=0) for start in (0, 1)]
    whole = campaign.aggregator().add(reports, now=0)
    merged = ldp.Aggregator.load(halves[0].merge(halves[1]).to_bytes())
    assert merged.reports == 400
    assert by_key(merged.heavy_hitters(60)) == by_key(whole.heavy_hitters(60))


def test_the_proof_at_ten_million_exceeds_all_users():
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


def test_other_questions_are_refused():
    manifest = protocol().manifest
    wrong = replace(manifest, groups=manifest.groups[::-1])
    with pytest.raises(ManifestError) as error:
        answered(wrong, {"tea": 10}, 1).heavy_hitters()
    assert str(error.value) == "the questions must be such as tree_hist_paper asks."


@pytest.mark.parametrize("published", [0, -5, float("nan"), True])
def test_published(published):
    with pytest.raises(ParameterError) as error:
        protocol(published=published)
    assert str(error.value) == f"published must be above 0 and at most 9007199254740991, got {published!r}."
