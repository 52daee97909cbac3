"""The client: the report of a user's items for a campaign. Pure Python; no other library is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2s
from typing import NamedTuple

from hushcount.errors import ParameterError
from hushcount.ldp.client.state import ClientState
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.public_randomness import pick
from hushcount.ldp.wire.questions import QuestionPlace
from hushcount.ldp.wire.report import nonce_bytes, pack
from hushcount.ldp.wire.response import respond
from hushcount.ldp.wire.versions import ISSUED
from hushcount.secure import ByteSource, system_bytes

_KEY_BYTES = 16  # of the hash that chooses among several items


class Assignment(NamedTuple):
    """The question that a group assigns to a nonce; all of it is public."""

    question: int  # its number in the group
    row: int
    masks: tuple[int, ...]
    extra: int


def assigned(manifest: Manifest, nonce: bytes, number: int) -> Assignment:
    """Return the question that group `number` of the manifest assigns to a nonce."""
    group = manifest.groups[number]
    words = manifest.public.words(nonce, number, manifest.wire)
    place = pick(words[0], group.cumulative)
    question = group.questions[place]
    low = (1 << question.cell_bits) - 1
    masks = tuple([word & low for word in words[2 : 2 + group.symbol_bits]])
    return Assignment(place, words[1] * question.rows >> 32, masks, words[-1])


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
    """Makes the report of a user for a campaign, or the few reports that the manifest asks for.

    Theorem: all that is sent is epsilon-locally differentially private, for the epsilon of the manifest.
    Neighbours: any two items, or sets of items, or an item and none.
    Assumes: the user's reports for this campaign, and the budget, are kept in one `state`.
    Parameters: each group of each report answers with its own epsilon; together they are at most the
    manifest's.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py

    Parameters
    ----------
    manifest:
        The campaign.
    nonce:
        By default a client draws its own, from the secure generator. In campaigns of version 1 it is given by
        the collector: eight bytes, or an integer below 2^64. A given nonce of version 2 has 16 bytes for
        every report; it is for tests, because whoever gives it out can link the report to the user.
    state:
        What the user's device remembers of this and other campaigns; by default nothing is kept.
    bits:
        Source of random bytes; by default the secure generator of the operating system.
    """

    __slots__ = ("_bits", "_given", "manifest", "state")

    def __init__(
        self,
        manifest: Manifest,
        nonce: bytes | int | None = None,
        *,
        state: ClientState | None = None,
        bits: ByteSource | None = None,
    ) -> None:
        if nonce is None and manifest.wire is ISSUED:
            raise ParameterError("a campaign of version 1 needs the nonce that the collector gave the user.")
        self.manifest = manifest
        self._given = None if nonce is None else _given_nonces(nonce, manifest)
        self.state = ClientState() if state is None else state
        self._bits = system_bytes() if bits is None else bits

    def report(self, item: object = None, *, now: float | None = None) -> bytes:
        """Return the bytes to send: fresh ones the first time, then the same again.

        A report has 27 bytes (18 in version 1). If the manifest asks for several, they stand one after the
        other; all but one then say that there is no further item.

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
        return self._once(lambda: [self._encode(item)], now)

    def report_items(self, items: Iterable[object], *, now: float | None = None) -> bytes:
        """Return the bytes to send for a user with several items, as `report` does.

        Of more different items than the manifest asks for, some are chosen by a keyed hash, each as likely as
        any other. The key is fresh and secret.

        Parameters
        ----------
        items:
            What the user holds. Those that cannot be encoded are left out.
        now:
            The time in seconds since 1970; by default the present.

        Raises
        ------
        ManifestError
            If the campaign has expired.
        """
        held = list(items)
        return self._once(lambda: self._chosen(held), now)

    def _once(self, choose: Callable[[], list[int | None]], now: float | None) -> bytes:
        """Return the stored reports, or draw those of the chosen items and store them first."""
        self.manifest.refuse_expired(now)

        def draw(affordable: bool) -> bytes:
            chosen = choose()
            values = chosen + [None] * (self.manifest.reports - len(chosen))
            return b"".join(
                pack(self.manifest, nonce, self._symbols(nonce, value if affordable else None))
                for nonce, value in zip(self._nonces(), values, strict=True)
            )

        return self.state.once(self.manifest, draw)

    def _nonces(self) -> list[bytes]:
        """Return a nonce for each report: those given, or fresh ones, which know nothing about the items."""
        size = self.manifest.wire.nonce_bytes
        return self._given or [self._bits.bytes(size) for _ in range(self.manifest.reports)]

    def _chosen(self, items: list[object]) -> list[int | None]:
        """Return as many different encoded items as there are reports, at most; the key is drawn anyway."""
        key = self._bits.bytes(_KEY_BYTES)
        values = {value for value in map(self._encode, items) if value is not None}
        by_hash = sorted(values, key=lambda value: blake2s(b"%x" % value, key=key).digest())
        return list(by_hash[: self.manifest.reports])

    def _encode(self, item: object) -> int | None:
        """Return the encoded item, or None if it cannot be encoded."""
        try:
            return self.manifest.encoding.encode(item)
        except Exception:  # it would reveal something about the item, so report as if there were none
            return None

    def _symbols(self, nonce: bytes, value: int | None) -> int:
        """Draw the symbols of all groups, joined into one number."""
        joined = shift = 0
        for number, group in enumerate(self.manifest.groups):
            assignment = assigned(self.manifest, nonce, number)
            truth = None if value is None else truthful(self.manifest, value, number, assignment)
            symbol = respond(truth, group.symbol_bits, group.probability, self._bits, self.manifest.wire)
            joined |= symbol << shift
            shift += group.symbol_bits
        return joined


def _given_nonces(nonce: bytes | int, manifest: Manifest) -> list[bytes]:
    """Return the given nonces, one for each report, or raise."""
    size, count = manifest.wire.nonce_bytes, manifest.reports
    if count == 1:
        return [nonce_bytes(nonce, manifest.wire)]
    if not isinstance(nonce, bytes) or len(nonce) != size * count:
        raise ParameterError(f"nonce must be {size * count} bytes, {size} for each of {count} reports.")
    return [nonce[start : start + size] for start in range(0, len(nonce), size)]
