"""A question about a prefix together with a few hashed bits of the whole item. Pure Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hushcount.ldp.wire.public_randomness import BUCKET, CELL, SHARED, WIDEST_HASH
from hushcount.ldp.wire.words import WIDEST_ITEM, Fields
from hushcount.privacy import check_count

if TYPE_CHECKING:
    from hushcount.ldp.wire.questions import QuestionPlace


@dataclass(frozen=True, slots=True)
class TaggedPrefix:
    """Asks for the top `bits` bits of the item with a tag of `tag_bits` bits, hashed in each row.

    The tag is a hash of the whole item, the same in all questions and rows of a group. Few items share both
    prefix and tag, so an answer says something about one item, not only about its prefix.
    """

    kind: ClassVar[str] = "tagged_prefix"
    bits: int
    tag_bits: int
    rows: int
    cell_bits: int

    def __post_init__(self) -> None:
        check_count("bits", self.bits, most=WIDEST_ITEM)
        check_count("tag_bits", self.tag_bits, most=WIDEST_HASH)
        check_count("rows", self.rows, most=1 << 16)
        check_count("cell_bits", self.cell_bits, most=min(self.key_bits - 1, WIDEST_HASH))

    @property
    def key_bits(self) -> int:
        """Bits of the tag and of the prefix together."""
        return self.tag_bits + self.bits

    @property
    def flips(self) -> bool:
        """Tagged prefixes have none."""
        return False

    def fits(self, width: int) -> bool:
        """Return whether the prefix is shorter than the item; for a whole item the tag says nothing new."""
        return self.bits < width

    def cell(self, value: int, place: QuestionPlace) -> tuple[int, int]:
        """Return the hash of tag and prefix, and no flip."""
        shared = (place.group, SHARED, 0)
        tag = place.public.hash(BUCKET, shared, value, (place.width, self.tag_bits))
        key = tag << self.bits | value >> (place.width - self.bits)
        where = (place.group, place.question, place.row)
        return place.public.hash(CELL, where, key, (self.key_bits, self.cell_bits)), 0

    def to_dict(self) -> Fields:
        """Return the question as the manifest writes it."""
        return {
            "kind": self.kind,
            "bits": self.bits,
            "tag_bits": self.tag_bits,
            "rows": self.rows,
            "cell_bits": self.cell_bits,
        }
