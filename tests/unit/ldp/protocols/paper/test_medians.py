"""ExplicitHist: its manifest, a client by hand, all items asked about, items named beforehand."""

import math

import numpy as np
import pytest
from tests.ldp_population import answered
from tests.unit.ldp.protocols.paper.paper_cases import EXPIRES, by_key, inside

from hushcount import ldp
from hushcount.errors import DataError, ManifestError, ParameterError
from hushcount.ldp.client.client import assigned
from hushcount.ldp.protocols.paper.medians import median_variance, whole_items
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Prefix

NAMES = ("tea", "milk", "salt", "bread", "rice")
COUNTS = {"tea": 6000, "milk": 3000, "salt": 500, "bread": 500}


def protocol(**more):
    return ldp.ExplicitHist(ldp.Categories(NAMES), epsilon=1, users=10_000, expires=EXPIRES, **more)


def test_manifest():
    manifest = protocol().manifest
    assert manifest.protocol == "explicit_hist"
    assert [list(group.questions) for group in manifest.groups] == [[Prefix(3, 1, 3)]]
    assert [(group.epsilon, group.symbol_bits) for group in manifest.groups] == [("1", 1)]
    assert manifest.parameters == {"threshold": 1500}  # 15 sqrt(10000)
    assert Manifest.parse(manifest.to_json()) == manifest


def test_the_estimate_is_the_sum_that_the_paper_writes():
    """a(v) = (e^epsilon + 1) / (e^epsilon - 1) times the sum of y_j Z[v, j], Z[v, j] = (-1)^(r_j . v)."""
    campaign = protocol()
    manifest = campaign.manifest
    nonces = [number.to_bytes(16, "little") for number in range(60)]
    items = [NAMES[number % 3] for number in range(60)]
    reports = [campaign.client(nonce).report(item, now=0) for nonce, item in zip(nonces, items, strict=True)]
    total = 0
    for nonce, report in zip(nonces, reports, strict=True):
        (mask,) = assigned(manifest, nonce, 0).masks
        total += (-1) ** report[-2] * (-1) ** (mask & 1).bit_count()  # v = 1, milk
    aggregator = campaign.aggregator().add(reports, now=0)
    estimate = whole_items(aggregator.collected()).estimate([1])[0]
    assert math.isclose(estimate, (math.e + 1) / (math.e - 1) * total)


def test_heavy_hitters_and_intervals():
    """Milk lies seven standard deviations above the threshold, salt five below it."""
    release = answered(protocol().manifest, COUNTS, 1).heavy_hitters()
    assert list(by_key(release)) == ["tea", "milk"]
    assert inside(release.at_confidence(1 - 1e-9), COUNTS) == 2
    assert release.guarantee.epsilon == 1
    assert release.guarantee.mechanism == "explicit_hist"
    assert release.floor == 1500
    sigma = math.sqrt(10_000 / math.tanh(0.5) ** 2 - 6000)
    row = release.table.to_pylist()[0]
    assert math.isclose(row["upper"] - row["count"], 1.96 * sigma, rel_tol=0.02)


def test_values_that_encode_nothing_are_not_published():
    release = answered(protocol().manifest, COUNTS, 1).heavy_hitters(0.001)
    assert set(by_key(release)) <= set(NAMES)
    assert by_key(release)["tea"] > 5000


def test_frequencies():
    aggregator = answered(protocol().manifest, COUNTS, 2)
    found = ldp.frequencies(aggregator, NAMES)
    truth = np.array([COUNTS.get(name, 0) for name in NAMES])
    assert (np.abs(found.estimates - truth) < 4 * found.deviations).all()
    assert np.allclose(found.deviations[4], math.sqrt(10_000) / math.tanh(0.5), rtol=0.02)
    assert len(ldp.frequencies(aggregator, []).estimates) == 0


def test_frequencies_of_an_item_that_does_not_fit():
    with pytest.raises(ParameterError) as error:
        ldp.frequencies(answered(protocol().manifest, {"tea": 3}, 1), ["coffee"])
    assert str(error.value) == "every item must be one that the campaign's encoding can encode."


def test_wide_items_are_refused():
    with pytest.raises(ParameterError) as error:
        ldp.ExplicitHist(ldp.Bytes(3), epsilon=1, users=1000)
    assert str(error.value) == "ExplicitHist takes items of at most 24 bits, got 27; use Hashtogram."


@pytest.mark.parametrize("threshold", [0, -1, math.nan, math.inf, True, "7"])
def test_thresholds(threshold):
    with pytest.raises(ParameterError) as error:
        protocol(threshold=threshold)
    assert str(error.value) == f"threshold must be above 0 and at most 9007199254740991, got {threshold!r}."


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf])
def test_epsilon(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        ldp.ExplicitHist(ldp.Integers(3), epsilon=epsilon, users=1000)


def test_no_reports():
    with pytest.raises(DataError) as error:
        protocol().aggregator().heavy_hitters()
    assert str(error.value) == (
        "No report belongs to this campaign, so nothing can be estimated."
        " Check that the clients used the same manifest."
    )


def test_other_questions_are_refused():
    group = Group("1", 1, (Prefix(2, 1, 2),), (1 << 32,))
    manifest = Manifest("explicit_hist", ldp.Integers(3), "1", (group,), 10, EXPIRES, {"threshold": 1})
    with pytest.raises(ManifestError) as error:
        answered(manifest, {1: 10}, 1).heavy_hitters()
    assert str(error.value) == "the questions must be those that explicit_hist asks."


@pytest.mark.parametrize("rows", [3, 5, 9, 285])
def test_variance_of_a_median(rows):
    """Against the second moments of drawn medians, and the known 0.44867 of three."""
    drawn = np.median(np.random.default_rng(rows).standard_normal((rows, 20_000)), axis=0)
    assert math.isclose(median_variance(rows), drawn.var(), rel_tol=0.04)
    assert math.isclose(median_variance(3), 0.448671, rel_tol=1e-5)
