"""Words over an alphabet as integers: letter by letter, or packed. Pure Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from hushcount.ldp.symbols import (
    before_padding,
    check_length,
    derive,
    derived,
    letter_codes,
    letters,
    pack,
    unpack,
)


@dataclass(frozen=True, slots=True)
class Words:
    """Words over an alphabet up to a length; a longer one is cut only with truncate = 1.

    >>> words = Words("abc", 3)
    >>> words.width, words.encode("ab"), words.decode(24), words.encode("abca")
    (6, 24, 'ab', None)
    """

    kind: ClassVar[str] = "words"
    alphabet: str
    length: int
    truncate: int = 0
    width: int = derived()
    symbol_bits: int = derived()
    symbols: int = derived()
    padded: bool = derived()
    _codes: dict[str, int] = derived()  # noqa: RUF009 - a field

    def __post_init__(self) -> None:
        check_length(self.length, self.truncate)
        object.__setattr__(self, "_codes", letters(self.alphabet))
        size = len(self.alphabet)
        derive(self, size.bit_length(), self.length, size + 1, True)

    def encode(self, item: object) -> int | None:
        """Letter i of the alphabet, counted from 1, is the symbol i."""
        codes = letter_codes(item, self._codes, self.length, self.truncate)
        return None if codes is None else pack(codes, self.length, self.symbol_bits)

    def decode(self, value: int) -> str | None:
        """The word of an integer."""
        if not 0 <= value < 1 << self.width:
            return None
        codes = before_padding(unpack(value, self.length, self.symbol_bits), self.symbols)
        return None if codes is None else "".join(self.alphabet[code - 1] for code in codes)

    def to_dict(self) -> dict[str, Any]:
        """Fields for the manifest."""
        return {
            "kind": self.kind,
            "alphabet": self.alphabet,
            "length": self.length,
            "truncate": self.truncate,
        }


@dataclass(frozen=True, slots=True)
class PackedWords:
    """Words as integers to the base len(alphabet) + 1: the narrowest, one symbol, so no prefixes.

    >>> words = PackedWords("abcdefghijklmnopqrstuvwxyz", 6)
    >>> words.width, words.decode(words.encode("tea"))
    (29, 'tea')
    """

    kind: ClassVar[str] = "packed_words"
    alphabet: str
    length: int
    truncate: int = 0
    width: int = derived()
    symbol_bits: int = derived()
    symbols: int = derived()
    padded: bool = derived()
    _codes: dict[str, int] = derived()  # noqa: RUF009 - a field

    def __post_init__(self) -> None:
        check_length(self.length, self.truncate)
        object.__setattr__(self, "_codes", letters(self.alphabet))
        symbols = (len(self.alphabet) + 1) ** self.length
        derive(self, (symbols - 1).bit_length(), 1, symbols, False)

    def encode(self, item: object) -> int | None:
        """Digits are the letters, first letter first, then zeros."""
        codes = letter_codes(item, self._codes, self.length, self.truncate)
        if codes is None:
            return None
        value = 0
        for code in codes:
            value = value * (len(self.alphabet) + 1) + code
        return int(value * (len(self.alphabet) + 1) ** (self.length - len(codes)))

    def decode(self, value: int) -> str | None:
        """The word of an integer."""
        if not 0 <= value < self.symbols:
            return None
        codes = []
        for _ in range(self.length):
            value, code = divmod(value, len(self.alphabet) + 1)
            codes.append(code)
        word = before_padding(codes[::-1], len(self.alphabet) + 1)
        return None if word is None else "".join(self.alphabet[code - 1] for code in word)

    def to_dict(self) -> dict[str, Any]:
        """Fields for the manifest."""
        return {
            "kind": self.kind,
            "alphabet": self.alphabet,
            "length": self.length,
            "truncate": self.truncate,
        }
