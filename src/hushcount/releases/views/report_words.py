"""The sentences of a report, for a reader who knows nothing of differential privacy."""

from __future__ import annotations

import math

from hushcount.privacy import Guarantee
from hushcount.releases.accuracy import RowErrorModel, SanitisedError
from hushcount.releases.key_list import KeyList
from hushcount.releases.oracle import Oracle
from hushcount.releases.release import Release
from hushcount.releases.tree import TreeRelease
from hushcount.releases.views.tables import visible

Reported = Release | TreeRelease | Oracle
LIMITS = (
    "Differential privacy limits how much can be learnt about any one {unit}; it does not make it impossible"
    " to learn something, and what is true of many remains visible."
)
ONE_RELEASE = (
    "These numbers are for this one release. Every further release of the same data spends a budget of its"
    " own, and what they spend adds up: k releases at this budget cost at most k times epsilon and k times"
    " delta."
)
LOCAL_RELEASE = (
    "These numbers are for one report. Every further report of a user spends its own epsilon, and they add"
    " up; reading the reports that were collected again costs nothing."
)


NOT_PRIVATE = "NOT PRIVATE"  # what the unit, or a note, of a release with test noise says
NOBODY = "This release was made with repeatable test noise. It protects nobody: do not publish it."


def is_private(release: Reported) -> bool:
    """Return whether the noise was secret; that of tests is not."""
    said = (release.guarantee.unit.protects, *release.notes)
    return not any(NOT_PRIVATE in sentence for sentence in said)


def is_local(release: Reported) -> bool:
    """Return whether every user randomised their own report, so that nobody collected raw data."""
    return release.guarantee.unit.relation is not None


def is_sample(release: Release) -> bool:
    """Return whether keys were drawn at random: then each has an estimate that stands for those left out."""
    return isinstance(release.error, RowErrorModel) and isinstance(release.error, SanitisedError)


def title(release: Reported) -> str:
    """Return the title of the report."""
    if isinstance(release, Oracle):
        return "An oracle for the counts of keys"
    if not isinstance(release, Release):
        return f"Heavy nodes of the hierarchy {visible(release.hierarchy)}"
    if is_local(release):
        return "Items that many users hold"
    if is_sample(release) or isinstance(release, KeyList):
        return "A sample of the keys" if is_sample(release) else "Keys that exist in the data"
    names = [visible(name) for name in release.keys.column_names]
    if names == ["key"]:
        return "Most frequent keys"
    return f"Most frequent values of {' and '.join(names)}"


def promise(release: Reported) -> tuple[str, ...]:
    """Return what is protected, as sentences that can be repeated in a meeting."""
    guarantee = release.guarantee
    unit = guarantee.unit.name
    if not is_private(release):
        return (NOBODY, "With secret noise the page would state here what it protects.")
    if is_local(release):
        return (
            "This page shows the items that many users hold. Every user’s own device altered its answer at"
            " random before sending it, so the collector received randomised answers only.",
            f"The probability of any report of a user is at most {factor(guarantee)} times what it would be"
            f" if they held another item, or none{_extra(guarantee)}.",
            LIMITS.format(unit=unit),
        )
    return (
        f"{_shown(release)}, {_blurred(release)}.",
        f"The noise is calibrated so that any one {unit} has only a limited influence on what is shown: with"
        f" or without that {unit}, the probability of any outcome is at most {factor(guarantee)} times the"
        f" other{_extra(guarantee)}.",
        _protected(guarantee),
        LIMITS.format(unit=unit),
    )


def _blurred(release: Reported) -> str:
    if isinstance(release, KeyList):
        return "without any count; random noise decides on purpose about entries of few holders"
    return "with counts that random noise has blurred on purpose"


def _shown(release: Reported) -> str:
    if isinstance(release, Oracle):
        return (
            "This page describes a table of noisy numbers, an oracle, that answers how often any key occurs"
        )
    if not isinstance(release, Release):
        return "This page shows the groups (called nodes) that many entries of the data belong to"
    if is_sample(release):
        return (
            "This page shows some entries (called keys) of the data, drawn at random, frequent ones more"
            " likely"
        )
    return "This page shows the entries (called keys) that occur often in the data"


def _protected(guarantee: Guarantee) -> str:
    """Return the sentence on people."""
    if guarantee.unit.name == "user":
        return "The unit of protection is one user, with everything that the data contain of them."
    return (
        f"The unit of protection is one {guarantee.unit.name}, not one person: a person who has several in"
        " the data is protected less, the more they have."
    )


def factor(guarantee: Guarantee) -> str:
    """Return e^epsilon, rounded up to three digits.

    >>> from hushcount.privacy import EVENT, Guarantee
    >>> factor(Guarantee(1.0, 0.0, EVENT, "", "", "")), factor(Guarantee(8.0, 0.0, EVENT, "", "", ""))
    ('2.72', '2,990')
    """
    value = math.exp(guarantee.epsilon)
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    rounded = math.ceil(value / step) * step
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:.{2 if rounded < 10 else 1}f}"


def _extra(guarantee: Guarantee) -> str:
    return f", plus at most {odds(guarantee.delta)}" if guarantee.delta else ""


def odds(probability: float) -> str:
    """Return a small probability in words, rounded up.

    >>> odds(1e-8), odds(2e-6), odds(1e-15), odds(0.3)
    ('1 in 100 million', '1 in 500,000', '1e-15', '0.3')
    """
    if probability > 0.1:
        return f"{probability:g}"
    one_in = math.floor(1 / probability * (1 + 1e-9))
    for size, name in ((10**9, "billion"), (10**6, "million")):
        if one_in >= 1000 * 10**9:
            return f"{probability:g}"
        if one_in >= size:
            return f"1 in {math.floor(one_in / size):,} {name}"
    return f"1 in {one_in:,}"


def counting(release: Release | TreeRelease) -> tuple[str, ...]:
    """Return what a number in the table is a number of."""
    if not isinstance(release, Release):
        return (
            "total is the noisy count of everything below a node, residual that without what its published"
            " descendants hold.",
        )
    if is_local(release):
        return ("count is the estimated number of users who hold this item.",)
    if is_sample(release):
        return ()  # what its columns are stands with their accuracy
    if isinstance(release, KeyList):
        return (release.counted.meaning,)
    if not release.counted.meaning:
        return (f"count is the noisy number of {release.counted.noun} with this key.",)
    return (
        release.counted.meaning,
        "It is a lower estimate of how many have the key, because not everything of a user is kept.",
    )


def not_shown(release: Reported) -> tuple[str, ...]:
    """Return what the page leaves out, and why: the same sentences for any data."""
    sentences = [*_too_rare(release), *dropped(release)]
    if isinstance(release, Release) and not release.whole:
        sentences.append(
            "Rows were cut from the end of the table after the noise was added, as the publisher asked; that"
            " costs no privacy."
        )
    if not is_local(release):
        sentences.append(
            "Exact counts, the number of rows read, the number of different keys and the number of rows left"
            " out are not published: they depend on the data and carry no noise."
        )
    return tuple(sentences)


def _too_rare(release: Reported) -> tuple[str, ...]:
    """Return which keys are left out because they are rare."""
    if isinstance(release, Oracle):
        return (NO_KEYS,)
    if not isinstance(release, Release):
        least = f"Nodes with a noisy residual below {release.threshold:,} are left out"
        return (f"{least}, so that the noise can hide whether a node exists at all.", MISSING.format("node"))
    if is_local(release):
        least = "" if release.floor is None else f" of fewer than {release.floor:,} users"
        return (
            f"Items with an estimate{least} are left out: noise makes many of them.",
            MISSING.format("item"),
        )
    count = release.smallest_reliable()
    noun = release.counted.noun
    known = (
        ()
        if count is None
        else (
            f"Keys of fewer than about {count:,} {noun} may be missing; one of at least that many is"
            " published with probability 0.95 or more.",
        )
    )
    if release.guarantee.delta == 0:
        return (*known, MISSING.format("key"))
    once = (
        f"A key that only one {release.guarantee.unit.name} contributes is published with probability at most"
        f" delta = {release.guarantee.delta:g}.",
    )
    return (*known, *once, MISSING.format("key"))


NO_KEYS = (
    "The oracle lists no keys: it holds noisy cells, each shared by many keys. Whoever has a key can look it"
    " up, and an answer above zero does not show that the key occurred."
)
MISSING = (
    "A missing {} may be rare, or may have been left out by the noise: that it is missing proves nothing."
)


def dropped(release: Reported) -> tuple[str, ...]:
    """Return the notes on rows that were left out before counting."""
    return tuple(note for note in release.notes if "drop" in note or "kept" in note)
