"""Many users in one place: a table of items becomes reports, or a simulated campaign beside the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushcount.ldp.arrays import Counts, Nonces, Symbols
from hushcount.ldp.client.batch import Items, respond_all
from hushcount.ldp.server.answers import key_of
from hushcount.ldp.wire.report import CAMPAIGN_BYTES, REPORT_VERSION

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.ldp.wire.encodings import Encoding, Item
    from hushcount.ldp.wire.manifest import Manifest
    from hushcount.noise.bits import Bits
    from hushcount.releases.release import Release

USERS = 1 << 18  # randomised or written together
NO_ITEM = -1
REPORT = np.dtype([("version", "u1"), ("campaign", "V8"), ("nonce", "<u8"), ("symbols", "u1")])


class HeldItems(NamedTuple):
    """Some users with one item each: the different items, and for every user the place of theirs."""

    items: list[object]
    held: Counts  # NO_ITEM for a user without an item

    @classmethod
    def of(cls, keys: pa.Array) -> HeldItems:
        """Return the users of a column, one per row; a null is a user without an item."""
        coded = keys if _is_dictionary(keys) else keys.dictionary_encode()
        held = coded.indices.fill_null(NO_ITEM).to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(coded.dictionary.to_pylist(), held)

    @classmethod
    def without(cls, users: int) -> HeldItems:
        """Return users that have no item."""
        return cls([], np.full(users, NO_ITEM, np.int64))


def _is_dictionary(keys: pa.Array) -> bool:
    """Return whether keys are stored as places in a dictionary."""
    import pyarrow as pa

    return bool(pa.types.is_dictionary(keys.type))


class ReportPool:
    """Reports of many users, which come out in a random order.

    Users are added a few at a time, and only their reports are kept, nine bytes each. Nonces are drawn as a
    collector would draw them, uniformly and without regard to the items, so the order of the nonces is a
    uniformly random order of the users: sorted by nonce, the reports say nothing about the order of the rows
    or about where users without an item stood.
    """

    def __init__(self, manifest: Manifest, bits: Bits) -> None:
        self.manifest = manifest
        self.bits = bits
        self._parts: list[tuple[Nonces, Symbols]] = []

    def add(self, users: HeldItems) -> None:
        """Draw the reports of some users."""
        items = Items.of([*users.items, None], self.manifest.encoding)  # the last, NO_ITEM, is no item
        for start in range(0, len(users.held), USERS):
            held = users.held[start : start + USERS]
            nonces = self.bits.words(len(held))
            symbols = respond_all(self.manifest, nonces, items.take(held), self.bits)
            self._parts.append((nonces, symbols))

    def __len__(self) -> int:
        return sum(len(nonces) for nonces, _ in self._parts)

    def shuffled(self) -> Iterator[bytes]:
        """Yield the packed reports of all users in a random order, in blocks."""
        nonces = np.concatenate([np.empty(0, np.uint64), *(part[0] for part in self._parts)])
        symbols = np.concatenate([np.empty(0, np.uint8), *(part[1] for part in self._parts)])
        self._parts = []
        order = np.argsort(nonces)
        for start in range(0, len(order), USERS):
            which = order[start : start + USERS]
            yield packed(self.manifest, nonces[which], symbols[which])


def packed(manifest: Manifest, nonces: Nonces, symbols: Symbols) -> bytes:
    """Return reports one after the other, as they are sent."""
    reports = np.empty(len(nonces), REPORT)
    reports["version"] = REPORT_VERSION
    reports["campaign"] = np.void(manifest.campaign[:CAMPAIGN_BYTES])
    reports["nonce"] = nonces
    reports["symbols"] = symbols
    return reports.tobytes()


class Population:
    """The users of a simulation: each different item once, encoded, and eight bytes for every user."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self._places: dict[int, int] = {}  # of encoded items
        self._held: list[Counts] = []

    def __len__(self) -> int:
        return sum(map(len, self._held))

    def add(self, users: HeldItems) -> None:
        """Add some users; an item that cannot be encoded is none."""
        places = np.full(len(users.items) + 1, NO_ITEM, np.int64)
        for number, item in enumerate(users.items):
            value = self.encoding.encode(item)
            if value is not None:
                places[number] = self._places.setdefault(value, len(self._places))
        self._held.append(places[users.held])

    def held_items(self) -> HeldItems:
        """Return all users."""
        items: list[object] = [self.encoding.decode(value) for value in self._places]
        return HeldItems(items, np.concatenate([np.empty(0, np.int64), *self._held]))

    def true_counts(self) -> dict[Item | None, int]:
        """Return how many users hold each item; those without one are left out."""
        counts = np.zeros(len(self._places), np.int64)
        for held in self._held:
            counts += np.bincount(held[held >= 0], minlength=len(counts))
        keys = [key_of(self.encoding, value) for value in self._places]
        return dict(zip(keys, counts.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was published against the truth, which is raw data: for the operator of a simulation only.

    A share of nothing is None: precision and the share of intervals that hold if no item was published,
    recall if no item is heavy.
    """

    precision: float | None
    recall: float | None
    heavy: int
    in_interval: float | None
    rows: tuple[dict[str, object], ...]

    @classmethod
    def of(cls, release: Release, truth: Mapping[Item | None, int], threshold: float) -> Comparison:
        """Compare a release with true counts; an item is heavy if its true count reaches the threshold."""
        published = release.table.to_pylist()
        rows = tuple({**row, "true": truth.get(row["key"], 0)} for row in published)
        heavy = sum(count >= threshold for count in truth.values())
        right = sum(row["true"] >= threshold for row in rows)
        inside = sum(row["lower"] <= row["true"] <= row["upper"] for row in rows)
        return cls(_share(right, len(rows)), _share(right, heavy), heavy, _share(inside, len(rows)), rows)


def _share(part: int, whole: int) -> float | None:
    """Return part / whole, or None for a share of nothing."""
    return part / whole if whole else None
