"""Encodings of items as integers of a fixed width. Pure Python.

An item is a sequence of symbols of `symbol_bits` bits with values 0 .. symbols - 1, the first symbol in the
most significant bits, so a prefix of an item is the top bits of its integer. If an encoding is `padded`,
symbol 0 ends the item and only zeros follow it. For an item that cannot be encoded, the client answers at
random, as if there were none.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from hushcount.errors import ParameterError
from hushcount.ldp.wire.parts import WIDEST_ITEM, Part, check_text, derive, read_part
from hushcount.privacy import check_count

Item = str | bytes | int
MOST_SYMBOLS = 1 << 16


@dataclass(frozen=True, slots=True)
class Encoding(Part, ABC):
    """How items become integers of `width` bits. A symbol has `symbol_bits` bits and `symbols` values."""

    width: int = field(init=False, repr=False, compare=False)
    symbol_bits: int = field(init=False, repr=False, compare=False)
    symbols: int = field(init=False, repr=False, compare=False)
    padded: bool = field(init=False, repr=False, compare=False)

    @abstractmethod
    def encode(self, item: object) -> int | None:
        """Return the integer of an item, or None if it cannot be encoded."""

    @abstractmethod
    def decode(self, value: int) -> Item | None:
        """Return the item of an integer, or None if it encodes none."""

    def _derive(self, length: int, symbols: int, *, padded: bool) -> None:
        """Set the fields that follow from the number of symbols of an item, and of values of a symbol."""
        symbol_bits = (symbols - 1).bit_length()
        width = symbol_bits * length
        if width > WIDEST_ITEM:
            raise ParameterError(f"an item must have at most {WIDEST_ITEM} bits, got {width}.")
        derive(self, width=width, symbol_bits=symbol_bits, symbols=symbols, padded=padded)


def spell(codes: list[int], length: int, truncate: int, base: int) -> int | None:
    """Return the number of these digits, then zeros up to `length`; None if one is 0 or they are too many."""
    if 0 in codes[:length] or (len(codes) > length and not truncate):
        return None
    value = 0
    for code in codes[:length]:
        value = value * base + code
    return int(value * base ** max(length - len(codes), 0))


def spelled(value: int, length: int, largest: int, base: int) -> list[int] | None:
    """Return the codes that `spell` made a number of, or None if none from 1 to `largest` give it."""
    if not 0 <= value < base**length:
        return None
    codes: list[int] = []
    for _ in range(length):
        value, code = divmod(value, base)
        if code or codes:  # the last digits are padding
            codes.append(code)
    return codes[::-1] if all(1 <= code <= largest for code in codes) else None


def check_length(length: int, truncate: object) -> None:
    """Raise unless the greatest length of an item, and the flag that longer ones are cut, are valid."""
    check_count("length", length, most=WIDEST_ITEM)
    if type(truncate) is not int or truncate not in (0, 1):
        raise ParameterError(f"truncate must be 0 or 1, got {truncate!r}.")


@dataclass(frozen=True, slots=True)
class Lettered(Encoding):
    """What both encodings of words share: letter i of the alphabet, counted from 1, has the code i."""

    alphabet: str
    length: int
    truncate: int = 0
    _letters: dict[str, int] = field(init=False, repr=False, compare=False)
    _base: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_length(self.length, self.truncate)
        check_text("alphabet", self.alphabet)
        check_count("the number of letters", len(self.alphabet), most=MOST_SYMBOLS - 1)
        derive(self, _letters={letter: i for i, letter in enumerate(self.alphabet, start=1)})
        if len(self._letters) != len(self.alphabet):
            raise ParameterError("the letters of an alphabet must be distinct.")
        derive(self, _base=self._divide(len(self.alphabet) + 1))

    @abstractmethod
    def _divide(self, codes: int) -> int:
        """Divide a word into symbols, and return the base to which its codes are digits."""

    def encode(self, item: object) -> int | None:
        """Return the integer of a word, or None."""
        if not isinstance(item, str):
            return None
        codes = [self._letters.get(letter, 0) for letter in item[: self.length + 1]]
        return spell(codes, self.length, self.truncate, self._base)

    def decode(self, value: int) -> str | None:
        """Return the word of an integer, or None."""
        codes = spelled(value, self.length, len(self.alphabet), self._base)
        return None if codes is None else "".join(self.alphabet[code - 1] for code in codes)


@dataclass(frozen=True, slots=True)
class Words(Lettered):
    """Words over an alphabet, letter by letter: each letter is a symbol.

    Parameters
    ----------
    alphabet:
        The letters, all different.
    length:
        Most letters of a word.
    truncate:
        1 to cut longer words to `length` letters; with 0 they count as no item.

    Examples
    --------
    >>> words = Words("abc", 3)
    >>> words.width, words.encode("ab"), words.decode(24), words.encode("abca")
    (6, 24, 'ab', None)
    """

    kind: ClassVar[str] = "words"

    def _divide(self, codes: int) -> int:
        """Make each letter a symbol, with bits of its own."""
        self._derive(self.length, codes, padded=True)
        return 1 << self.symbol_bits


@dataclass(frozen=True, slots=True)
class PackedWords(Lettered):
    """Words as integers to the base len(alphabet) + 1: the fewest bits, but one symbol, so no prefixes.

    Parameters
    ----------
    alphabet:
        The letters, all different.
    length:
        Most letters of a word.
    truncate:
        1 to cut longer words to `length` letters; with 0 they count as no item.

    Examples
    --------
    >>> words = PackedWords("abcdefghijklmnopqrstuvwxyz", 6)
    >>> words.width, words.decode(words.encode("tea"))
    (29, 'tea')
    """

    kind: ClassVar[str] = "packed_words"

    def _divide(self, codes: int) -> int:
        """Make the whole word a symbol."""
        self._derive(1, codes**self.length, padded=False)
        return codes


@dataclass(frozen=True, slots=True)
class Bytes(Encoding):
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

    def __post_init__(self) -> None:
        check_length(self.length, self.truncate)
        self._derive(self.length, 257, padded=True)  # byte x is the code x + 1, and 0 ends the item

    def encode(self, item: object) -> int | None:
        """Return the integer of bytes or text, or None if they are too long or no valid UTF-8."""
        if isinstance(item, str):
            try:
                item = item.encode()
            except UnicodeEncodeError:
                return None
        if not isinstance(item, bytes):
            return None
        codes = [octet + 1 for octet in item[: self.length + 1]]
        return spell(codes, self.length, self.truncate, 1 << self.symbol_bits)

    def decode(self, value: int) -> bytes | None:
        """Return the bytes of an integer, or None."""
        codes = spelled(value, self.length, 256, 1 << self.symbol_bits)
        return None if codes is None else bytes(code - 1 for code in codes)


@dataclass(frozen=True, slots=True)
class Integers(Encoding):
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

    def __post_init__(self) -> None:
        check_count("bits", self.bits, most=WIDEST_ITEM)
        self._derive(self.bits, 2, padded=False)

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


@dataclass(frozen=True, slots=True)
class Categories(Encoding):
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
    _codes: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.names, list | tuple):
            raise ParameterError("names must be a list of texts.")
        names = tuple(check_text("a name", name) for name in self.names)
        check_count("the number of names", len(names), least=2, most=MOST_SYMBOLS)
        derive(self, names=names, _codes={name: code for code, name in enumerate(names)})
        if len(self._codes) != len(names):
            raise ParameterError("names must be distinct.")
        self._derive(1, len(names), padded=False)

    def encode(self, item: object) -> int | None:
        """Return the place of a name in the list, counted from 0, or None."""
        return self._codes.get(item) if isinstance(item, str) else None

    def decode(self, value: int) -> str | None:
        """Return the name at a place, or None."""
        return self.names[value] if 0 <= value < len(self.names) else None


# By the kind that the manifest names. A new encoding is added here.
KINDS: dict[str, type[Encoding]] = {
    kind.kind: kind for kind in (Words, PackedWords, Bytes, Integers, Categories)
}


def from_dict(written: object) -> Encoding:
    """Return the encoding that a manifest describes, or raise ManifestError."""
    return read_part(written, KINDS, "the encoding")
