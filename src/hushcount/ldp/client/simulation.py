"""Many users in one place: a table of items becomes reports, or a simulated campaign beside the truth.

Each report has the distribution of the pure client's, and is the same bytes if it gets the same random bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Counts, ItemWords, Mask, Nonces, Symbols
from hushcount.ldp._kernels import items as kernels
from hushcount.ldp._kernels.tally import BLOCK
from hushcount.ldp.server.decoding import key_of
from hushcount.ldp.server.reports import as_rows, nonce_words
from hushcount.ldp.server.tallies import Layout, cells_of, to_words
from hushcount.ldp.wire.report import header

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.ldp.wire.encodings import Encoding, Item
    from hushcount.ldp.wire.manifest import Manifest
    from hushcount.ldp.wire.versions import Wire
    from hushcount.noise.bits import Bits
    from hushcount.releases.release import Release

USERS = 1 << 18  # randomised or written together
NO_ITEM = -1


@dataclass(frozen=True, slots=True)
class Items:
    """Encoded items, one per client, as rows of 32-bit words; if `fits` is false, there is none."""

    words: ItemWords
    fits: Mask

    @classmethod
    def of(cls, items: Iterable[object], encoding: Encoding) -> Items:
        """Return encoded items; None, and what cannot be encoded, is no item."""
        values = [encoding.encode(item) for item in items]
        fits = np.array([value is not None for value in values], np.bool_)
        return cls(to_words((value or 0 for value in values), encoding.width), fits)

    def take(self, which: npt.NDArray[np.integer] | slice) -> Items:
        """Return the chosen items in the given order, perhaps some of them repeatedly."""
        return Items(self.words[which], self.fits[which])


def respond_all(manifest: Manifest, nonces: Nonces, items: Items, bits: Bits) -> Symbols:
    """Return the symbols of all groups, joined, of every client's report."""
    nonces = as_rows(nonces, manifest.wire)
    answers = np.zeros(len(nonces), np.uint16)
    shift = 0
    for index, group in enumerate(manifest.groups):
        layout = Layout(manifest, index)
        for start in range(0, len(nonces), BLOCK):
            part = slice(start, start + BLOCK)
            answers[part] |= _respond(layout, nonces[part], items.take(part), bits) << shift
        shift += group.symbol_bits
    return answers


def _respond(layout: Layout, nonces: Nonces, items: Items, bits: Bits) -> Symbols:
    """Draw the responses of clients to one group."""
    answers = _truths(layout, nonces, items)
    mask = np.uint16(layout.group.symbols - 1)
    wire = layout.manifest.wire
    drawn = np.frombuffer(bits.bytes(wire.draw_bytes * len(nonces)), np.uint8).reshape(-1, wire.draw_bytes)
    coins = np.ascontiguousarray(drawn[:, :8]).view("<u8")[:, 0]
    draws = coins, np.ascontiguousarray(drawn[:, 8:]).view(_words(wire))
    if kernels.respond(answers, items.fits, draws, np.uint64(layout.group.probability), mask):
        for report in np.flatnonzero(answers & kernels.UNDECIDED):
            answers[report] = (answers[report] ^ _replacement(mask, wire, bits)) & mask
    return answers


def _words(wire: Wire) -> str:
    """Return the type of a random word."""
    return f"<u{wire.symbol_bytes}"


def _replacement(mask: np.uint16, wire: Wire, bits: Bits) -> np.uint16:
    """Draw words until one has nonzero low bits, and return these."""
    while True:
        low = np.frombuffer(bits.bytes(wire.more_bytes), _words(wire)).astype(np.uint16) & mask
        if low.any():
            return np.uint16(low[np.argmax(low != 0)])


def _truths(layout: Layout, nonces: Nonces, items: Items) -> Symbols:
    """Return the truthful answers of clients to one group, table by table."""
    order, starts, masks = layout.deal(nonces)
    answers = np.empty(len(nonces), np.uint16)
    table = 0
    for number, question in enumerate(layout.group.questions):
        for own in range(question.tables):
            reports = order[starts[table] : starts[table + 1]]
            cells, flips = cells_of(question, question.at(layout.place(number), own), items.words[reports])
            kernels.truths(reports, cells, flips, masks, answers)
            table += 1
    return answers


class HeldItems(NamedTuple):
    """Some users with one item each: the different items, and for every user the place of theirs."""

    items: list[object]
    held: Counts  # NO_ITEM for a user without an item

    @classmethod
    def of(cls, keys: pa.Array) -> HeldItems:
        """Return the users of a column, one per row; a null is a user without an item."""
        coded = keys.dictionary_encode()
        held = coded.indices.fill_null(NO_ITEM).to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(coded.dictionary.to_pylist(), held)

    @classmethod
    def without(cls, users: int) -> HeldItems:
        """Return users that have no item."""
        return cls([], np.full(users, NO_ITEM, np.int64))


class ReportPool:
    """Reports of many users, which come out in a random order.

    Users are added a few at a time, and only nonces and symbols are kept. Nonces are drawn as clients draw
    them, uniformly and without regard to the items, so the order of the nonces is a uniformly random order of
    the users: sorted by nonce, the reports say nothing about the order of the rows or about where users
    without an item stood.
    """

    def __init__(self, manifest: Manifest, bits: Bits) -> None:
        self.manifest = manifest
        self.bits = bits
        self._words = nonce_words(manifest.wire)
        self._parts: list[tuple[Nonces, Symbols]] = []

    def add(self, users: HeldItems) -> None:
        """Draw the reports of some users."""
        items = Items.of([*users.items, None], self.manifest.encoding)  # the last, NO_ITEM, is no item
        for start in range(0, len(users.held), USERS):
            held = users.held[start : start + USERS]
            nonces = self.bits.words(len(held) * self._words).reshape(-1, self._words)
            symbols = respond_all(self.manifest, nonces, items.take(held), self.bits)
            self._parts.append((nonces, symbols))

    def __len__(self) -> int:
        return sum(len(nonces) for nonces, _ in self._parts)

    def shuffled(self) -> Iterator[bytes]:
        """Yield the packed reports of all users in a random order, in blocks."""
        nonces = np.concatenate([np.empty((0, self._words), np.uint64), *(part[0] for part in self._parts)])
        symbols = np.concatenate([np.empty(0, np.uint16), *(part[1] for part in self._parts)])
        self._parts = []
        order = np.argsort(nonces[:, 0])  # equal ones are as rare as 64 random bits are equal
        for start in range(0, len(order), USERS):
            which = order[start : start + USERS]
            yield packed(self.manifest, nonces[which], symbols[which])


def packed(manifest: Manifest, nonces: Nonces, symbols: Symbols) -> bytes:
    """Return reports one after the other, as they are sent."""
    wire = manifest.wire
    sizes = [("header", "V9"), ("nonce", f"({nonce_words(wire)},)<u8"), ("symbols", f"<u{wire.symbol_bytes}")]
    reports = np.empty(len(nonces), np.dtype(sizes))
    reports["header"] = np.void(header(manifest))
    reports["nonce"] = as_rows(nonces, wire)
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
