"""Words over an alphabet as integers, and the symbols that all encodings are made of. Pure Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hushcount.errors import ParameterError
from hushcount.privacy import check_count

Item = str | bytes | int
Fields = dict[str, object]  # of a part of the manifest, as JSON has them
WIDEST_ITEM = 1024  # bits
MOST_SYMBOLS = 1 << 16


def pack(codes: list[int], length: int, bits: int) -> int:
    """Return the integer of codes of `bits` bits each, first code on top, padded with zeros to `length`."""
    value = 0
    for code in codes:
        value = value << bits | code
    return value << bits * (length - len(codes))


def unpack(value: int, length: int, bits: int) -> list[int]:
    """Return the `length` codes of an integer."""
    mask = (1 << bits) - 1
    return [value >> bits * place & mask for place in range(length - 1, -1, -1)]


def before_padding(codes: list[int], symbols: int) -> list[int] | None:
    """Return the codes before the padding, or None if one is too large or another follows the padding."""
    used = codes.index(0) if 0 in codes else len(codes)
    if any(codes[used:]) or max(codes) >= symbols:
        return None
    return codes[:used]


def check_length(length: int, truncate: object) -> None:
    """Raise unless the greatest length of an item, and the flag that longer ones are cut, are valid."""
    check_count("length", length, most=WIDEST_ITEM)
    if type(truncate) is not int or truncate not in (0, 1):
        raise ParameterError(f"truncate must be 0 or 1, got {truncate!r}.")


def check_text(name: str, text: object) -> str:
    """Return a text that UTF-8 can express, or raise."""
    if not isinstance(text, str) or any("\ud800" <= character <= "\udfff" for character in text):
        raise ParameterError(f"{name} must be text without halves of surrogate pairs.")
    return text


def letters(alphabet: str) -> dict[str, int]:
    """Return the code of each letter of an alphabet: its place, counted from 1."""
    check_text("alphabet", alphabet)
    check_count("the number of letters", len(alphabet), most=MOST_SYMBOLS - 1)
    codes = {letter: code for code, letter in enumerate(alphabet, start=1)}
    if len(codes) != len(alphabet):
        raise ParameterError("the letters of an alphabet must be distinct.")
    return codes


def letter_codes(item: object, letters: Mapping[str, int], length: int, truncate: int) -> list[int] | None:
    """Return the codes of a word, or None if it cannot be encoded."""
    if not isinstance(item, str) or (len(item) > length and not truncate):
        return None
    codes = [letters.get(letter, 0) for letter in item[:length]]
    return None if 0 in codes else codes


def derived() -> Any:
    """Declare a field that follows from the others. (`Any` is the type that dataclasses expect here.)"""
    return field(init=False, repr=False, compare=False)


def derive(encoding: object, symbol_bits: int, count: int, symbols: int, padded: bool) -> None:
    """Set the fields that follow from the others, in a frozen encoding of `count` symbols."""
    width = symbol_bits * count
    if width > WIDEST_ITEM:
        raise ParameterError(f"an item must have at most {WIDEST_ITEM} bits, got {width}.")
    values = {"width": width, "symbol_bits": symbol_bits, "symbols": symbols, "padded": padded}
    for name, value in values.items():
        object.__setattr__(encoding, name, value)


@dataclass(frozen=True, slots=True)
class _Lettered(ABC):
    """What both encodings of words share: letter i of the alphabet, counted from 1, has the code i."""

    kind: ClassVar[str]
    alphabet: str
    length: int
    truncate: int = 0
    width: int = derived()
    symbol_bits: int = derived()
    symbols: int = derived()
    padded: bool = derived()
    _letters: dict[str, int] = derived()  # noqa: RUF009 - a field

    def __post_init__(self) -> None:
        check_length(self.length, self.truncate)
        object.__setattr__(self, "_letters", letters(self.alphabet))
        self._derive(len(self.alphabet) + 1)

    @abstractmethod
    def _derive(self, codes: int) -> None:
        """Set the fields that follow from the number of codes: one for each letter, and 0 for padding."""

    def _codes(self, item: object) -> list[int] | None:
        """Return the codes of a word, or None if it cannot be encoded."""
        return letter_codes(item, self._letters, self.length, self.truncate)

    def _word(self, codes: list[int]) -> str | None:
        """Return the word of all its codes, padding included, or None."""
        used = before_padding(codes, len(self.alphabet) + 1)
        return None if used is None else "".join(self.alphabet[code - 1] for code in used)

    def to_dict(self) -> Fields:
        """Return the encoding as the manifest writes it."""
        return {
            "kind": self.kind,
            "alphabet": self.alphabet,
            "length": self.length,
            "truncate": self.truncate,
        }


@dataclass(frozen=True, slots=True)
class Words(_Lettered):
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

    def _derive(self, codes: int) -> None:
        """Set one symbol for each letter."""
        derive(self, (codes - 1).bit_length(), self.length, codes, True)

    def encode(self, item: object) -> int | None:
        """Return the integer of a word, or None."""
        codes = self._codes(item)
        return None if codes is None else pack(codes, self.length, self.symbol_bits)

    def decode(self, value: int) -> str | None:
        """Return the word of an integer, or None."""
        if not 0 <= value < 1 << self.width:
            return None
        return self._word(unpack(value, self.length, self.symbol_bits))


@dataclass(frozen=True, slots=True)
class PackedWords(_Lettered):
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

    def _derive(self, codes: int) -> None:
        """Set one symbol for the whole word."""
        symbols = codes**self.length
        derive(self, (symbols - 1).bit_length(), 1, symbols, False)

    def encode(self, item: object) -> int | None:
        """Return the integer whose digits are the letters, first letter first, then zeros; or None."""
        codes = self._codes(item)
        if codes is None:
            return None
        value = 0
        for code in codes + [0] * (self.length - len(codes)):
            value = value * (len(self.alphabet) + 1) + code
        return value

    def decode(self, value: int) -> str | None:
        """Return the word of an integer, or None."""
        if not 0 <= value < self.symbols:
            return None
        codes = []
        for _ in range(self.length):
            value, code = divmod(value, len(self.alphabet) + 1)
            codes.append(code)
        return self._word(codes[::-1])
