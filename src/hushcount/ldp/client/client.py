"""The client: one report of its item for a campaign. Pure Python; no other library is loaded."""

from __future__ import annotations

from typing import NamedTuple

from hushcount.ldp.client.state import ClientState
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.public_randomness import pick
from hushcount.ldp.wire.questions import QuestionPlace
from hushcount.ldp.wire.report import nonce_bytes, pack
from hushcount.ldp.wire.response import respond
from hushcount.secure import ByteSource, system_bytes


class Assignment(NamedTuple):
    """The question that a group assigns to a nonce; all of it is public."""

    question: int  # its number in the group
    row: int
    masks: tuple[int, ...]
    extra: int


def assigned(manifest: Manifest, nonce: bytes, number: int) -> Assignment:
    """Return the question that group `number` of the manifest assigns to a nonce."""
    group = manifest.groups[number]
    words = manifest.public.words(nonce, number)
    place = pick(words[0], group.cumulative)
    question = group.questions[place]
    low = (1 << question.cell_bits) - 1
    masks = tuple([word & low for word in words[2 : 2 + group.symbol_bits]])
    return Assignment(place, words[1] * question.rows >> 32, masks, words[7])


def truthful(manifest: Manifest, value: int, number: int, assignment: Assignment) -> int:
    """Return the truthful symbol of an encoded item.

    Bit i of the symbol is the parity of the item's cell under mask i; a flip turns bit 0.
    """
    question = manifest.groups[number].questions[assignment.question]
    width = manifest.encoding.width
    place = QuestionPlace(
        manifest.public, width, number, assignment.question, assignment.row, assignment.extra
    )
    cell, symbol = question.cell(value, place)
    for bit, mask in enumerate(assignment.masks):
        symbol ^= ((mask & cell).bit_count() & 1) << bit
    return symbol


class Client:
    """Makes the one report of a user for a campaign.

    Theorem: the report is epsilon-locally differentially private, for the epsilon of the manifest.
    Neighbours: any two items, or an item and none.
    Assumes: the user's reports for this campaign, and the budget, are kept in one `state`.
    Parameters: each group answers with its own epsilon; together they are at most the manifest's.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py

    Parameters
    ----------
    manifest:
        The campaign.
    nonce:
        Eight bytes, or an integer below 2^64, from the collector. A client that picked its own could look for
        one with more influence on the result.
    state:
        What the user's device remembers of this and other campaigns; by default nothing is kept.
    bits:
        Source of random bytes; by default the secure generator of the operating system.
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
        """Return the 18 bytes to send: fresh ones the first time, then the same again.

        Parameters
        ----------
        item:
            What the user holds. If there is none, if it cannot be encoded or if the budget is used up, the
            symbols are uniform; an error would reveal something about the user.
        now:
            The time in seconds since 1970; by default the present.

        Raises
        ------
        ManifestError
            If the campaign has expired.
        """
        self.manifest.refuse_expired(now)
        value = self._encode(item)

        def draw(affordable: bool) -> bytes:
            return pack(self.manifest, self.nonce, self._symbols(value if affordable else None))

        return self.state.once(self.manifest, draw)

    def _encode(self, item: object) -> int | None:
        """Return the encoded item, or None if it cannot be encoded."""
        try:
            return self.manifest.encoding.encode(item)
        except Exception:  # it would reveal something about the item, so report as if there were none
            return None

    def _symbols(self, value: int | None) -> int:
        """Draw the symbols of all groups, joined into one number."""
        joined = shift = 0
        for number, group in enumerate(self.manifest.groups):
            assignment = assigned(self.manifest, self.nonce, number)
            truth = None if value is None else truthful(self.manifest, value, number, assignment)
            joined |= respond(truth, group.symbol_bits, group.probability, self._bits) << shift
            shift += group.symbol_bits
        return joined
