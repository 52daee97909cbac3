"""Keys that a table does not show: what none of them exceeds, and all of them together by a noisy total."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from hushcount.releases.accuracy import MissingError, RowErrorModel, hidden

if TYPE_CHECKING:
    from hushcount.releases.release import Release


class TwoSided(Protocol):
    """Symmetric noise on a whole number."""

    def two_sided(self, failure: float) -> int:
        """Return a bound on the size of the noise, exceeded with at most this probability."""
        ...


@runtime_checkable
class WidthsByKeys(Protocol):
    """An error model that bounds as many counts at once as it is told."""

    def bounds(self, failure: float, keys: int) -> tuple[int, int | None]:
        """Return widths below and above that hold for `keys` keys at once, except with this probability."""
        ...


@dataclass(frozen=True, slots=True)
class NoisyTotal:
    """The number of all that was counted, published or not, plus noise.

    Parameters
    ----------
    value : int
        The noisy number, which may be negative.
    noise : TwoSided
        The distribution of its noise.
    """

    value: int
    noise: TwoSided


@dataclass(frozen=True, slots=True)
class OtherKeys:
    """All keys together that a table does not show.

    Parameters
    ----------
    count : int
        The noisy total less the counts of the table, and 0 if that is negative.
    lower, upper : int
        Between them lies the true number, with the confidence of the table.
    """

    count: int
    lower: int
    upper: int

    def to_dict(self) -> dict[str, int]:
        """Return the three numbers as plain values for JSON."""
        return asdict(self)


def other_keys(release: Release) -> OtherKeys | None:
    """Return what a table does not show, None if its total was not asked for; costs no privacy.

    Half of the failure probability is for the total, half for the counts of all published keys at once.
    """
    total = release.total
    if total is None:
        return None
    failure, counts = (1 - release.confidence) / 2, release.counts.to_numpy()
    width, shown = total.noise.two_sided(failure), int(counts.sum())
    below, above = _widths(release, failure, total.value + width)
    least = 0 if below is None else int(np.maximum(counts - below, 0).sum())
    most = shown + len(counts) * above if above is not None else None if len(counts) else 0
    lower = 0 if most is None else max(total.value - width - most, 0)
    return OtherKeys(max(total.value - shown, 0), lower, max(total.value + width - least, lower))


def _widths(release: Release, failure: float, most_keys: int) -> tuple[int | None, int | None]:
    """Return how far the counts of all published keys at once may lie from the truth.

    If no public number bounds how many keys there are, the total does: every key has been counted.
    """
    known = release.error.simultaneous(1 - failure)
    if known is None and isinstance(release.error, WidthsByKeys):
        known = release.error.bounds(failure, max(most_keys, 1))
    return known or (None, None)


def unpublished_at_most(release: Release, confidence: float) -> int | None:
    """Return what no key that is missing in a table exceeds, with this confidence; None if nothing says.

    Proof: docs/proofs/intervals.md, section 5.
    """
    error, most = release.error, _largest_missing(release)
    if isinstance(error, RowErrorModel) or most is None:
        return None
    if isinstance(error, MissingError):
        return most + error.missing(1 - confidence, int(release.guarantee.parameters["candidates"]))
    above = (error.simultaneous(confidence) or (None, None))[1]
    return None if above is None else max(most + above, 0)


def _largest_missing(release: Release) -> int | None:
    """Return the largest noisy count that may be missing in a table: cuts keep the largest counts.

    What no cut left out may be larger, where several sketches have floors of their own. A cut of each group
    keeps others: a row that it leaves out may have a larger count than one that it keeps.
    """
    if release.whole:
        return hidden(release)
    if release.made is None or "per" in release.made.options:
        return None
    if not len(release):
        return None
    return max(int(release.counts[len(release) - 1].as_py()), hidden(release) or 0)


def other_sentences(release: Release) -> tuple[str, ...]:
    """Say how much a table does not show, and how that number was made; nothing without a total."""
    other = other_keys(release)
    if other is None:
        return ()
    what = "pairs of a user and a key" if release.counted.noun == "users" else release.counted.noun
    kept = f"{what}, of those that were kept" if release.counted.meaning else what
    return (
        f"All other keys together: {other.count:,} {kept} ({other.lower:,} to {other.upper:,} with"
        f" confidence {release.confidence:g}).",
        "This is a noisy total less the counts shown; a negative difference is shown as 0.",
    )
