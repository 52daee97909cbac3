"""`hc.plan`: forwards, backwards, for users; nothing is read."""

import pytest

import hushcount as hc
from hushcount.errors import ParameterError
from hushcount.mechanisms.users import user_routes


def planned(**changed):
    return hc.plan(1_000_000, **{"epsilon": 1.0, "delta": 1e-8, "keys": "zipf:1.2:100000"} | changed)


def test_a_plan_says_what_to_expect():
    found = planned()
    assert (found.mechanism, found.counters, found.smallest_count, found.error) == ("floor", 131072, 25, 3)
    assert found.sentences[1:] == (
        "A key of 25 events is published with probability 0.95.",
        "A published count is within 3 of the truth with confidence 0.95.",
        "Mechanism floor: the default for events: one pass, memory bounded by the counters.",
    )
    assert str(found) == "\n".join(found.sentences)
    assert [each.epsilon for each in found.by_epsilon] == [0.125, 0.25, 0.5, 1, 2, 4, 8]
    keys = [each.expected_keys for each in found.by_epsilon]
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("wish", "holds"),
    [
        ({"want_count": 100}, lambda plan: plan.smallest_count <= 100),
        ({"want_keys": 1500}, lambda plan: plan.expected_keys >= 1500),
        ({"want_error": 10}, lambda plan: plan.error <= 10),
    ],
)
def test_backwards_it_finds_the_smallest_epsilon(wish, holds):
    found = planned(epsilon=None, **wish)
    assert holds(found)
    assert not holds(planned(epsilon=found.epsilon * 0.98))


def test_users_take_the_route_that_top_would_take():
    found = planned(max_keys=8, users=200_000)
    route = user_routes(1.0, 1e-8, 8, 131072, exact=True)[0]
    assert (found.mechanism, found.smallest_count - round(found.floor)) == (route.name, route.reliable)
    assert {8, 1, 100} <= {each.max_keys for each in found.by_max_keys}
    assert "when each user keeps 8 keys" in found.sentences[0]


def test_users_with_few_keys_keep_all_rows():
    assert planned(max_keys=8, users=10**6).floor == planned().floor
    assert planned(max_keys=1, users=10).expected_keys < planned(max_keys=1).expected_keys


def test_too_few_counters_are_named():
    assert "More counters would publish rarer keys" in planned(counters=100).sentences[-1]
    assert planned(counters=100).counters_needed > 100


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"epsilon": None},
            "epsilon must be given, or one of want_count, want_keys and want_error, for which it is found.",
        ),
        (
            {"want_keys": 5},
            "epsilon must be given, or one of want_count, want_keys and want_error, for which it is found.",
        ),
        ({"epsilon": 0.0}, None),
        (
            {"epsilon": None, "want_keys": 10**7},
            "No epsilon up to 20 gives that; ask for less, or expect more rows.",
        ),
        ({"users": 5}, "users tells how much max_keys leaves of them, so it needs max_keys."),
        ({"mechanism": "nothing"}, None),
        ({"counters": 1}, None),
    ],
)
def test_what_cannot_be_planned_is_refused(changed, message):
    with pytest.raises(ParameterError) as refused:
        planned(**changed)
    assert message is None or str(refused.value) == message


def test_a_plan_as_plain_values():
    plain = planned(max_keys=2).to_dict()
    assert {"expected_keys", "smallest_count", "error", "epsilon", "mechanism", "why", "counters"} <= set(
        plain
    )
    assert plain["by_max_keys"][0]["max_keys"] == 1


def test_a_public_domain_is_planned_with_delta_0():
    found = planned(delta=0, domain="1..1000000", counters=1024, keys="zipf:1.2:1000")
    assert (found.mechanism, found.why) == (
        "pure",
        "the default for a public domain: delta is 0, and every key of the domain gets noise",
    )
    assert found.expected_keys == 1023  # noise fills the table
    assert found.error == pytest.approx(1_000_000 / 1024, rel=0.02)
    bounded = planned(delta=0, domain="1..1000000", counters=1024, max_events=1_000_000, keys="zipf:1.2:1000")
    assert (bounded.mechanism, bounded.expected_keys) == ("pure-bounded", 1023)
