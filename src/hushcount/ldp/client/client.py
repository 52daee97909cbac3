"""What a nonce is asked, and what the truthful answer is: all public but the item. Pure Python.

The client: one report of its item for a campaign. Pure Python, and light: no library is loaded.
"""

from __future__ import annotations

from typing import NamedTuple

from hushcount.ldp.client.state import ClientState
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.public_randomness import pick
from hushcount.ldp.wire.questions import QuestionPlace
from hushcount.ldp.wire.report import nonce_bytes, pack
from hushcount.ldp.wire.response import respond
from hushcount.secure import ByteSource, system_bytes


class Asked(NamedTuple):
    """One group's question to one nonce."""

    question: int  # its number in the group
    row: int
    masks: tuple[int, ...]
    extra: int


def asked(manifest: Manifest, nonce: bytes, number: int) -> Asked:
    """What group `number` of the manifest asks the nonce."""
    group = manifest.groups[number]
    words = manifest.public.words(nonce, number)
    place = pick(words[0], group.cumulative)
    question = group.questions[place]
    low = (1 << question.cell_bits) - 1
    masks = tuple([word & low for word in words[2 : 2 + group.symbol_bits]])
    return Asked(place, words[1] * question.rows >> 32, masks, words[7])


def truthful(manifest: Manifest, value: int, number: int, ask: Asked) -> int:
    """The truthful symbol of an encoded item: the parities of its cell with the masks, the first lowest."""
    question = manifest.groups[number].questions[ask.question]
    place = QuestionPlace(manifest.public, manifest.encoding.width, number, ask.question, ask.row, ask.extra)
    cell, symbol = question.cell(value, place)
    for bit, mask in enumerate(ask.masks):
        symbol ^= ((mask & cell).bit_count() & 1) << bit
    return symbol


class Client:
    """Makes the one report of a user for a campaign.

    Theorem: the report is epsilon-locally differentially private, for the epsilon of the manifest.
    Neighbours: any two items, or an item and none.
    Assumes: the user's reports for this campaign, and the budget, are kept in one `state`.
    Parameters: each group answers with its own epsilon; those of the groups sum to the manifest's at most.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py

    The nonce comes from the collector (a client that picks its own can seek one with more influence).
    """

    __slots__ = ("_bits", "manifest", "nonce", "state")

    def __init__(
        self,
        manifest: Manifest,
        nonce: bytes | int,
        *,
        state: ClientState | None = None,
        bits: ByteSource | None = None,
    ) -> None:
        self.manifest = manifest
        self.nonce = nonce_bytes(nonce)
        self.state = ClientState() if state is None else state
        self._bits = system_bytes() if bits is None else bits

    def report(self, item: object = None, *, now: float | None = None) -> bytes:
        """Return the 18 bytes to send: fresh ones once for each campaign, then the same again.

        An item that does not fit the encoding, no item, or a budget that is used up is not an error, which
        would say something about the user: the symbols are then uniform. An expired campaign is refused.
        """
        self.manifest.refuse_expired(now)
        value = self._encode(item)
        return self.state.once(self.manifest, lambda affordable: self._fresh(value if affordable else None))

    def _fresh(self, value: int | None) -> bytes:
        return pack(self.manifest, self.nonce, self._symbols(value))

    def _encode(self, item: object) -> int | None:
        try:
            return self.manifest.encoding.encode(item)
        except Exception:  # whatever an odd item raises would say that it is odd
            return None

    def _symbols(self, value: int | None) -> int:
        """The symbols of all groups, joined."""
        joined = shift = 0
        for number, group in enumerate(self.manifest.groups):
            ask = asked(self.manifest, self.nonce, number)
            truth = None if value is None else truthful(self.manifest, value, number, ask)
            joined |= respond(truth, group.symbol_bits, group.probability, self._bits) << shift
            shift += group.symbol_bits
        return joined
