import pytest

from hushcount.errors import ParameterError
from hushcount.privacy import EVENT, LOCAL_USER, Guarantee
from hushcount.releases.stored.guarantees import guarantee_from, guarantee_plain

PARAMETERS = {"threshold": 22, "max_events": 2**60, "sigma": 4.25, "scheme": "1"}
GUARANTEE = Guarantee(0.1, 1e-8, EVENT, "floor release", "T.", "docs/p.md", PARAMETERS, ("a", "b"))


def test_budgets_are_exact_texts():
    plain = guarantee_plain(GUARANTEE)
    assert (plain["epsilon"], plain["delta"]) == ("0.1", "1e-08")
    assert plain["parameters"] == {
        "threshold": 22,
        "max_events": {"whole": "1152921504606846976"},
        "sigma": {"number": "4.25"},
        "scheme": "1",
    }
    assert guarantee_from(plain) == GUARANTEE


def test_neighbours_that_do_not_arise_by_one_more_are_kept():
    local = Guarantee(2.0, 0.0, LOCAL_USER, "tree-hist", "T.", "docs/p.md")
    assert guarantee_from(guarantee_plain(local)).unit == LOCAL_USER


def test_earlier_guarantees_have_floating_point_numbers():
    assert guarantee_from(GUARANTEE.to_dict(), exact=False) == GUARANTEE


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0.1},
        {"epsilon": "0"},
        {"epsilon": "21"},
        {"delta": "1"},
        {"delta": "-1"},
        {"assumptions": "a"},
        {"parameters": []},
        {"parameters": {"a": None}},
        {"parameters": {"a": {"number": "1", "whole": 1}}},
        {"more": 1},
    ],
)
def test_what_no_release_can_promise_is_refused(change):
    with pytest.raises((ValueError, ParameterError)):
        guarantee_from(guarantee_plain(GUARANTEE) | change)
