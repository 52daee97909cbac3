"""The tables of the campaign that was asked about last, so that the next question reads only new reports."""

from __future__ import annotations

from dataclasses import dataclass

from hushcount.ldp.server.decoding import Collected
from hushcount.ldp.server.tallies import GroupTallies, split_symbols
from hushcount.ldp.wire.manifest import Manifest
from hushcount.service.store.reports import ReportStore

MOST_KEPT_CELLS = 1 << 25  # of tables that stay in memory: 400 MB with what is computed of them


@dataclass(slots=True)
class _Counted:
    """The reports of the first batches of a campaign, counted."""

    manifest: Manifest
    groups: list[GroupTallies]
    batches: int = 0
    reports: int = 0
    collected: Collected | None = None  # what decoders get, until another batch is counted


class KeptTables:
    """The tables of one campaign at a time. One thread uses it.

    Parameters
    ----------
    reports:
        The reports of a store, which holds no nonce twice.
    """

    def __init__(self, reports: ReportStore) -> None:
        self._reports = reports
        self._kept: _Counted | None = None

    def of(self, manifest: Manifest) -> Collected:
        """Return the tables of all reports of a campaign."""
        found, self._kept = self._kept, None  # what fails below leaves nothing that is half counted
        if found is None or found.manifest.id != manifest.id or self._is_over(found):
            found = _Counted(
                manifest, [GroupTallies(manifest, index) for index in range(len(manifest.groups))]
            )
        collected = self._brought_up(found)
        if self._is_over(found):  # they were deleted meanwhile, and some of them may not have been counted
            return Collected(manifest, 0, ())
        if sum(int(tallies.layout.offsets[-1]) for tallies in found.groups) <= MOST_KEPT_CELLS:
            self._kept = found
        return collected

    def _brought_up(self, found: _Counted) -> Collected:
        """Count the batches that were not counted yet."""
        for nonces, symbols in self._reports.read(found.manifest.id, found.batches):
            for tallies, part in zip(
                found.groups, split_symbols(symbols, found.manifest.groups), strict=True
            ):
                tallies.add(nonces, part)
            found.batches += 1
            found.reports += len(nonces)
            found.collected = None
        if found.collected is None:
            groups = tuple(tuple(tallies.questions()) for tallies in found.groups)
            found.collected = Collected(found.manifest, found.reports, groups)
        return found.collected

    def _is_over(self, found: _Counted) -> bool:
        """Return whether batches that were counted are gone: deleted, or the store is an older one."""
        return self._reports.batches(found.manifest.id) < found.batches

    def forget_deleted(self) -> None:
        """Forget the tables of a campaign whose reports were deleted."""
        if self._kept is not None and self._is_over(self._kept):
            self._kept = None
