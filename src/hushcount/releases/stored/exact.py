"""Exact values in JSON: canonical text, its digest, and readers that trust nothing.

The canonical form has sorted names, no white space, and UTF-8. Whole numbers beyond 2^53, which some programs
would round, are texts, and so are all other numbers: "0.1" is the shortest decimal that stands for a 64-bit
number, "1/3" a fraction. So every program that reads and writes JSON gets the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias, TypeVar

Plain: TypeAlias = int | float | str | Sequence["Plain"] | Mapping[str, "Plain"] | None
Value = TypeVar("Value")

LARGEST_EXACT = 1 << 53  # the largest whole number that every program reads as it is written
LARGEST_WHOLE = 1 << 64
SIGNIFICANT = 9  # digits of numbers that are shown to people
DIGEST = "sha256:"
_WHOLE = re.compile(r"-?[1-9][0-9]{15,19}")
_FRACTION = re.compile(r"[1-9][0-9]{0,399}/[1-9][0-9]{0,399}")


def canonical(values: Plain) -> bytes:
    """Return the one text of plain values.

    >>> canonical({"b": [1, None], "a": "ä"}).decode()
    '{"a":"ä","b":[1,null]}'
    """
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def digest(values: Mapping[str, Plain]) -> str:
    """Return the digest of a document, of everything in it but `digest` and `signature`."""
    content = {name: value for name, value in values.items() if name not in ("digest", "signature")}
    return DIGEST + hashlib.sha256(canonical(content)).hexdigest()


def parsed(data: bytes) -> dict[str, Plain]:
    """Return the JSON object that bytes hold; raise ValueError if they hold none, or a name twice in one."""
    values = json.loads(
        data.decode("utf-8", "surrogatepass"), object_pairs_hook=_object, parse_constant=_refused
    )
    if not isinstance(values, dict):
        raise ValueError("object")
    return values


def _object(pairs: list[tuple[str, Plain]]) -> dict[str, Plain]:
    """Return an object; raise if it has a name twice, of which every program would take another one."""
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("name")
    return values


def _refused(_: str) -> float:
    raise ValueError("number")


def whole_plain(value: int) -> int | str:
    """Return a whole number for JSON: a text if some programs would round it."""
    return int(value) if abs(value) <= LARGEST_EXACT else str(int(value))


def number_plain(value: float | Fraction) -> str:
    """Return a number as the shortest text that stands for it.

    >>> number_plain(1.0), number_plain(1e-8), number_plain(Fraction(1, 3))
    ('1', '1e-08', '1/3')
    """
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    return repr(float(value)).removesuffix(".0")


def shown_plain(value: Plain) -> Plain:
    """Return a value for people: numbers of 9 digits, which every program writes alike.

    >>> shown_plain(0.1 + 0.2), shown_plain(2.0), shown_plain(1e300)
    (0.3, 2, '1e+300')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, float):
        value = float(f"{value:.{SIGNIFICANT}g}")
        if not (1e-4 <= abs(value) < LARGEST_EXACT or value == 0):
            return number_plain(value)
    return whole_plain(int(value)) if value == int(value) else value


def whole_from(value: Plain, least: int = -LARGEST_WHOLE, most: int = LARGEST_WHOLE) -> int:
    """Return a whole number from `least` to `most`, or raise."""
    if isinstance(value, str) and _WHOLE.fullmatch(value) and abs(int(value)) > LARGEST_EXACT:
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_EXACT:
        number = value
    else:
        raise ValueError("whole number")
    if not least <= number <= most:
        raise ValueError("whole number")
    return number


def count_from(value: Plain) -> int:
    """Return a whole number of 64 bits, or raise."""
    return whole_from(value, -(1 << 63), (1 << 63) - 1)


def number_from(value: Plain) -> float | Fraction:
    """Return the number that a text stands for, or raise; only its shortest text does."""
    if not isinstance(value, str) or len(value) > 802:
        raise ValueError("number")
    number = Fraction(value) if _FRACTION.fullmatch(value) else float(value)
    if number_plain(number) != value or not math.isfinite(number):
        raise ValueError("number")
    return number


def float_from(value: Plain) -> float:
    """Return the floating point number that a text stands for, or raise."""
    number = number_from(value)
    if isinstance(number, Fraction):
        raise ValueError("number")
    return number


def text_from(value: Plain) -> str:
    """Return a text, or raise."""
    if not isinstance(value, str):
        raise ValueError("text")
    return value


def flag_from(value: Plain) -> bool:
    """Return a truth value, or raise."""
    if not isinstance(value, bool):
        raise ValueError("flag")
    return value


def list_from(value: Plain, read: Callable[[Plain], Value]) -> tuple[Value, ...]:
    """Return a list, each of its values read, or raise."""
    if not isinstance(value, list):
        raise ValueError("list")
    return tuple(map(read, value))


def texts_from(value: Plain) -> tuple[str, ...]:
    """Return a list of texts, or raise."""
    return list_from(value, text_from)


def fields_from(value: Plain, names: Sequence[str]) -> dict[str, Plain]:
    """Return an object that has exactly these names, or raise."""
    if not isinstance(value, dict) or set(value) != set(names):
        raise ValueError("names")
    return value
