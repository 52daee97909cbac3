"""Shares of all events: how many counters they need, exactly, and refusals (whole texts)."""

import numpy as np
import pytest

import hushcount as hc
from hushcount.errors import ParameterError, PrivacyWarning
from hushcount.jobs.settings import ReleaseSettings
from hushcount.jobs.trust.share import plan_share, share_counters
from hushcount.mechanisms.thresholds import floor_threshold
from hushcount.noise.laplace import DiscreteLaplace

KEYS = ["tea"] * 3_000 + ["milk"] * 1_500 + [f"rare {index}" for index in range(500)]
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def published(epsilon, delta, height):
    """P[a key so far above the floor is published], by summing both noises."""
    noise, span = DiscreteLaplace(epsilon), np.arange(-400, 401)
    above = floor_threshold(epsilon, delta) - height
    return float(np.sum(noise.pmf(span) * noise.tail(above + span)))


def test_the_worked_example_of_the_paper_needs_513_counters():
    """Holland 2025, Section 4.2: 2^28 events, k = 512, epsilon .1, delta .001."""
    settings = ReleaseSettings(epsilon=0.1, delta=1e-3, max_events=1 << 28)
    found = plan_share(settings, 1 / 512, 1 << 28)
    assert (found.count, found.needed, found.counters) == (524_289, 513, 4_096)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-3)])
@pytest.mark.parametrize(("share", "events"), [(0.01, 10**5), (0.3, 4_000)])
def test_the_counters_needed_are_the_fewest(epsilon, delta, share, events):
    settings = ReleaseSettings(epsilon=epsilon, delta=delta, max_events=events)
    found = plan_share(settings, share, events)
    chances = [
        published(epsilon, delta, found.count - events // counters)
        for counters in (found.needed, found.needed - 1)
    ]
    assert chances[0] >= 0.975 > chances[1]


def test_a_noisy_total_takes_eight_counters_for_each_key_with_the_share():
    settings = ReleaseSettings(**BUDGET, other=True, share=0.001)
    assert share_counters(settings, 0.001) == 8_000


@pytest.mark.parametrize("mechanism", ["pmg", "pmg-standard", "chan", "dpss", "public-floor"])
def test_every_table_of_counters_has_a_plan(mechanism):
    settings = ReleaseSettings(**BUDGET, mechanism=mechanism, max_events=10**6)
    found = plan_share(settings, 0.01, 10**6)
    assert 100 <= found.needed <= 200 or mechanism == "chan"
    assert found.counters >= found.needed


def test_envelopes_take_a_multiple():
    settings = ReleaseSettings(**BUDGET, mechanism="count-min-envelope", max_events=10**5)
    found = plan_share(settings, 0.2, 10**5)
    assert found.needed in {5 * 2**times for times in range(20)}


def test_top_takes_the_counters_of_its_plan_and_says_what_is_shown():
    release = hc.top(KEYS, share=0.25, max_events=5_000, **BUDGET)
    assert release.table["key"].to_pylist() == ["tea", "milk"]
    assert release.guarantee.parameters["candidates"] == 31
    assert release.notes[-1] == (
        "Shown are noisy counts of at least 1,248. A key with more than a share of 0.25 of max_events, 1,251"
        " events or more, is shown with probability 0.95."
    )
    assert (release.whole, hc.verify(release.to_json().encode()).holds) == (False, True)
    assert hc.top(KEYS, share=0.5, max_events=5_000, **BUDGET).table["key"].to_pylist() == ["tea"]


def test_a_share_of_a_noisy_total():
    release = hc.top(KEYS, share=0.25, other=True, **BUDGET)
    assert release.table["key"].to_pylist() == ["tea", "milk"]
    assert "of all events" in release.notes[-1]
    assert hc.verify(release.to_json().encode()).holds
    exact = hc.top(KEYS, share=0.5, other=True, exact=True, **BUDGET)
    assert exact.table["key"].to_pylist() == ["tea"]


def test_too_few_counters_are_said():
    keys = [f"rare {index}" for index in range(2_000)] + ["tea"] * 1_000
    release = hc.top(keys, share=0.3, max_events=3_000, counters=2, **BUDGET)
    assert "may be missing, of which " in release.notes[-1]


def test_a_delta_of_a_thousandth_works_with_its_warnings():
    with pytest.warns(PrivacyWarning, match=r"delta = 0.001 is not below 1 / max_events"):
        release = hc.top(KEYS, share=0.25, max_events=5_000, epsilon=1.0, delta=1e-3)
    assert release.table["key"].to_pylist() == ["tea", "milk"]
    for mechanism in ("count-min-envelope", "count-sketch-envelope", "measured-envelope"):
        found = hc.top(
            ["tea"] * 30_000, mechanism=mechanism, counters=8, max_events=30_000, epsilon=1.0, delta=1e-3
        )
        assert found.table["key"].to_pylist() == ["tea"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"share": 0, "max_events": 9}, "share must be strictly between 0 and 1, got 0."),
        ({"share": 1, "max_events": 9}, "share must be strictly between 0 and 1, got 1."),
        ({"share": float("nan"), "max_events": 9}, "share must be strictly between 0 and 1, got nan."),
        ({"share": True, "max_events": 9}, "share must be a number, got True."),
        ({"share": "1%", "max_events": 9}, "share must be a number, got '1%'."),
        (
            {"share": 0.1},
            "share needs max_events, the public bound it is a share of, or other, a noisy total that is paid"
            " for.",
        ),
        (
            {"share": 0.1, "other": True, "mechanism": "pmg"},
            "share needs max_events here: without it nothing bounds what the sketch leaves out of a count.",
        ),
        (
            {"share": 1e-3, "max_events": 10_000},
            "share must be larger at this budget, got 0.001: it is 11 of 10,000 events, and only"
            " keys with at least 21 events are published reliably.",
        ),
        (
            {"share": 0.1, "max_events": 10_000, "user": "who", "max_keys": 1},
            "share cannot be combined with user: a user may have several keys, so keys have no shares of all"
            " users; give min_count, a number of users.",
        ),
    ],
)
def test_bad_input_is_refused(options, text):
    with pytest.raises(ParameterError) as refused:
        hc.top(KEYS, **BUDGET, **options)
    assert str(refused.value) == text


def test_plans_of_a_share():
    found = hc.plan(1_000_000, share=0.001, **BUDGET)
    assert (found.counters, found.share.needed) == (8_000, 1_020)
    assert found.sentences[-1] == (
        "A key with a share above 0.001, 1,001 events or more, needs 1,020 counters; top takes 8,000, so that"
        " a count is too high by at most an eighth of the share."
    )
    assert found.to_dict()["share"] == {
        "share": 0.001,
        "count": 1_001,
        "needed": 1_020,
        "counters": 8_000,
    }
    assert hc.plan(1_000_000, share=0.001, counters=2_000, **BUDGET).counters == 2_000
    with pytest.raises(ParameterError) as refused:
        hc.plan(1_000, share=2, **BUDGET)
    assert str(refused.value) == "share must be strictly between 0 and 1, got 2."
