"""The aggregator: counts each report once, refuses malformed ones by reason, and finds the heavy items."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import BinaryIO

import numpy as np

from hushcount.errors import DataError, ManifestError, ParameterError
from hushcount.files import container
from hushcount.ldp import registry
from hushcount.ldp.server.decoding import Collected, check_threshold, check_work, release_of
from hushcount.ldp.server.reports import (
    FORMS,
    NonceSet,
    Received,
    Reports,
    nonce_words,
    parsed,
    read_batch,
    read_lines,
    read_packed,
)
from hushcount.ldp.server.tallies import GroupTallies, split_symbols
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.report import REASONS
from hushcount.ldp.wire.versions import Wire
from hushcount.releases.release import Release

_WHAT = "aggregator"
_BODY = "body"  # the one array of files of an earlier version: all nonces, then all symbols


class Aggregator:
    """The reports of one campaign, each nonce counted once, and the tables they add up to.

    It needs the manifest and the reports, nothing else. What it holds is private already: every report is
    epsilon-locally differentially private, so whatever is computed from reports costs no further privacy.

    Parameters
    ----------
    manifest:
        The campaign. One whose tables or whose search would need too much memory or time is refused here,
        before any report is read.
    """

    __slots__ = ("_groups", "_kept", "_nonces", "_refused", "manifest")

    def __init__(self, manifest: Manifest) -> None:
        check_work(manifest)
        self.manifest = manifest
        self._groups = [GroupTallies(manifest, index) for index in range(len(manifest.groups))]
        self._nonces = NonceSet(nonce_words(manifest.wire))
        self._kept: list[Reports] = []
        self._refused: Counter[str] = Counter()

    def add(self, reports: Received, *, now: float | None = None) -> Aggregator:
        """Add reports and return the aggregator itself.

        A malformed report is not counted; `refused` says how many there were, by reason. Of several reports
        with one nonce the first counts. After the campaign's end all reports are refused.

        Parameters
        ----------
        reports:
            Packed bytes, an iterable of the bytes of single reports, or a pair of arrays (nonces, symbols).
        now:
            Time of arrival in seconds since 1970; by default the present.
        """
        return self._add(parsed(reports, self.manifest, self._refused), now)

    def read(
        self,
        stream: BinaryIO,
        form: str = FORMS[0],
        *,
        now: float | None = None,
        tell: Callable[[int], object] | None = None,
    ) -> Aggregator:
        """Add the reports of an open file, as `add` does, and return the aggregator itself.

        Parameters
        ----------
        stream:
            A binary file.
        form:
            "packed" (one after the other), "hex" (one per line in hexadecimal digits) or "batch" (as a relay
            sends them, refused whole if torn). In a packed file a malformed report costs no other: reading
            goes on at the next report that begins with this campaign's version and id.
        now:
            Time of arrival in seconds since 1970; by default the present.
        tell:
            Called with the number of bytes read, to report progress.
        """
        if form not in FORMS:
            raise ParameterError(f"form must be one of {', '.join(FORMS)}, got {form!r}.")
        if form == "hex":
            return self.add(read_lines(stream, tell), now=now)
        read = read_batch if form == "batch" else read_packed
        return self._add(read(stream, self.manifest, self._refused, tell), now)

    def _add(self, blocks: Iterable[Reports], now: float | None) -> Aggregator:
        """Count blocks of well-formed reports, or refuse them all once the campaign has ended."""
        for block in blocks:
            if self.manifest.expired(now):
                self._refused["expired"] += len(block.nonces)
            else:
                self._take(block)
        return self

    def _take(self, block: Reports) -> None:
        """Count the reports of a block whose nonces are new."""
        fresh = self._nonces.add(block.nonces)
        if not fresh.all():
            self._refused["duplicate"] += int(len(fresh) - fresh.sum())
            block = Reports(block.nonces[fresh], block.symbols[fresh])
        self._kept.append(block)
        symbols = split_symbols(block.symbols, self.manifest.groups)
        for tallies, of_group in zip(self._groups, symbols, strict=True):
            tallies.add(block.nonces, of_group)

    @property
    def reports(self) -> int:
        """How many reports were counted."""
        return len(self._nonces)

    @property
    def refused(self) -> Mapping[str, int]:
        """How many reports were refused, by reason."""
        return MappingProxyType({reason: self._refused[reason] for reason in REASONS})

    def merge(self, other: Aggregator) -> Aggregator:
        """Return a new aggregator with the reports of both.

        Parameters
        ----------
        other:
            An aggregator of the same campaign. If both have a report with the same nonce, this one's counts.
        """
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
        """Return all counted reports, in the order in which they came."""
        nonces = [block.nonces for block in self._kept]
        symbols = [block.symbols for block in self._kept]
        nonces = nonces or [np.empty((0, nonce_words(self.manifest.wire)), np.uint64)]
        symbols = symbols or [np.empty(0, np.uint16)]
        self._kept = [Reports(np.concatenate(nonces), np.concatenate(symbols))]
        return self._kept[0]

    def _contents(self) -> container.Contents:
        """Return what is written of the aggregator.

        Reports are private by themselves, but nonces may name users, so only the owner may read such a file.
        """
        reports = self._all()
        fields = {
            "manifest": self.manifest.to_json(),
            "reports": len(reports.nonces),
            "refused": dict(self.refused),
        }
        octets = reports.symbols.astype(f"<u{self.manifest.wire.symbol_bytes}").view(np.uint8)
        arrays: container.Arrays = {"nonces": reports.nonces.reshape(-1), "symbols": octets}
        return container.Contents(container.LDP_STATE, fields, arrays)

    def to_bytes(self) -> bytes:
        """Return the aggregator as bytes: its manifest and its reports."""
        return container.encode(self._contents())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the aggregator to a file that only its owner can read, whole or not at all.

        Parameters
        ----------
        path:
            Where to write it; an existing file is replaced.
        """
        container.write(path, self._contents())

    @classmethod
    def load(cls, source: str | os.PathLike[str] | bytes) -> Aggregator:
        """Return the aggregator that `save` or `to_bytes` wrote, or raise DataError.

        Parameters
        ----------
        source:
            The path of a file, or the bytes themselves.
        """
        manifest, reports, refused = _load(source)
        aggregator = cls(manifest)
        for block in parsed((reports.nonces, reports.symbols), manifest, Counter()):
            aggregator._take(block)
        if aggregator.reports != len(reports.nonces):
            raise DataError("the aggregator is damaged: its reports cannot belong to its manifest.")
        aggregator._refused = Counter(refused)
        return aggregator

    def collected(self) -> Collected:
        """Return the tables of all questions, for a decoder."""
        if not self.reports:
            raise DataError(
                "No report belongs to this campaign, so nothing can be estimated."
                " Check that the clients used the same manifest."
            )
        groups = tuple(tuple(tallies.questions()) for tallies in self._groups)
        return Collected(self.manifest, self.reports, groups)

    def heavy_hitters(self, threshold: float | None = None) -> Release:
        """Return the items whose estimated count reaches a threshold, with intervals and the guarantee.

        Parameters
        ----------
        threshold:
            Smallest count to publish; by default the manifest's. One that noise alone would reach is raised.
        """
        collected = self.collected()
        found = registry.DECODERS[self.manifest.protocol].find(collected, check_threshold(threshold))
        return release_of(collected, found)


def _load(source: str | os.PathLike[str] | bytes) -> tuple[Manifest, Reports, dict[str, int]]:
    """Return the manifest, the reports and the numbers of refused ones, or raise DataError."""
    found, name = container.read(source, _WHAT), container.name_of(source, _WHAT)
    if found.kind != container.LDP_STATE:
        raise DataError(f"{name} is not a hushcount {_WHAT}.")
    try:
        manifest = Manifest.parse(container.fitted(name, lambda: str(found.fields["manifest"])))
    except ManifestError as error:
        raise DataError(f"{name} holds a manifest that is refused: {error}") from None
    return manifest, *container.fitted(name, lambda: (_reports(found, manifest.wire), _refused(found)))


def _reports(found: container.Contents, wire: Wire) -> Reports:
    """Return the reports, or raise if there are not as many as the header says."""
    count = found.fields["reports"]
    if _BODY in found.arrays:
        body = found.arrays[_BODY].tobytes()
        nonces = np.frombuffer(body, "<u8", count).astype(np.uint64)
        symbols = np.frombuffer(body, np.uint8, offset=8 * count).copy()
    else:
        nonces, symbols = found.arrays["nonces"].view(np.uint64), found.arrays["symbols"].view(np.uint8)
    rows = nonces.reshape(-1, nonce_words(wire))
    joined = symbols.view(f"<u{wire.symbol_bytes}").astype(np.uint16)
    if type(count) is not int or not len(rows) == len(joined) == count:
        raise ValueError("reports")
    return Reports(rows, joined)


def _refused(found: container.Contents) -> dict[str, int]:
    """Return how many reports were refused, by reason, or raise if a reason is unknown."""
    refused = {str(reason): count for reason, count in found.fields["refused"].items()}
    if not all(reason in REASONS and type(count) is int and count >= 0 for reason, count in refused.items()):
        raise ValueError("refused")
    return refused
