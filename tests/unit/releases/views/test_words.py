"""What is said about a release: privacy, accuracy, and why it may be empty (whole texts)."""

from dataclasses import replace

import pyarrow as pa
from tests.releases import FixedError, release_of
from tests.unit.releases.tree_example import tree

import hushcount as hc
from hushcount.privacy import LOCAL_USER
from hushcount.releases.accuracy import Counted
from hushcount.releases.views.words import (
    accuracy_sentences,
    empty_sentences,
    headline,
    oracle_sentence,
    privacy_sentences,
)


def test_words():
    release = release_of([("a", 10)])
    assert headline(release.guarantee.unit) == "Protects one event, not one person."
    assert privacy_sentences(release) == (
        release.guarantee.statement(),
        "Assumes: a; b.",
        "Proof: docs/proofs/counters/floor.md.",
    )
    assert accuracy_sentences(release) == (
        "True with confidence 0.95.",
        "With confidence 0.95 no key that is missing has more than 33 events.",
        "A key of at least 28 events is published with probability 0.95 or more.",
        "For all published keys at once: between count - 9 and count + 8.",
    )
    one_sided = release_of([("a", 10)], FixedError(above=None, together=(9, None)))
    assert accuracy_sentences(one_sided)[-1] == "For all published keys at once: at least count - 9."
    assert len(accuracy_sentences(release_of([("a", 10)], FixedError(together=None)))) == 2


def test_an_empty_table_names_the_same_causes_whatever_the_data():
    nothing = release_of([], kind=pa.string())
    assert empty_sentences(nothing) == (
        "No key was published. Possible causes, the same for any data:",
        "- every key is too rare for this budget: about 28 events are published reliably;",
        "- the sketch has too few counters (--counters): it hides keys below about 4;",
        "- other keys of the users were kept (--max-keys), or rows were cut (--min-count);",
        "- the keys are null, malformed, or outside the domain (--domain).",
    )
    users = nothing.counting(Counted("users", "count is the number of users who kept this key."))
    assert empty_sentences(users)[1] == (
        "- every key is too rare for this budget: about 28 users are published reliably;"
    )
    unknown = release_of([], FixedError(above=None), kind=pa.string())
    assert empty_sentences(unknown)[1] == "- every key is too rare for this budget;"


def test_an_empty_table_of_reports_names_its_own_options():
    nothing = release_of([], kind=pa.string())
    local = replace(nothing, guarantee=replace(nothing.guarantee, unit=LOCAL_USER))
    assert empty_sentences(local) == (
        "No key was published. Possible causes, the same for any data:",
        "- every item is held by too few users: a count of at least 4 is published (--threshold);",
        "- the users were too few for this budget, or held items that the manifest cannot encode.",
    )


def test_an_empty_tree_names_its_threshold():
    assert empty_sentences(tree([])) == (
        "No node was published. Possible causes, the same for any data:",
        "- every node is too rare: it needs a noisy residual of at least 50;",
        "- the sketch has too few counters (--counters, with --method streaming);",
        "- the keys are null, or malformed for this hierarchy.",
    )


def test_an_oracle_names_its_bounds():
    sketch = hc.CountMin(depth=1, width=2, max_weight=1)
    sketch.update(["a"])
    unbounded = hc.oracle(sketch, epsilon=1.0)
    assert oracle_sentence(unbounded, 0.95) == (
        "With confidence 0.95 the true count of a key chosen before seeing the result lies between 0 and"
        " anything."
    )
    made = hc.oracle(["a"] * 9, epsilon=1.0, delta=1e-6, width=1024)
    below, above = made.interval(0.9)
    assert oracle_sentence(made, 0.9).endswith(f"lies between count - {below} and count + {above}.")
