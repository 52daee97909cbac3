import math

import pyarrow as pa
import pytest

from hushcount.errors import ParameterError, PrivacyWarning
from hushcount.privacy import (
    EVENT,
    RESULT_ROW,
    Budget,
    Guarantee,
    check_confidence,
    check_count,
    check_max_events,
)


def refusal(call, *arguments):
    with pytest.raises(ParameterError) as caught:
        call(*arguments)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_budget():
    assert Budget(1, 1e-8) == Budget(1.0, 1e-8)
    assert isinstance(Budget(1, 1e-8).epsilon, float)


@pytest.mark.parametrize("value", [0, -1, -0.0, math.nan, math.inf, -math.inf, 10**400])
def test_epsilon(value):
    assert refusal(Budget, value, 1e-6) == f"epsilon must be a finite number above 0, got {value}."


def test_epsilon_of_another_kind():
    assert refusal(Budget, 20.5, 1e-6) == "epsilon above 20 protects nobody, got 20.5."
    assert refusal(Budget, True, 1e-6) == "epsilon must be a number, got True."
    assert refusal(Budget, "1", 1e-6) == "epsilon must be a number, got '1'."
    assert refusal(Budget, None, 1e-6) == "epsilon must be a number, got None."


@pytest.mark.parametrize("value", [0, -1e-9, 1, 1.0, 2, math.nan, math.inf])
def test_delta(value):
    assert refusal(Budget, 1.0, value) == f"delta must be strictly between 0 and 1, got {value}."


@pytest.mark.parametrize("value", [5e-324, 1e-301, 9.9e-281])
def test_a_delta_is_not_too_small_for_its_tails(value):
    assert refusal(Budget, 1.0, value) == f"delta must be 0 or at least 1e-280, got {value}."
    assert Budget(1.0, 1e-280).delta == 1e-280
    assert Budget.pure(1.0).delta == 0.0


def test_confidence():
    assert check_confidence(0.5) == 0.5
    for value in (0, 1, -1, math.nan, math.inf):
        assert refusal(check_confidence, value) == (
            f"confidence must be strictly between 0 and 1, got {value}."
        )


def test_count():
    assert check_count("counters", 2, 2) == 2
    assert refusal(check_count, "counters", 1, 2) == "counters must be at least 2, got 1."
    assert refusal(check_count, "counters", True) == "counters must be a whole number, got True."
    assert refusal(check_count, "counters", 2.0) == "counters must be a whole number, got 2.0."
    assert refusal(check_count, "counters", "2") == "counters must be a whole number, got '2'."
    assert refusal(check_count, "counters", math.nan) == "counters must be a whole number, got nan."


def test_max_events():
    assert check_max_events(None, 0.5) is None
    assert check_max_events(1000, 1e-4) == 1000
    text = "delta = 0.001 is not below 1 / max_events = 0.001: among so many, a single event may be"
    with pytest.warns(PrivacyWarning) as warned:
        assert check_max_events(1000, 0.001) == 1000
    assert [str(each.message) for each in warned] == [f"{text} published."]
    assert refusal(check_max_events, 0, 1e-6) == "max_events must be at least 1, got 0."


def test_guarantee():
    guarantee = Guarantee(1.0, 1e-8, EVENT, "floor release", "theorem", "proof.md", {"threshold": 17})
    assert guarantee.statement() == (
        "(1, 1e-08)-differential privacy for one event, not one person"
        " (neighbours: add or remove one event), by floor release."
    )
    assert guarantee.to_dict()["parameters"] == {"threshold": 17}
    with pytest.raises(TypeError):
        guarantee.parameters["threshold"] = 1  # type: ignore[index]
    assert RESULT_ROW.neighbours == "add or remove one row of the SQL result"


def test_budgets_that_protect_little_are_warned_of_or_refused():
    """delta = 0.1 published 434 keys that occur once, without a word."""
    import warnings

    import hushcount as hc
    from hushcount.errors import PrivacyWarning

    keys = ["tea"] * 500
    with pytest.raises(ParameterError) as refused:
        hc.top(keys, epsilon=1.0, delta=0.1)
    assert str(refused.value) == (
        "delta must be at most 0.01, got 0.1: keys that occur once would be published."
        " allow_large_delta=True takes it all the same."
    )
    with pytest.warns(PrivacyWarning, match=r"^delta = 0\.001 is large"):
        release = hc.top(keys, epsilon=1.0, delta=1e-3)
    assert any(note.startswith("delta = 0.001 is large") for note in release.notes)
    with pytest.warns(PrivacyWarning, match=r"^epsilon = 9 is large"):
        hc.top(keys, epsilon=9.0, delta=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        assert not any("is large" in note for note in hc.top(keys, epsilon=1.0, delta=1e-8).notes)
    with pytest.warns(PrivacyWarning):
        assert len(hc.top(keys, epsilon=1.0, delta=0.1, allow_large_delta=True)) == 1


def test_the_operator_alone_is_told_that_delta_is_not_far_below_one_over_rows():
    import hushcount as hc
    from hushcount.errors import PrivacyWarning

    with pytest.warns(PrivacyWarning, match=r"^delta is not far below 1 / number of events"):
        release = hc.top(["tea"] * 20_000, epsilon=1.0, delta=1e-5)
    assert not any("far below" in note for note in release.notes)


@pytest.mark.parametrize(("max_keys", "said"), [(1, "is"), (2, "may be")])
def test_for_users_delta_is_compared_with_their_number(max_keys, said):
    import hushcount as hc
    from hushcount.errors import PrivacyWarning

    rows = pa.table({"user": range(20_000), "key": ["tea"] * 20_000})
    sentence = f"^delta {said} not far below 1 / number of users, so the guarantee "
    with pytest.warns(PrivacyWarning, match=sentence):
        hc.top(rows, column="key", user="user", max_keys=max_keys, epsilon=1.0, delta=1e-5)


def test_a_budget_that_protects_little_is_warned_of_where_it_is_made():
    import hushcount as hc
    from hushcount.errors import PrivacyWarning

    with pytest.warns(PrivacyWarning, match=r"^delta = 0\.1 is large") as told:
        hc.Budget(1, 0.1)
    assert [each.filename for each in told] == [__file__]
    with pytest.warns(PrivacyWarning, match=r"^epsilon = 9 is large") as told:
        hc.Budget.pure(9)
    assert [each.filename for each in told] == [__file__]


def test_a_release_warns_once():
    import pyarrow as pa

    import hushcount as hc
    from hushcount.errors import PrivacyWarning

    with pytest.warns(PrivacyWarning) as told:
        hc.top(["tea"] * 50, epsilon=9, delta=0, domain=["tea"])
    assert len(told) == 1
    events = pa.table({"item": ["tea"] * 50, "who": list(range(50))})
    with pytest.warns(PrivacyWarning) as told:
        hc.top(events, column="item", user="who", max_keys=2, epsilon=1, delta=1e-4)
    assert len(told) == 1
