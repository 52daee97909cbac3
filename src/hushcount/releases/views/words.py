"""What a release protects, how accurate it is, and why it may be empty, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushcount.privacy import LOCAL_USER, PrivacyUnit
from hushcount.releases.accuracy import Accuracy
from hushcount.releases.release import Release

if TYPE_CHECKING:
    from hushcount.releases.oracle import Oracle
    from hushcount.releases.tree import TreeRelease


def headline(unit: PrivacyUnit) -> str:
    """Return the first thing to say."""
    return f"Protects {unit.protects}."


def privacy_sentences(release: Release | TreeRelease) -> tuple[str, ...]:
    """Return the guarantee, what it rests on, and where it is proved."""
    guarantee = release.guarantee
    assumed = "; ".join(guarantee.assumed)
    return (
        guarantee.statement(),
        f"Assumes: {assumed}." if assumed else "Assumes nothing further.",
        f"Proof: {guarantee.proof}.",
    )


def detail_sentences(release: Release | TreeRelease) -> tuple[str, ...]:
    """Return further public facts: the version, the time, and the numbers of the mechanism."""
    made, parameters = release.made, release.guarantee.parameters
    numbers = ", ".join(f"{name} {value}" for name, value in parameters.items())
    said = () if made is None else (f"Made by hushcount {made.version} at {made.time}.",)
    return (*said, f"Theorem: {release.guarantee.theorem}", f"Public numbers of the mechanism: {numbers}.")


def accuracy_sentences(release: Release | TreeRelease) -> tuple[str, ...]:
    """Return the interval of one key, what is behind it, and the bounds for all keys at once."""
    accuracy = release.accuracy(release.confidence)
    together = simultaneous_sentence(accuracy) if isinstance(accuracy, Accuracy) else None
    return (*accuracy.sentences, *((together,) if together else ()))


def simultaneous_sentence(accuracy: Accuracy) -> str | None:
    """Return the bounds for all published keys at once, if there are any."""
    below, above = accuracy.simultaneous_below, accuracy.simultaneous_above
    if below is None:
        return None
    if above is None:
        return f"For all published keys at once: at least count - {below}."
    return f"For all published keys at once: between count - {below} and count + {above}."


def oracle_sentence(oracle: Oracle, confidence: float) -> str:
    """Return between which bounds the counts that an oracle answers with lie."""
    below, above = oracle.interval(confidence)
    lowest = "anything" if oracle.partial else "0"
    return (
        f"With confidence {confidence:g} the true count of a key chosen before seeing the result lies between"
        f" {lowest if below is None else f'count - {below}'} and"
        f" {'anything' if above is None else f'count + {above}'}."
    )


def empty_sentences(release: Release | TreeRelease) -> tuple[str, ...]:
    """Return why a table may be empty: the same causes for any data, and the smallest count published."""
    if isinstance(release, Release):
        return ("No key was published. Possible causes, the same for any data:", *_no_key(release))
    return (
        "No node was published. Possible causes, the same for any data:",
        f"- every node is too rare: it needs a noisy residual of at least {release.threshold:,};",
        "- the sketch has too few counters (--counters, with --method streaming);",
        "- the keys are null, or malformed for this hierarchy.",
    )


def _no_key(release: Release) -> tuple[str, ...]:
    if release.guarantee.unit.neighbours == LOCAL_USER.neighbours:
        return (
            f"- every item is held by too few users: a count of at least {release.floor:,} is published"
            " (--threshold);",
            "- the users were too few for this budget, or held items that the manifest cannot encode.",
        )
    count = release.smallest_reliable()
    needed = "" if count is None else f": about {count:,} {release.counted.noun} are published reliably"
    floor = release.floor or 0
    hides = f": it hides keys below about {floor:,}" if floor > 0 else ""
    return (
        f"- every key is too rare for this budget{needed};",
        f"- the sketch has too few counters (--counters){hides};",
        "- other keys of the users were kept (--max-keys), or rows were cut (--min-count);",
        "- the keys are null, malformed, or outside the domain (--domain).",
    )
