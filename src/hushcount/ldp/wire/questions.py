"""Questions of a manifest: each maps an item and a row to a cell, and some also to a flip. Pure Python.

A client is asked for the parities of its cell under masks that its nonce decides. A flip is a bit that turns
the answer; questions with flips have one mask. A question is public; whatever it maps an item to, the
response is private (docs/proofs/ldp.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.wire.public_randomness import BUCKET, CELL, SHARED, SIGN, WIDEST_HASH, PublicRandomness
from hushcount.ldp.wire.tagged_prefix import TaggedPrefix
from hushcount.ldp.wire.words import WIDEST_ITEM, Fields
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


class Question(Protocol):
    """What a group asks some of its clients. A question with flips needs a response of one bit."""

    @property
    def kind(self) -> str:
        """Its name in the manifest."""
        ...

    @property
    def rows(self) -> int:
        """The number of rows, each with hash functions of its own."""
        ...

    @property
    def cell_bits(self) -> int:
        """Cells are 0 .. 2^cell_bits - 1."""
        ...

    @property
    def flips(self) -> bool:
        """Whether the answer also depends on a flip."""
        ...

    def fits(self, width: int) -> bool:
        """Return whether it can be asked about items of `width` bits."""
        ...

    def cell(self, value: int, place: QuestionPlace) -> tuple[int, int]:
        """Return the cell and the flip (0 or 1) of an encoded item."""
        ...

    def to_dict(self) -> Fields:
        """Return the question as the manifest writes it."""
        ...


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
class Prefix:
    """Asks for the top `bits` bits of the item, hashed to `cell_bits` in each row, unless both are equal.

    With signed = 1 each prefix also has a hashed sign, which is its flip.
    """

    kind: ClassVar[str] = "prefix"
    bits: int
    rows: int
    cell_bits: int
    signed: int = 0

    def __post_init__(self) -> None:
        check_count("bits", self.bits, most=WIDEST_ITEM)
        check_count("rows", self.rows, most=MOST_ROWS)
        check_count("cell_bits", self.cell_bits, most=min(self.bits, WIDEST_HASH))
        check_count("signed", self.signed, least=0, most=1)

    @property
    def hashed(self) -> bool:
        """Whether cells are hashes of prefixes rather than prefixes."""
        return self.cell_bits < self.bits

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

    def to_dict(self) -> Fields:
        """Return the question as the manifest writes it."""
        return {
            "kind": self.kind,
            "bits": self.bits,
            "rows": self.rows,
            "cell_bits": self.cell_bits,
            "signed": self.signed,
        }


@dataclass(frozen=True, slots=True)
class Chunk:
    """Asks for the bucket of the item and a chunk of it: `bits` bits from bit `start` on (0 is the top bit).

    cell = bucket << bits | chunk. All questions of the group with the same bucket_bits and quotient_bits
    share the hash of the bucket; each row repeats the question with another hash.
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

    @property
    def flips(self) -> bool:
        """Chunks have none."""
        return False

    def fits(self, width: int) -> bool:
        """Return whether the chunk lies inside the item and something is left to hash."""
        return self.start + self.bits <= width and self.quotient_bits < width

    def cell(self, value: int, place: QuestionPlace) -> tuple[int, int]:
        """Return the bucket joined with the chunk, and no flip."""
        chunk = value >> (place.width - self.start - self.bits) & ((1 << self.bits) - 1)
        return _bucket(value, place, self.bucket_bits, self.quotient_bits) << self.bits | chunk, 0

    def to_dict(self) -> Fields:
        """Return the question as the manifest writes it."""
        return {
            "kind": self.kind,
            "bucket_bits": self.bucket_bits,
            "start": self.start,
            "bits": self.bits,
            "rows": self.rows,
            "quotient_bits": self.quotient_bits,
        }


@dataclass(frozen=True, slots=True)
class CodeBit:
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
        object.__setattr__(self, "columns", columns)

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

    def position(self, extra: int) -> int:
        """Return the number of the bit of the codeword that is asked for."""
        return extra * len(self.columns) >> 32

    def cell(self, value: int, place: QuestionPlace) -> tuple[int, int]:
        """Return the bucket, and the bit of the codeword."""
        flip = (self.columns[self.position(place.extra)] & value).bit_count() & 1
        return _bucket(value, place, self.bucket_bits, self.quotient_bits), flip

    def to_dict(self) -> Fields:
        """Return the question as the manifest writes it; columns may exceed 53 bits, so they are texts."""
        return {
            "kind": self.kind,
            "bucket_bits": self.bucket_bits,
            "columns": [f"{column:x}" for column in self.columns],
            "rows": self.rows,
            "quotient_bits": self.quotient_bits,
        }


# By the kind that the manifest names. A new kind is added here; clients load it, so it is pure Python.
KINDS: dict[str, Callable[..., Question]] = {
    kind.kind: kind for kind in (Prefix, TaggedPrefix, Chunk, CodeBit)
}


def from_dict(fields: object) -> Question:
    """Return the question that a manifest describes, or raise ManifestError."""
    kind = fields.get("kind") if isinstance(fields, Mapping) else None
    if not isinstance(fields, Mapping) or not isinstance(kind, str) or kind not in KINDS:
        raise ManifestError(f"the kind of a question must be one that this version knows, got {kind!r}.")
    rest = {name: value for name, value in fields.items() if name != "kind"}
    try:
        if "columns" in rest:
            rest["columns"] = [int(column, 16) for column in rest["columns"]]
        question: Question = KINDS[kind](**rest)
    except (ParameterError, TypeError, ValueError):
        raise ManifestError(f"the fields of a question of kind {kind} break its rules.") from None
    return question
