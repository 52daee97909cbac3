"""Many clients at once, for simulations and for turning a table of items into reports.

Each report has the distribution of the pure client's, and is the same bytes if it gets the same random bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushcount.ldp._kernels import blake2s
from hushcount.ldp._kernels import respond as kernels
from hushcount.ldp._kernels.tally import BLOCK
from hushcount.ldp.arrays import ItemWords, Mask, Nonces, Symbols
from hushcount.ldp.server.cells import cells_of, to_words
from hushcount.ldp.server.tallies import Layout, derive, order_by_table, positions_of
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import QuestionPlace
from hushcount.noise.bits import Bits

_DRAW = 16  # random bytes per response
_MORE = 8  # bytes drawn while a replacement is missing


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
    """Return the last byte of every client's report: the symbols of all groups."""
    answers = np.zeros(len(nonces), np.uint8)
    shift = 0
    for index, group in enumerate(manifest.groups):
        layout = Layout.of(group)
        for start in range(0, len(nonces), BLOCK):
            part = slice(start, start + BLOCK)
            answers[part] |= (
                _respond(manifest, (index, layout), nonces[part], items.take(part), bits) << shift
            )
        shift += group.symbol_bits
    return answers


def _respond(
    manifest: Manifest, asked: tuple[int, Layout], nonces: Nonces, items: Items, bits: Bits
) -> Symbols:
    """Draw the responses of clients to one group; `asked` is its number and its layout of tables."""
    group = manifest.groups[asked[0]]
    answers = _truths(manifest, asked, nonces, items)
    draws = np.frombuffer(bits.bytes(_DRAW * len(nonces)), np.uint8).reshape(-1, _DRAW)
    mask = np.uint8(group.symbols - 1)
    if kernels.respond(answers, items.fits, draws, np.uint64(group.probability), mask):
        for report in np.flatnonzero(answers & kernels.UNDECIDED):
            answers[report] = (answers[report] ^ _replacement(int(mask), bits)) & mask
    return answers


def _replacement(mask: int, bits: Bits) -> np.uint8:
    """Draw bytes until one has nonzero low bits, and return these."""
    while True:
        for octet in bits.bytes(_MORE):
            if octet & mask:
                return np.uint8(octet & mask)


def _truths(manifest: Manifest, asked: tuple[int, Layout], nonces: Nonces, items: Items) -> Symbols:
    """Return the truthful answers of clients to one group, table by table."""
    index, layout = asked
    group = manifest.groups[index]
    slots, masks = derive(index, group, layout, blake2s.key_state(manifest.seed), nonces)
    order, starts = order_by_table(slots, layout.tables)
    answers = np.empty(len(nonces), np.uint8)
    table = 0
    for number, question in enumerate(group.questions):
        positions = positions_of(question)
        for place in range(question.rows * positions):
            row, position = divmod(place, positions)
            where = QuestionPlace(
                manifest.public, manifest.encoding.width, index, number, row, (position << 32) // positions
            )
            reports = order[starts[table] : starts[table + 1]]
            cells, flips = cells_of(question, where, items.words[reports])
            kernels.truths(reports, cells, flips, masks, answers)
            table += 1
    return answers
