"""The sentences of a report: true, whole, and the same for any data."""

from dataclasses import replace

import pytest
from tests.releases import GUARANTEE, release_of
from tests.unit.releases.tree_example import tree

import hushcount as hc
from hushcount.privacy import LOCAL_USER, USER
from hushcount.releases.accuracy import Counted
from hushcount.releases.views import report_words as words

ROWS = [("tea", 900), ("milk", 300)]


def by(**changes):
    """A release whose guarantee is changed."""
    release = release_of(ROWS)
    return replace(release, guarantee=replace(release.guarantee, **changes))


def test_the_paragraph_of_a_table_of_events():
    assert " ".join(words.promise(release_of(ROWS))) == (
        "This page shows the entries (called keys) that occur often in the data, with counts that random"
        " noise has blurred on purpose. The noise is calibrated so that any one event has only a limited"
        " influence on what is shown: with or without that event, the probability of any outcome is at most"
        " 2.72 times the other, plus at most 1 in 100 million. The unit of protection is one event, not"
        " one person: a person who has several in the data is protected less, the more they have."
        " Differential privacy limits how much can be learnt about any one event; it does not make it"
        " impossible to learn something, and what is true of many remains visible."
    )


def test_numbers_stand_for_the_names_of_parameters():
    assumptions = ("one unit changes at most `moved` counts", "a weight of at most max_weight", "a moved key")
    promise = by(assumptions=assumptions, parameters={"moved": 4, "max_weight": 2}).guarantee
    assert promise.assumed == (
        "one unit changes at most 4 counts",
        "a weight of at most 2",
        "a moved key",
    )


def test_users_trees_and_reports():
    assert "one user, with everything that the data contain of them." in " ".join(
        words.promise(by(unit=USER))
    )
    assert words.promise(tree())[0].startswith("This page shows the groups (called nodes)")
    local = words.promise(by(unit=LOCAL_USER, delta=0.0))
    assert local[0].endswith("so the collector received randomised answers only.")
    assert local[1] == (
        "The probability of any report of a user is at most 2.72 times what it would be if they held another"
        " item, or none."
    )


def test_test_noise_promises_nothing():
    seeded = by(unit=replace(GUARANTEE.unit, protects="nobody: NOT PRIVATE, seeded"))
    assert words.promise(seeded)[0] == words.NOBODY
    assert not words.is_private(seeded)
    assert words.is_private(release_of(ROWS))


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 3.3, 8, 20])
def test_the_factor_is_never_too_small(epsilon):
    import math

    shown = float(words.factor(replace(GUARANTEE, epsilon=epsilon)).replace(",", ""))
    assert math.exp(epsilon) <= shown <= 1.011 * math.exp(epsilon)


@pytest.mark.parametrize(
    ("delta", "shown"),
    [
        (1e-8, "1 in 100 million"),
        (3e-9, "1 in 333 million"),
        (1e-9, "1 in 1 billion"),
        (1e-5, "1 in 100,000"),
        (0.01, "1 in 100"),
        (1e-15, "1e-15"),
        (1e-280, "1e-280"),
    ],
)
def test_odds(delta, shown):
    assert words.odds(delta) == shown


def test_counts_of_users_are_called_lower_estimates():
    meaning = "count is the number of users who kept this key; at most 4 keys each."
    kept = replace(release_of(ROWS), counted=Counted("users", meaning))
    assert words.counting(kept) == (
        meaning,
        "It is a lower estimate of how many have the key, because not everything of a user is kept.",
    )
    assert words.counting(release_of(ROWS)) == ("count is the noisy number of events with this key.",)
    assert words.counting(hc.sample(["tea"] * 500, rate=1.0, epsilon=1.0, delta=1e-6)) == ()
    keys = hc.keys(["tea"] * 500, epsilon=1.0, delta=1e-6)
    assert words.counting(keys) == ("Only keys are published: no count, no order by frequency.",)


def test_what_is_not_shown():
    once = "A key that only one event contributes is published with probability at most delta = 1e-08."
    assert once in words.not_shown(release_of(ROWS))
    assert words.not_shown(release_of(ROWS)) == words.not_shown(release_of(ROWS[:1]))
    assert not any("costs no privacy" in sentence for sentence in words.not_shown(release_of(ROWS)))
    assert any("Rows were cut" in sentence for sentence in words.not_shown(release_of(ROWS).limit(1)))
    assert once not in words.not_shown(by(delta=0.0))  # a public domain shows keys that never occurred
    assert words.not_shown(tree())[0].startswith("Nodes with a noisy residual below 50 are left out")
    noted = release_of(ROWS).with_notes("Null keys are dropped.", "A route.")
    assert words.dropped(noted) == ("Null keys are dropped.",)


def test_titles():
    assert words.title(release_of(ROWS)) == "Most frequent keys"
    named = release_of(ROWS)
    assert (
        words.title(replace(named, keys=named.keys.rename_columns(["<b>"]))) == "Most frequent values of <b>"
    )
    assert words.title(tree()) == "Heavy nodes of the hierarchy ipv4/8"
    assert words.title(by(unit=LOCAL_USER)) == "Items that many users hold"


def test_local_reports_are_estimates_of_users():
    local = by(unit=LOCAL_USER, delta=0.0)
    assert words.counting(local) == ("count is the estimated number of users who hold this item.",)
    assert words.not_shown(local)[0] == (
        "Items with an estimate of fewer than 4 users are left out: noise makes many of them."
    )
