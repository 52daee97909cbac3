"""What a release protects and how accurate it is, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushcount.releases.release import Accuracy

if TYPE_CHECKING:
    from hushcount.privacy import PrivacyUnit
    from hushcount.releases.release import Release
    from hushcount.releases.tree import TreeRelease


def headline(unit: PrivacyUnit) -> str:
    """The first thing to say."""
    return f"Protects {unit.protects}."


def privacy_sentences(release: Release | TreeRelease) -> tuple[str, ...]:
    """The guarantee, its theorem, and what it rests on."""
    guarantee = release.guarantee
    assumed = "; ".join(guarantee.assumptions)
    return (
        guarantee.statement(),
        f"Assumes: {assumed}." if assumed else "Assumes nothing further.",
        f"Proof: {guarantee.proof}.",
    )


def accuracy_sentences(release: Release | TreeRelease) -> tuple[str, ...]:
    """The interval of one key, what is behind it, and the bounds for all keys at once."""
    accuracy = release.accuracy(release.confidence)
    together = simultaneous_sentence(accuracy) if isinstance(accuracy, Accuracy) else None
    return (*accuracy.sentences, *((together,) if together else ()))


def simultaneous_sentence(accuracy: Accuracy) -> str | None:
    """The bounds for all published keys at once, where there are any."""
    below, above = accuracy.simultaneous_below, accuracy.simultaneous_above
    if below is None:
        return None
    if above is None:
        return f"For all published keys at once: at least count - {below}."
    return f"For all published keys at once: between count - {below} and count + {above}."
