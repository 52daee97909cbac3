"""Words over an alphabet as integers: letter by letter, or packed. Pure Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
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
class _Lettered(ABC):
    """What both encodings of words have: letter i of the alphabet, counted from 1, has the code i."""

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
        """Set what follows from the number of codes: the letters, and 0 for padding."""

    def _codes(self, item: object) -> list[int] | None:
        return letter_codes(item, self._letters, self.length, self.truncate)

    def _word(self, codes: list[int]) -> str | None:
        """The word of all its codes, padding included; None where there is none."""
        used = before_padding(codes, len(self.alphabet) + 1)
        return None if used is None else "".join(self.alphabet[code - 1] for code in used)

    def to_dict(self) -> dict[str, Any]:
        """Fields for the manifest."""
        return {
            "kind": self.kind,
            "alphabet": self.alphabet,
            "length": self.length,
            "truncate": self.truncate,
        }


@dataclass(frozen=True, slots=True)
class Words(_Lettered):
    """Words over an alphabet up to a length; a longer one is cut only with truncate = 1.

    >>> words = Words("abc", 3)
    >>> words.width, words.encode("ab"), words.decode(24), words.encode("abca")
    (6, 24, 'ab', None)
    """

    kind: ClassVar[str] = "words"

    def _derive(self, codes: int) -> None:
        derive(self, (codes - 1).bit_length(), self.length, codes, True)

    def encode(self, item: object) -> int | None:
        """Each letter is a symbol, its code."""
        codes = self._codes(item)
        return None if codes is None else pack(codes, self.length, self.symbol_bits)

    def decode(self, value: int) -> str | None:
        """The word of an integer."""
        if not 0 <= value < 1 << self.width:
            return None
        return self._word(unpack(value, self.length, self.symbol_bits))


@dataclass(frozen=True, slots=True)
class PackedWords(_Lettered):
    """Words as integers to the base len(alphabet) + 1: the narrowest, one symbol, so no prefixes.

    >>> words = PackedWords("abcdefghijklmnopqrstuvwxyz", 6)
    >>> words.width, words.decode(words.encode("tea"))
    (29, 'tea')
    """

    kind: ClassVar[str] = "packed_words"

    def _derive(self, codes: int) -> None:
        symbols = codes**self.length
        derive(self, (symbols - 1).bit_length(), 1, symbols, False)

    def encode(self, item: object) -> int | None:
        """Digits are the letters, first letter first, then zeros."""
        codes = self._codes(item)
        if codes is None:
            return None
        value = 0
        for code in codes + [0] * (self.length - len(codes)):
            value = value * (len(self.alphabet) + 1) + code
        return value

    def decode(self, value: int) -> str | None:
        """The word of an integer."""
        if not 0 <= value < self.symbols:
            return None
        codes = []
        for _ in range(self.length):
            value, code = divmod(value, len(self.alphabet) + 1)
            codes.append(code)
        return self._word(codes[::-1])
