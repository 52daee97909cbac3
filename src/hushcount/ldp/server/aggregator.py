"""The aggregator: takes reports in batches, refuses what does not fit, and finds the heavy items."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from hushcount.errors import DataError, ManifestError, ParameterError
from hushcount.ldp import saved
from hushcount.ldp.server.decoding import Collected, check_threshold, decoder_of
from hushcount.ldp.server.reports import NonceSet, Received, Reports, parsed
from hushcount.ldp.server.tallies import GroupTallies, split_symbols
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.report import REASONS

if TYPE_CHECKING:
    from hushcount.releases.release import Release


class Aggregator:
    """The reports of one campaign, each nonce once, and the tallies they add up to.

    It shares nothing with the clients but the manifest. What it holds is private already: every report is
    epsilon-locally differentially private, so whatever is computed from the reports costs nothing more.
    """

    __slots__ = ("_groups", "_held", "_nonces", "_refused", "manifest")

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self._groups = [GroupTallies(manifest, index) for index in range(len(manifest.groups))]
        self._nonces = NonceSet()
        self._held: list[Reports] = []
        self._refused: Counter[str] = Counter()

    def add(self, reports: Received, *, now: float | None = None) -> Aggregator:
        """Add reports: packed bytes, an iterable of bytes, or a pair of arrays (nonces, symbols).

        A report that does not fit is not counted, and counted in `refused` by its reason. A nonce counts
        once: its first report stands. After the campaign's end all reports are refused.
        """
        for block in parsed(reports, self.manifest, self._refused):
            if self._expired(now):
                self._refused["expired"] += len(block.nonces)
            else:
                self._take(block)
        return self

    def _expired(self, now: float | None) -> bool:
        try:
            self.manifest.refuse_expired(now)
        except ManifestError:
            return True
        return False

    def _take(self, block: Reports) -> None:
        fresh = self._nonces.add(block.nonces)
        if not fresh.all():
            self._refused["duplicate"] += int(len(fresh) - fresh.sum())
            block = Reports(block.nonces[fresh], block.symbols[fresh])
        self._held.append(block)
        for tallies, symbols in zip(
            self._groups, split_symbols(block.symbols, self.manifest.groups), strict=True
        ):
            tallies.add(block.nonces, symbols)

    @property
    def reports(self) -> int:
        """How many reports were counted."""
        return len(self._nonces)

    @property
    def refused(self) -> Mapping[str, int]:
        """How many reports were not, by reason."""
        return MappingProxyType({reason: self._refused[reason] for reason in REASONS})

    def merge(self, other: Aggregator) -> Aggregator:
        """A new aggregator with the reports of both; a nonce in both counts once, as it stands here."""
        if other.manifest.campaign != self.manifest.campaign:
            raise ParameterError(
                f"aggregators must be of the same campaign, got {self.manifest.id[:16]}"
                f" and {other.manifest.id[:16]}."
            )
        merged = Aggregator(self.manifest)
        for part in (self, other):
            merged._refused.update(part._refused)
            merged._take(part._all())
        return merged

    def _all(self) -> Reports:
        """All reports, in the order they came."""
        nonces = [block.nonces for block in self._held] or [np.empty(0, np.uint64)]
        symbols = [block.symbols for block in self._held] or [np.empty(0, np.uint8)]
        self._held = [Reports(np.concatenate(nonces), np.concatenate(symbols))]
        return self._held[0]

    def to_bytes(self) -> bytes:
        """The aggregator as bytes."""
        return saved.to_bytes(self.manifest, self._all(), self.refused)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the aggregator to a file, whole or not at all, for its owner alone."""
        saved.save(path, self.to_bytes())

    @classmethod
    def load(cls, source: str | os.PathLike[str] | bytes) -> Aggregator:
        """Make an aggregator again from a file or from bytes, or raise DataError."""
        manifest, reports, refused = saved.load(source)
        aggregator = cls(manifest)
        for block in parsed((reports.nonces, reports.symbols), manifest, Counter()):
            aggregator._take(block)
        if aggregator.reports != len(reports.nonces):
            raise DataError("the aggregator is damaged: its reports do not fit its manifest.")
        aggregator._refused = Counter(refused)
        return aggregator

    def collected(self) -> Collected:
        """The tallies, for a decoder."""
        if not self.reports:
            raise DataError("an answer needs at least one report, got 0.")
        groups = tuple(tuple(tallies.questions()) for tallies in self._groups)
        return Collected(self.manifest, self.reports, groups)

    def heavy_hitters(self, threshold: float | None = None) -> Release:
        """The items whose estimated count reaches the threshold (the manifest's, unless given)."""
        from hushcount.ldp.server.answers import release_of

        collected = self.collected()
        found = decoder_of(self.manifest.protocol)(collected, check_threshold(threshold))
        return release_of(collected, found)
