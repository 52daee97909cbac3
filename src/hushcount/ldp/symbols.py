"""Symbols of encoded items: letters to codes, codes to integers and back. Pure Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from hushcount.errors import ParameterError
from hushcount.privacy import check_count

WIDEST_ITEM = 1024  # bits
MOST_SYMBOLS = 1 << 16


def pack(codes: list[int], length: int, bits: int) -> int:
    """The integer of codes of `bits` bits each, first code on top, padded with zeros to `length` codes."""
    value = 0
    for code in codes:
        value = value << bits | code
    return value << bits * (length - len(codes))


def unpack(value: int, length: int, bits: int) -> list[int]:
    """The `length` codes of an integer."""
    mask = (1 << bits) - 1
    return [value >> bits * place & mask for place in range(length - 1, -1, -1)]


def before_padding(codes: list[int], symbols: int) -> list[int] | None:
    """The codes before the padding, or None where a code is too large or something follows the padding."""
    used = codes.index(0) if 0 in codes else len(codes)
    if any(codes[used:]) or max(codes) >= symbols:
        return None
    return codes[:used]


def check_length(length: int, truncate: object) -> None:
    """Check the longest length of an item, and the flag that longer ones are cut."""
    check_count("length", length, most=WIDEST_ITEM)
    if type(truncate) is not int or truncate not in (0, 1):
        raise ParameterError(f"truncate must be 0 or 1, got {truncate!r}.")


def check_text(name: str, text: object) -> str:
    """Return a text that UTF-8 can hold, or raise."""
    if not isinstance(text, str) or any("\ud800" <= character <= "\udfff" for character in text):
        raise ParameterError(f"{name} must be text without halves of surrogate pairs.")
    return text


def letters(alphabet: str) -> dict[str, int]:
    """The code of each letter of an alphabet: its place, counted from 1."""
    check_text("alphabet", alphabet)
    check_count("the number of letters", len(alphabet), most=MOST_SYMBOLS - 1)
    codes = {letter: code for code, letter in enumerate(alphabet, start=1)}
    if len(codes) != len(alphabet):
        raise ParameterError("the letters of an alphabet must be distinct.")
    return codes


def letter_codes(item: object, letters: Mapping[str, int], length: int, truncate: int) -> list[int] | None:
    """The codes of a word, or None where it does not fit."""
    if not isinstance(item, str) or (len(item) > length and not truncate):
        return None
    codes = [letters.get(letter, 0) for letter in item[:length]]
    return None if 0 in codes else codes


def derived() -> Any:
    """A field that follows from the others."""
    return field(init=False, repr=False, compare=False)


def derive(encoding: Any, symbol_bits: int, count: int, symbols: int, padded: bool) -> None:
    """Set what follows from the fields of a frozen encoding of `count` symbols."""
    width = symbol_bits * count
    if width > WIDEST_ITEM:
        raise ParameterError(f"an item must have at most {WIDEST_ITEM} bits, got {width}.")
    values = {"width": width, "symbol_bits": symbol_bits, "symbols": symbols, "padded": padded}
    for name, value in values.items():
        object.__setattr__(encoding, name, value)
