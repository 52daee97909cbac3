"""What a protocol's decoder gets and gives, and where to find it by the name of the protocol."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp import registry
from hushcount.ldp.arrays import Floats
from hushcount.ldp.server.tallies import QuestionTallies
from hushcount.ldp.wire.manifest import LARGEST_INTEGER, THRESHOLD, Manifest


@dataclass(frozen=True, slots=True)
class Collected:
    """All that was reported in a campaign: the tallies of every question of every group."""

    manifest: Manifest
    reports: int
    groups: tuple[tuple[QuestionTallies, ...], ...]


class ErrorOfCounts(Protocol):
    """The law of an estimate's error, as a function of the count alone."""

    def deviation(self, counts: Floats) -> Floats:
        """The standard deviation of the estimate of each count."""
        ...

    def sentences(self) -> tuple[str, ...]:
        """What it is made of, in words."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """Heavy items: encoded, with estimates, their error and the threshold they were accepted at."""

    values: Sequence[int]
    estimates: Floats
    error: ErrorOfCounts
    threshold: float
    notes: tuple[str, ...] = ()


class Decoder(Protocol):
    """Finds the heavy items of a campaign; `threshold` is a count, or None for the manifest's."""

    def __call__(self, collected: Collected, threshold: float | None) -> Found:
        """Return the items whose estimated count reaches the threshold."""
        ...


def decoder_of(protocol: str) -> Decoder:
    """The decoder of a protocol."""
    return cast(Decoder, registry.load(registry.PROTOCOLS[protocol].decoder))


def check_threshold(threshold: float | None) -> float | None:
    """Return a threshold above 0, or None, or raise."""
    if threshold is None:
        return None
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold < math.inf:
        raise ParameterError(f"threshold must be a finite number above 0, got {threshold!r}.")
    return float(min(threshold, LARGEST_INTEGER))  # no campaign has more users


def limit_of(collected: Collected, threshold: float | None) -> float:
    """The threshold asked for, or that of the manifest."""
    if threshold is not None:
        return threshold
    named = collected.manifest.parameters.get(THRESHOLD)
    if not isinstance(named, int) or named < 1:
        raise ManifestError("the parameters of the manifest must have a threshold of at least 1.")
    return float(named)
