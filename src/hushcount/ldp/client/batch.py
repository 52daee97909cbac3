"""Many clients at once, for simulations and for turning a file of items into reports.

Each report has the law of the pure client's, and is the same bytes if it is fed the same random bytes.
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

_DRAW = 16  # bytes a response
_MORE = 8


@dataclass(frozen=True, slots=True)
class Items:
    """Encoded items, one a client, as rows of 32-bit words; where `fits` is false there is none."""

    words: ItemWords
    fits: Mask

    @classmethod
    def of(cls, items: Iterable[object], encoding: Encoding) -> Items:
        """Encode items; None or what does not fit is no item."""
        values = [encoding.encode(item) for item in items]
        fits = np.array([value is not None for value in values], np.bool_)
        return cls(to_words((value or 0 for value in values), encoding.width), fits)

    def take(self, which: npt.NDArray[np.integer] | slice) -> Items:
        """Some of the items, in the order asked for, with repetitions."""
        return Items(self.words[which], self.fits[which])


def respond_all(manifest: Manifest, nonces: Nonces, items: Items, bits: Bits) -> Symbols:
    """The last byte of the report of every client: its symbols of all groups."""
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
    group = manifest.groups[asked[0]]
    answers = _truths(manifest, asked, nonces, items)
    draws = np.frombuffer(bits.bytes(_DRAW * len(nonces)), np.uint8).reshape(-1, _DRAW)
    mask = np.uint8(group.symbols - 1)
    if kernels.respond(answers, items.fits, draws, np.uint64(group.probability), mask):
        for report in np.flatnonzero(answers & kernels.UNDECIDED):
            answers[report] = (answers[report] ^ _replacement(int(mask), bits)) & mask
    return answers


def _replacement(mask: int, bits: Bits) -> np.uint8:
    """The first nonzero low part of further random bytes."""
    while True:
        for octet in bits.bytes(_MORE):
            if octet & mask:
                return np.uint8(octet & mask)


def _truths(manifest: Manifest, asked: tuple[int, Layout], nonces: Nonces, items: Items) -> Symbols:
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
