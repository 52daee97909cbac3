"""Questions of a manifest: each maps an item and a row to a cell, and some also to a flip. Pure Python.

A client is asked for the parities of its cell under masks that its nonce decides. A flip is a bit that turns
the answer; questions with flips have one mask. A question is public; whatever it maps an item to, the
response is private (docs/proofs/ldp.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self, cast

from hushcount.errors import ParameterError
from hushcount.ldp.wire.parts import WIDEST_ITEM, Fields, Part, derive, read_part
from hushcount.ldp.wire.public_randomness import BUCKET, CELL, SHARED, SIGN, WIDEST_HASH, PublicRandomness
from hushcount.privacy import check_count

MOST_ROWS = 1 << 16
MOST_COLUMNS = 1 << 12


class QuestionPlace(NamedTuple):
    """Everything public about the question of one report, besides the question itself."""

    public: PublicRandomness
    width: int  # bits of an item
    group: int
    question: int  # its number in the group
    row: int
    extra: int  # a 32-bit word


@dataclass(frozen=True, slots=True)
class Question(Part, ABC):
    """What a group asks some of its clients. A question with flips needs a response of one bit."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of rows, each with hash functions of its own."""

    @property
    @abstractmethod
    def cell_bits(self) -> int:
        """Cells are 0 .. 2^cell_bits - 1."""

    @property
    def flips(self) -> bool:
        """Whether the answer also depends on a flip."""
        return False

    @property
    def positions(self) -> int:
        """How many tables a row has: one for each place of a codeword, otherwise one."""
        return 1

    @property
    def tables(self) -> int:
        """The number of tables in which the server adds up the answers."""
        return self.rows * self.positions

    def at(self, place: QuestionPlace, table: int) -> QuestionPlace:
        """Return the place of a table: row by row, position by position."""
        row, position = divmod(table, self.positions)
        return place._replace(row=row, extra=(position << 32) // self.positions)

    @property
    def collision_chance(self) -> float:
        """The probability that another key lies in the same cell."""
        return 2.0**-self.cell_bits

    @property
    def background(self) -> float:
        """The fraction of the other items that a cell counts on average; flips cancel them out."""
        return 0.0 if self.flips else self.collision_chance

    @abstractmethod
    def fits(self, width: int) -> bool:
        """Return whether it can be asked about items of `width` bits."""

    @abstractmethod
    def cell(self, value: int, place: QuestionPlace) -> tuple[int, int]:
        """Return the cell and the flip (0 or 1) of an encoded item."""


def _bucket(value: int, place: QuestionPlace, bits: int, quotient_bits: int) -> int:
    """Return the bucket of an item. In one row, questions of a group with equal numbers of bits share it.

    The hash of the lower bits is xored with the top `quotient_bits`, so that bucket and lower bits together
    give the item back, and only the lower bits have to be identified.
    """
    rest_bits = place.width - quotient_bits
    rest = value & ((1 << rest_bits) - 1)
    where = (place.group, SHARED, place.row)
    return place.public.hash(BUCKET, where, rest, (rest_bits, bits)) ^ value >> rest_bits


@dataclass(frozen=True, slots=True)
class Prefix(Question):
    """Asks for the top `bits` bits of the item, hashed to `cell_bits` in each row, unless both are equal.

    With signed = 1 each prefix also has a hashed sign, which is its flip.
    """

    kind: ClassVar[str] = "prefix"
    bits: int
    rows: int = field()  # without field(), the property of Question would be its default
    cell_bits: int = field()
    signed: int = 0

    def __post_init__(self) -> None:
        check_count("bits", self.bits, most=WIDEST_ITEM)
        check_count("rows", self.rows, most=MOST_ROWS)
        check_count("cell_bits", self.cell_bits, most=min(self.bits, WIDEST_HASH))
        check_count("signed", self.signed, least=0, most=1)

    @property
    def key_bits(self) -> int:
        """Bits of what is hashed: the prefix."""
        return self.bits

    @property
    def hashed(self) -> bool:
        """Whether cells are hashes of prefixes rather than prefixes."""
        return self.cell_bits < self.bits

    @property
    def collision_chance(self) -> float:
        """The probability that another prefix lies in the same cell."""
        return 2.0**-self.cell_bits if self.hashed else 0.0

    @property
    def flips(self) -> bool:
        """Whether prefixes have signs."""
        return self.signed == 1

    def fits(self, width: int) -> bool:
        """Return whether items have so many bits."""
        return self.bits <= width

    def cell(self, value: int, place: QuestionPlace) -> tuple[int, int]:
        """Return the prefix or its hash, and its sign."""
        prefix = value >> (place.width - self.bits)
        where = (place.group, place.question, place.row)
        flip = place.public.hash(SIGN, where, prefix, (self.bits, 1)) if self.signed else 0
        if self.cell_bits == self.bits:
            return prefix, flip
        return place.public.hash(CELL, where, prefix, (self.bits, self.cell_bits)), flip


@dataclass(frozen=True, slots=True)
class TaggedPrefix(Question):
    """Asks for the top `bits` bits of the item with a tag of `tag_bits` bits, hashed in each row.

    The tag is a hash of the whole item, the same in all questions and rows of a group. Few items share both
    prefix and tag, so an answer says something about one item, not only about its prefix.
    """

    kind: ClassVar[str] = "tagged_prefix"
    bits: int
    tag_bits: int
    rows: int = field()
    cell_bits: int = field()

    def __post_init__(self) -> None:
        check_count("bits", self.bits, most=WIDEST_ITEM)
        check_count("tag_bits", self.tag_bits, most=WIDEST_HASH)
        check_count("rows", self.rows, most=MOST_ROWS)
        check_count("cell_bits", self.cell_bits, most=min(self.key_bits - 1, WIDEST_HASH))

    @property
    def key_bits(self) -> int:
        """Bits of the tag and of the prefix together."""
        return self.tag_bits + self.bits

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


@dataclass(frozen=True, slots=True)
class Chunk(Question):
    """Asks for the bucket of the item and a chunk of it: `bits` bits, the first of which is bit `start`.

    Bit 0 is the top bit, and cell = bucket << bits | chunk. Questions of a group with equal bucket_bits and
    quotient_bits share the hash of the bucket; each row has another one.
    """

    kind: ClassVar[str] = "chunk"
    bucket_bits: int
    start: int
    bits: int
    rows: int = 1
    quotient_bits: int = 0

    def __post_init__(self) -> None:
        check_count("bucket_bits", self.bucket_bits, most=WIDEST_HASH)
        check_count("quotient_bits", self.quotient_bits, least=0, most=self.bucket_bits)
        check_count("start", self.start, least=0, most=WIDEST_ITEM)
        check_count("bits", self.bits)
        check_count("rows", self.rows, most=MOST_ROWS)
        check_count("bucket_bits + bits", self.cell_bits, most=WIDEST_HASH)

    @property
    def cell_bits(self) -> int:
        """Bits of the bucket and of the chunk together."""
        return self.bucket_bits + self.bits

    def fits(self, width: int) -> bool:
        """Return whether the chunk lies inside the item and something is left to hash."""
        return self.start + self.bits <= width and self.quotient_bits < width

    def cell(self, value: int, place: QuestionPlace) -> tuple[int, int]:
        """Return the bucket joined with the chunk, and no flip."""
        chunk = value >> (place.width - self.start - self.bits) & ((1 << self.bits) - 1)
        return _bucket(value, place, self.bucket_bits, self.quotient_bits) << self.bits | chunk, 0


@dataclass(frozen=True, slots=True)
class CodeBit(Question):
    """Asks for the bucket of the item, flipped by one bit of the item's codeword in a linear code.

    Bit i of the codeword of v is parity(columns[i] & v); the extra word of public randomness picks i. The
    number of columns is a power of two. The manifest lists the columns, so a client needs to know no code.
    """

    kind: ClassVar[str] = "code_bit"
    bucket_bits: int
    columns: Sequence[int]
    rows: int = 1
    quotient_bits: int = 0

    def __post_init__(self) -> None:
        check_count("bucket_bits", self.bucket_bits, most=WIDEST_HASH)
        check_count("quotient_bits", self.quotient_bits, least=0, most=self.bucket_bits)
        check_count("rows", self.rows, most=MOST_ROWS)
        columns = tuple(check_count("a column", column) for column in self.columns)
        size = check_count("the number of columns", len(columns), most=MOST_COLUMNS)
        if size & (size - 1):
            raise ParameterError(f"the number of columns must be a power of two, got {size}.")
        derive(self, columns=columns)

    @property
    def cell_bits(self) -> int:
        """Bits of the bucket."""
        return self.bucket_bits

    @property
    def flips(self) -> bool:
        """Whether there is a flip: always, the bit of the codeword."""
        return True

    def fits(self, width: int) -> bool:
        """Return whether columns have at most one bit for each bit of the item."""
        return max(self.columns).bit_length() <= width and self.quotient_bits < width

    @property
    def positions(self) -> int:
        """One table for each place of the codeword."""
        return len(self.columns)

    def position(self, extra: int) -> int:
        """Return the number of the bit of the codeword that is asked for."""
        return extra * len(self.columns) >> 32

    def cell(self, value: int, place: QuestionPlace) -> tuple[int, int]:
        """Return the bucket, and the bit of the codeword."""
        flip = (self.columns[self.position(place.extra)] & value).bit_count() & 1
        return _bucket(value, place, self.bucket_bits, self.quotient_bits), flip

    def to_dict(self) -> Fields:
        """Return the question as the manifest writes it; columns may exceed 53 bits, so they are texts."""
        columns = [f"{column:x}" for column in self.columns]
        return {**Question.to_dict(self), "columns": columns}

    @classmethod
    def read(cls, written: Fields) -> Self:
        """Return the question that the manifest writes so."""
        columns = [int(column, 16) for column in cast(list[str], written["columns"])]
        make: Callable[..., Self] = cls
        return make(**{**written, "columns": columns})


# By the kind that the manifest names. A new kind is added here; clients load it, so it is pure Python.
KINDS: dict[str, type[Question]] = {kind.kind: kind for kind in (Prefix, TaggedPrefix, Chunk, CodeBit)}


def from_dict(written: object) -> Question:
    """Return the question that a manifest describes, or raise ManifestError."""
    return read_part(written, KINDS, "a question")
