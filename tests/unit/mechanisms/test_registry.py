"""Budgets and public numbers are checked before the first row is read, in the words of the caller."""

from __future__ import annotations

import pytest

import hushcount as hc
from hushcount.errors import ParameterError
from hushcount.keys.domains import as_domain
from hushcount.mechanisms.registry import MECHANISMS, prepare
from hushcount.privacy import USER, Budget, PrivacyUnit
from hushcount.shapes import Public

TINY = 1e-8
MANY_ROWS = PrivacyUnit(USER.name, USER.protects, rows=1000)


def refusal(call, *arguments, **options):
    with pytest.raises(ParameterError) as error:
        call(*arguments, **options)
    return str(error.value)


@pytest.mark.parametrize("delta", [5e-324, 1e-301, 9e-281])
@pytest.mark.parametrize(
    ("job", "options"),
    [
        (hc.top, {}),
        (hc.top, {"mechanism": "pmg"}),
        (hc.top, {"mechanism": "dpss", "max_events": 10}),
        (hc.top, {"mechanism": "truncated-geometric"}),
        (hc.tree, {"hierarchy": "ipv4/8", "threshold": 1000}),
        (hc.tree, {"hierarchy": "ipv4/8", "threshold": 1000, "method": "streaming"}),
        (hc.sample, {"rate": 0.1}),
        (hc.oracle, {"kind": "count-sketch"}),
    ],
)
def test_every_job_refuses_a_delta_that_is_too_small(job, options, delta):
    assert refusal(job, [1, 2, 3], epsilon=1.0, delta=delta, **options) == (
        f"delta must be 0 or at least 1e-280, got {delta}."
    )


@pytest.mark.parametrize(
    ("name", "public", "text"),
    [
        ("chan", Public(candidates=1000, parts=1001), "1e-06 for 1000 counters"),
        ("laplace", Public(moved=100, unit=USER), "1e-07 for 100 counts that change together"),
        (
            "pure",
            Public(candidates=64, parts=65, domain=as_domain(range(10))),
            "1.27e-07 for 127 units of 64 counters",
        ),
        ("floor", Public(candidates=64, parts=65, unit=MANY_ROWS), "1e-06 for 1000 rows"),
    ],
)
def test_an_epsilon_that_is_too_small_is_shown_as_it_was_given(name, public, text):
    budget = Budget.pure(TINY) if name == "pure" else Budget(TINY, 1e-6)
    assert refusal(prepare, name, budget, public) == f"epsilon must be at least {text}, got 1e-08."


def test_an_oracle_shows_epsilon_as_it_was_given():
    assert refusal(hc.oracle, ["a"], epsilon=TINY, delta=0, kind="count-min", depth=50) == (
        "epsilon must be at least 5e-08 for 50 units of the cells of one event, got 1e-08."
    )


def test_the_rows_of_a_user_share_delta():
    assert refusal(
        prepare, "floor", Budget(1.0, 1e-280), Public(candidates=64, parts=65, unit=MANY_ROWS)
    ).startswith("delta must be at least 1.72e-277 for 1000 rows, got 1e-280.")


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_every_mechanism_states_what_it_is_for(name):
    mechanism = MECHANISMS[name]
    assert mechanism.name == name
    assert mechanism.accepts
    for line in ("Theorem:", "Neighbours:", "Assumes:", "Parameters:", "Proof:", "Checked by:"):
        assert line in (mechanism.__doc__ or ""), line
