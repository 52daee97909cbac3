"""Tables of items in the local model: a report for every user, or a whole campaign beside the truth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.files.atomic import atomic_file, check_writable, refuse_same
from hushcount.jobs.ldp.campaigns import CampaignSettings, encoding_of
from hushcount.jobs.ldp.collection import report_form
from hushcount.ldp.wire import encodings
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.manifest import MOST_REPORTS
from hushcount.privacy import check_count
from hushcount.secure import fresh_key

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.jobs.request import Progress, Request
    from hushcount.ldp.client.simulation import Comparison, HeldItems
    from hushcount.ldp.wire.manifest import Manifest
    from hushcount.releases.release import Release

__all__ = ["Comparison", "randomise", "simulate"]

TWICE = "--user reads the data twice, so FILE cannot be standard input."
_WHOLE_NUMBER = re.compile(r"\s*[+-]?[0-9]{1,400}\s*", re.ASCII)


def randomise(
    path: str, request: Request, output: str, form: str | None = None, progress: Progress | None = None
) -> tuple[Manifest, int]:
    """Write a report for every user of a table; return the manifest and how many reports there are.

    Parameters
    ----------
    path:
        The manifest.
    request:
        The table. Each row is a user; if it names a user column, each different user is one, and reports one
        of their items, or as many as the manifest asks for, picked by a keyed hash.
    output:
        Where the reports are written, in a random order.
    form:
        "packed" or "hex"; by default by the ending of `output`.
    progress:
        Called with the bytes read so far and in all.
    """
    from hushcount.ldp.client.simulation import ReportPool
    from hushcount.ldp.server.decoding import check_work
    from hushcount.ldp.wire.manifest import Manifest
    from hushcount.noise.bits import system_bits

    manifest = Manifest.load(path)
    manifest.refuse_expired()
    check_work(manifest)
    refuse_same([output], [path, *paths_of(request)])
    check_writable(output)
    pool = ReportPool(manifest, system_bits())
    for users in _users(request, manifest.encoding, manifest.reports, progress):
        pool.add(users)
    number = len(pool)
    written = report_form(output, form)
    if written == "batch":
        raise ParameterError("A batch is what a relay writes; use packed or hex.")
    with atomic_file(output) as stream:
        for block in pool.shuffled():
            stream.write(block if written == "packed" else _as_lines(block, manifest.wire.report_bytes))
    return manifest, number


def simulate(
    request: Request, settings: CampaignSettings, progress: Progress | None = None
) -> tuple[Comparison, Release]:
    """Run a whole campaign on a table; return how it compares with the truth, and the release.

    Parameters
    ----------
    request:
        The table, as for `randomise`.
    settings:
        What the campaign asks; its users are those of the table.
    progress:
        Called with the bytes read so far and in all.
    """
    from hushcount.ldp.client.simulation import Comparison, Population, ReportPool
    from hushcount.noise.bits import system_bits

    people = Population(encoding_of(settings.items, settings.truncate))
    reports = check_count("reports_per_user", settings.reports_per_user, most=MOST_REPORTS)
    for users in _users(request, people.encoding, reports, progress):
        people.add(users)
    made = replace(settings, users=max(len(people) // reports, 1)).campaign()
    aggregator = made.aggregator()
    pool = ReportPool(made.manifest, system_bits())
    pool.add(people.held_items())
    for block in pool.shuffled():
        aggregator.add(block)
    release = aggregator.heavy_hitters()
    return Comparison.of(release, people.true_counts(), release.floor or 0), release


def _users(
    request: Request, encoding: Encoding, reports: int, progress: Progress | None
) -> Iterator[HeldItems]:
    """Yield what the users of a table report, a few at a time: `reports` for every user, items or none."""
    from hushcount.ldp.client.simulation import HeldItems

    if isinstance(request.column, list):
        raise ParameterError("Items are one column, so give --column once.")
    if request.user is None:
        source = request.open()
        for batch in source.batches():
            yield _with_numbers(HeldItems.of(batch.keys), encoding)
            yield HeldItems.without(reports * batch.rows - len(batch.keys))
            if progress is not None:
                progress(batch.bytes_read, source.size)
        return
    reported = 0
    for keys in _items_of_users(request, reports, progress):
        reported += len(keys)
        yield _with_numbers(HeldItems.of(keys), encoding)
    yield HeldItems.without(max(reports * _count_users(request) - reported, 0))


def _items_of_users(request: Request, most: int, progress: Progress | None) -> Iterator[pa.Array]:
    """Yield at most so many different items of each user, picked by a keyed hash of user and item."""
    from hushcount.sources.duckdb.bounding import DistinctPairs, bounded_users

    if request.data == "-":
        raise ParameterError(TWICE)
    source = request.open()
    tell = (lambda batch: progress(batch.bytes_read, source.size)) if progress else (lambda batch: None)
    for _, keys in bounded_users(source, DistinctPairs(most), tell):
        yield keys


def _count_users(request: Request) -> int:
    """Return how many different users there are, those without any item included."""
    import numpy as np

    from hushcount.ldp.server.reports import NonceSet

    key, users = fresh_key(), NonceSet()
    for batch in replace(request, column=request.user, user=None, key_type="auto").open().batches():
        names = (repr(user).encode("utf-8", "surrogatepass") for user in batch.keys.unique().to_pylist())
        hashes = [int.from_bytes(blake2b(name, digest_size=8, key=key).digest(), "little") for name in names]
        users.add(np.array(hashes, np.uint64).reshape(-1, 1))
    return len(users)


def item_of(item: object, encoding: Encoding) -> object:
    """Return the number that a text writes if the encoding is of numbers, otherwise the item itself.

    >>> item_of(" 12", encodings.Integers(8)), item_of("tea", encodings.Integers(8))
    (12, 'tea')
    """
    numbers = isinstance(encoding, encodings.Integers) and isinstance(item, str)
    return int(item) if numbers and _WHOLE_NUMBER.fullmatch(item) else item  # type: ignore[call-overload]


def _with_numbers(users: HeldItems, encoding: Encoding) -> HeldItems:
    """Return users whose items are numbers if the encoding is of numbers; other texts stay, as no item."""
    if not isinstance(encoding, encodings.Integers):
        return users
    return users._replace(items=[item_of(item, encoding) for item in users.items])


def _as_lines(block: bytes, size: int) -> bytes:
    """Return packed reports of `size` bytes as lines of hexadecimal digits."""
    return block.hex("\n", -size).encode() + b"\n"


def paths_of(request: Request) -> list[str]:
    """Return the file that a request reads, if it is one."""
    return [request.data] if isinstance(request.data, str) and request.data != "-" else []
