"""Whether a ledger recorded a release: its chain must be whole, and hold the digest of what was stored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from hushcount.accounting import inspection
from hushcount.accounting.chain import broken_link, digest, first_hash
from hushcount.errors import HushcountError, LedgerError
from hushcount.files.atomic import PathLike
from hushcount.jobs.trust.central import campaign_of
from hushcount.releases.oracle import Oracle
from hushcount.releases.release import Release
from hushcount.releases.stored.reading import read_release
from hushcount.stores.database import shown

if TYPE_CHECKING:
    from hushcount.releases.stored.documents import Stored


CONFIDENCE = 0.95  # of releases as a ledger stores them; what is asked for is computed afterwards


def exported(ledger: PathLike) -> Mapping[str, object]:
    """Return the chains of a ledger: a file, a server, or what `ledger export` wrote of one."""
    try:
        with open(ledger, "rb") as file:
            if file.read(1) == b"{":
                file.seek(0)
                return cast("Mapping[str, object]", json.load(file))
    except OSError:
        pass  # an address of a server is no file; what is neither is refused by the ledger itself
    except ValueError:
        raise LedgerError(f"{shown(ledger)} is not an exported ledger.") from None
    return inspection.export(ledger)


def recorded(release: Stored, chains: Mapping[str, object]) -> tuple[bool | None, str]:
    """Return whether some entry holds the digest of the release as it was drawn, and a sentence.

    An anonymous campaign is charged once, however often it is released: the entry holds its manifest.
    """
    wanted = [digest(_stored(release).to_json().encode("utf-8", "surrogatepass"))]
    campaign = campaign_of(release)
    wanted += [] if campaign is None else [digest(campaign.to_json().encode())]
    try:
        for dataset, entry in _entries(chains):
            if entry.get("digest") in wanted:
                if not _named(release, dataset, entry["run_id"]):
                    return False, "The ledger recorded it for another dataset or run than the release states."
                text = (
                    f"The ledger recorded it: dataset {dataset}, run {entry['run_id']}, entry {entry['seq']}."
                )
                return True, text
    except (KeyError, TypeError, ValueError, AttributeError):
        return False, "The ledger is damaged: an entry is not on its chain."
    if campaign is not None and campaign.terms.central is None:
        return None, "Nothing is charged for a campaign whose only guarantee is the local one."
    cut = (
        " Only whole tables are recorded, and rows of this one were cut; the ledger itself, which stores the"
        " table, can tell whether they are its rows, and an export cannot."
        if isinstance(release, Release) and not release.whole
        else ""
    )
    return False, f"The ledger did not record this release.{cut}"


def original(release: Stored, ledger: PathLike) -> Stored:
    """Return the table of which a release shows some rows, if the ledger stores it; else the release."""
    stated = {} if release.made is None else release.made.options
    run = stated.get("dataset"), stated.get("run_id")
    if not isinstance(release, Release) or release.whole or not all(isinstance(name, str) for name in run):
        return release
    try:
        stored = inspection.stored_answer(ledger, *map(str, run))
        whole = None if stored is None else read_release(stored)
    except HushcountError:  # an exported ledger has no tables
        return release
    return whole if isinstance(whole, Release) and _is_cut(release, whole) else release


def _is_cut(release: Release, whole: Release) -> bool:
    """Return whether a release has rows of a table, and nothing else that the table has not."""
    cut = cast("Release", _stored(release))
    same = replace(whole, keys=cut.keys, counts=cut.counts, whole=False, notes=cut.notes)
    shown_rows, all_rows = ({repr(row) for row in each.table.to_pylist()} for each in (cut, whole))
    return (
        cut.notes[: len(whole.notes)] == whole.notes
        and shown_rows <= all_rows
        and same.to_json() == cut.to_json()
    )


def _named(release: Stored, dataset: str, run_id: object) -> bool:
    """Return whether a release states this dataset and run, or none."""
    stated = {} if release.made is None else release.made.options
    return (stated.get("dataset", dataset), stated.get("run_id", run_id)) == (dataset, run_id)


def _entries(chains: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the entries of every dataset with its name; raise ValueError for one that is not on its chain."""
    for dataset in cast("list[Mapping[str, object]]", chains["datasets"]):
        listed = cast("list[Mapping[str, str]]", dataset["entries"])
        bodies = [json.loads(each["body"]) for each in listed]
        links = [(int(each["seq"]), each["body"], each["hash"]) for each in listed]
        if not bodies or broken_link(first_hash(bodies[0]["identity"]), links) is not None:
            raise ValueError("chain")
        yield from ((str(dataset["dataset"]), body) for body in bodies)


def _stored(release: Stored) -> Stored:
    """Return a release as it was stored, before anything was asked of it."""
    made = None if release.made is None else replace(release.made, options={}, source_name=None)
    if isinstance(release, Oracle):
        return replace(release, made=made)
    return replace(release.at_confidence(CONFIDENCE), made=made)
