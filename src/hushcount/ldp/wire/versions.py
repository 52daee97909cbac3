"""The versions of the wire: how long nonces and symbols are, and how many bits a symbol has. Pure Python.

Version 1 has nonces of 8 bytes that the collector issues. In version 2 the client draws its own nonce of 16
bytes, because an issued one links a report to a client, and a symbol may have ten bits.
"""

from __future__ import annotations

from dataclasses import dataclass

CAMPAIGN_BYTES = 8  # of the campaign's id, at the start of a report
HEADER_BYTES = 1 + CAMPAIGN_BYTES
_COIN_BYTES = 8
REPLACEMENTS = 7  # random words of which the first that changes the symbol replaces it


@dataclass(frozen=True, slots=True)
class Wire:
    """The sizes of one version. A random word that moves a symbol is as long as the symbols of a report.

    That is a matter of privacy: a byte never changes the upper bits of a symbol of ten bits.
    """

    version: int
    nonce_bytes: int
    symbol_bytes: int  # of the symbols of all groups in a report, and of each random word of a response
    most_symbol_bits: int  # of one group

    @property
    def most_joint_bits(self) -> int:
        """The most bits that the symbols of all groups may have together."""
        return 8 * self.symbol_bytes

    @property
    def report_bytes(self) -> int:
        """The length of a report."""
        return HEADER_BYTES + self.nonce_bytes + self.symbol_bytes

    @property
    def draw_bytes(self) -> int:
        """The random bytes of one response: a coin, a word for a missing truth, words for a replacement."""
        return _COIN_BYTES + (1 + REPLACEMENTS) * self.symbol_bytes

    @property
    def more_bytes(self) -> int:
        """The random bytes that are drawn while a replacement is missing."""
        return (1 + REPLACEMENTS) * self.symbol_bytes

    @property
    def digests(self) -> int:
        """How many digests of public randomness, of eight words each, a nonce has in a group."""
        return self.version


ISSUED = Wire(1, 8, 1, 5)  # nonces from the collector
DRAWN = Wire(2, 16, 2, 10)  # nonces that clients draw
VERSIONS = {wire.version: wire for wire in (ISSUED, DRAWN)}
