"""Encodings of items as integers of a fixed width. Pure Python.

An item is a sequence of symbols of `symbol_bits` bits with values 0 .. symbols - 1, the first symbol in the
most significant bits, so a prefix of an item is the top bits of its integer. If an encoding is `padded`,
symbol 0 ends the item and only zeros follow it. `encode` returns None for an item that cannot be encoded; the
client then reports a uniform symbol. `decode` returns None for an integer that encodes no item.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.wire.words import (
    MOST_SYMBOLS,
    WIDEST_ITEM,
    Fields,
    Item,
    PackedWords,
    Words,
    before_padding,
    check_length,
    check_text,
    derive,
    derived,
    pack,
    unpack,
)
from hushcount.privacy import check_count

__all__ = [
    "KINDS",
    "Bytes",
    "Categories",
    "Encoding",
    "Integers",
    "Item",
    "PackedWords",
    "Words",
    "from_dict",
]

BYTE_BITS = 9  # of a symbol: 0 ends the item, and byte x is symbol x + 1


class Encoding(Protocol):
    """How items become integers of `width` bits. Encodings are frozen values."""

    def __hash__(self) -> int: ...

    @property
    def width(self) -> int:
        """Bits of an encoded item."""
        ...

    @property
    def symbol_bits(self) -> int:
        """Bits of one symbol; the width is a multiple of it."""
        ...

    @property
    def symbols(self) -> int:
        """How many values a symbol takes: 0 .. symbols - 1."""
        ...

    @property
    def padded(self) -> bool:
        """Whether symbol 0 ends the item, so that only zeros follow it."""
        ...

    def encode(self, item: object) -> int | None:
        """Return the integer of an item, or None if it cannot be encoded."""
        ...

    def decode(self, value: int) -> Item | None:
        """Return the item of an integer, or None if it encodes none."""
        ...

    def to_dict(self) -> Fields:
        """Return the encoding as the manifest writes it."""
        ...


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes up to a length, of any values; text is taken as its UTF-8 bytes.

    Parameters
    ----------
    length:
        Most bytes of an item.
    truncate:
        1 to cut longer items to `length` bytes; with 0 they count as no item.

    Examples
    --------
    >>> encoding = Bytes(2)
    >>> encoding.width, encoding.decode(encoding.encode("é")), encoding.encode(b"abc")
    (18, b'\\xc3\\xa9', None)
    """

    kind: ClassVar[str] = "bytes"
    length: int
    truncate: int = 0
    width: int = derived()
    symbol_bits: int = derived()
    symbols: int = derived()
    padded: bool = derived()

    def __post_init__(self) -> None:
        check_length(self.length, self.truncate)
        derive(self, BYTE_BITS, self.length, 257, True)

    def encode(self, item: object) -> int | None:
        """Return the integer of bytes or text, or None if they are too long or no valid UTF-8."""
        if isinstance(item, str):
            try:
                item = item.encode()
            except UnicodeEncodeError:
                return None
        if not isinstance(item, bytes) or (len(item) > self.length and not self.truncate):
            return None
        return pack([octet + 1 for octet in item[: self.length]], self.length, BYTE_BITS)

    def decode(self, value: int) -> bytes | None:
        """Return the bytes of an integer, or None."""
        if not 0 <= value < 1 << self.width:
            return None
        codes = before_padding(unpack(value, self.length, BYTE_BITS), self.symbols)
        return None if codes is None else bytes(code - 1 for code in codes)

    def to_dict(self) -> Fields:
        """Return the encoding as the manifest writes it."""
        return {"kind": self.kind, "length": self.length, "truncate": self.truncate}


@dataclass(frozen=True, slots=True)
class Integers:
    """Integers 0 .. 2^bits - 1; each bit is a symbol.

    Parameters
    ----------
    bits:
        Bits of an integer.

    Examples
    --------
    >>> Integers(8).encode(255), Integers(8).encode(256), Integers(8).encode(-1)
    (255, None, None)
    """

    kind: ClassVar[str] = "integers"
    bits: int
    width: int = derived()
    symbol_bits: int = derived()
    symbols: int = derived()
    padded: bool = derived()

    def __post_init__(self) -> None:
        check_count("bits", self.bits, most=WIDEST_ITEM)
        derive(self, 1, self.bits, 2, False)

    def encode(self, item: object) -> int | None:
        """Return the integer itself, or None for booleans, fractions and integers out of range."""
        try:
            value = operator.index(item)  # type: ignore[arg-type]
        except TypeError:
            return None
        return value if 0 <= value < 1 << self.bits and not isinstance(item, bool) else None

    def decode(self, value: int) -> int | None:
        """Return the integer itself, or None if it is out of range."""
        return value if 0 <= value < 1 << self.bits else None

    def to_dict(self) -> Fields:
        """Return the encoding as the manifest writes it."""
        return {"kind": self.kind, "bits": self.bits}


@dataclass(frozen=True, slots=True)
class Categories:
    """A fixed list of names; a name is encoded by its place in the list, as one symbol.

    Parameters
    ----------
    names:
        From 2 to 65,536 different texts.

    Examples
    --------
    >>> Categories(("tea", "milk", "salt")).encode("milk")
    1
    """

    kind: ClassVar[str] = "categories"
    names: Sequence[str]
    width: int = derived()
    symbol_bits: int = derived()
    symbols: int = derived()
    padded: bool = derived()
    _codes: dict[str, int] = derived()  # noqa: RUF009 - a field

    def __post_init__(self) -> None:
        if not isinstance(self.names, list | tuple):
            raise ParameterError("names must be a list of texts.")
        names = tuple(check_text("a name", name) for name in self.names)
        check_count("the number of names", len(names), least=2, most=MOST_SYMBOLS)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "_codes", {name: code for code, name in enumerate(names)})
        if len(self._codes) != len(names):
            raise ParameterError("names must be distinct.")
        derive(self, (len(names) - 1).bit_length(), 1, len(names), False)

    def encode(self, item: object) -> int | None:
        """Return the place of a name in the list, counted from 0, or None."""
        return self._codes.get(item) if isinstance(item, str) else None

    def decode(self, value: int) -> str | None:
        """Return the name at a place, or None."""
        return self.names[value] if 0 <= value < len(self.names) else None

    def to_dict(self) -> Fields:
        """Return the encoding as the manifest writes it."""
        return {"kind": self.kind, "names": list(self.names)}


# By the kind that the manifest names. A new encoding is added here.
KINDS: dict[str, Callable[..., Encoding]] = {
    kind.kind: kind for kind in (Words, PackedWords, Bytes, Integers, Categories)
}


def from_dict(fields: object) -> Encoding:
    """Read an encoding from a manifest, or raise ManifestError."""
    kind = fields.get("kind") if isinstance(fields, Mapping) else None
    if not isinstance(fields, Mapping) or not isinstance(kind, str) or kind not in KINDS:
        raise ManifestError(f"the kind of the encoding must be one that this version knows, got {kind!r}.")
    rest = {name: value for name, value in fields.items() if name != "kind"}
    try:
        encoding: Encoding = KINDS[kind](**rest)
    except (ParameterError, TypeError):
        raise ManifestError(f"the fields of the encoding {kind} break its rules.") from None
    return encoding
