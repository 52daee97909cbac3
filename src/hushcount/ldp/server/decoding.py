"""What a decoder is given and what it returns, and the limits on its work, checked before it starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hushcount.compiled.arrays import Floats
from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp import registry
from hushcount.ldp.server.tallies import QuestionTallies
from hushcount.ldp.wire.manifest import LARGEST_INTEGER, THRESHOLD, Manifest
from hushcount.ldp.wire.response import ResponseDistribution

# Every campaign that TreeHist and Bitstogram plan stays below these numbers, whatever its encoding.
MOST_CELLS = 1 << 27  # of all tables together: 1.5 GB while the collector answers
MOST_TABLES = 1 << 17
MOST_LISTED = 1 << 24  # candidates, of 64 bytes each while they are listed
MOST_LOOKUPS = 1 << 32  # of cells, while heavy items are looked for: about a minute


@dataclass(frozen=True, slots=True)
class Collected:
    """All that was reported in a campaign: the tables of every question of every group."""

    manifest: Manifest
    reports: int
    groups: tuple[tuple[QuestionTallies, ...], ...]


class ErrorOfCounts(Protocol):
    """The distribution of an estimate's error, as a function of the count alone."""

    @property
    def response(self) -> ResponseDistribution:
        """The distribution of a client's response."""
        ...

    @property
    def users(self) -> int:
        """The number of users whose reports were counted."""
        ...

    def deviation(self, counts: Floats) -> Floats:
        """Return the standard deviation of the estimate of each count."""
        ...

    def sentences(self) -> tuple[str, ...]:
        """Say what the standard deviation is made of."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """Heavy items: encoded, with estimates, their error and the threshold they were accepted at."""

    values: Sequence[int]
    estimates: Floats
    error: ErrorOfCounts
    threshold: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decoder:
    """How the heavy items of a campaign are found, and how much work that may be.

    `find(collected, threshold)` returns the items whose estimated count reaches the threshold, or that of
    the manifest for None. `lookups(manifest)` bounds the cells that it looks up, `listed(manifest)` the
    candidates that it lists at once, from public numbers alone.
    """

    find: Callable[[Collected, float | None], Found]
    lookups: Callable[[Manifest], int]
    listed: Callable[[Manifest], int] = lambda _: 0


def check_work(manifest: Manifest) -> None:
    """Raise if the campaign would need too much memory or time, before any report is read."""
    decoder = registry.DECODERS[manifest.protocol]
    questions = [question for group in manifest.groups for question in group.questions]
    cells = sum(question.tables << question.cell_bits for question in questions)
    tables = sum(question.tables for question in questions)
    for what, needed, most in (
        ("cells", cells, MOST_CELLS),
        ("tables", tables, MOST_TABLES),
        ("lookups of cells", decoder.lookups(manifest), MOST_LOOKUPS),
        ("candidates at once", decoder.listed(manifest), MOST_LISTED),
    ):
        if needed > most:
            raise ManifestError(
                f"the manifest asks the collector for {needed:,} {what}, and at most {most:,} are allowed."
            )


def check_threshold(threshold: float | None) -> float | None:
    """Return a threshold above 0, or None, or raise."""
    if threshold is None:
        return None
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold < math.inf:
        raise ParameterError(f"threshold must be a finite number above 0, got {threshold!r}.")
    return float(min(threshold, LARGEST_INTEGER))  # no campaign has more users


def limit_of(collected: Collected, threshold: float | None) -> float:
    """Return the given threshold, or by default that of the manifest."""
    if threshold is not None:
        return threshold
    named = collected.manifest.parameters.get(THRESHOLD)
    if not isinstance(named, int) or named < 1:
        raise ManifestError("the parameters of the manifest must have a threshold of at least 1.")
    return float(named)
