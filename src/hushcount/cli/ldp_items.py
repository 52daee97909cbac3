"""From words on the command line to encodings and protocols of the local model."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import click

from hushcount.errors import ParameterError
from hushcount.ldp import registry

if TYPE_CHECKING:
    from hushcount.ldp.wire.encodings import Encoding

FORMS = (
    "words:LENGTH[:ALPHABET], packed-words:LENGTH[:ALPHABET], bytes:LENGTH, integers:BITS or categories:FILE"
)
PRACTICAL, PAPER = (
    tuple(name.replace("_", "-") for name in registry.CAMPAIGNS if registry.from_paper(name) == paper)
    for paper in (False, True)
)

ITEMS = click.option("--items", required=True, metavar="FORM", help=f"What users hold: {FORMS}.")
TRUNCATE = click.option(
    "--truncate", is_flag=True, help="Cut words and bytes that are too long; else they count as no item."
)
PROTOCOL = click.option(
    "--protocol",
    type=click.Choice((*PRACTICAL, *PAPER)),
    default=PRACTICAL[0],
    metavar="NAME",
    show_default=True,
    help=f"One of {', '.join(PRACTICAL)}; as published: {', '.join(PAPER)}.",
)
THRESHOLD = click.option(
    "--threshold",
    type=float,
    metavar="T",
    help="Least count to find (default: found reliably).",
)
SYMBOL_BITS = click.option(
    "--symbol-bits", type=int, metavar="B", help="Bits of a response (by default those of the least error)."
)
CAMPAIGN = (ITEMS, TRUNCATE, PROTOCOL, THRESHOLD, SYMBOL_BITS)


def encoding_of(form: str, truncate: bool) -> Encoding:
    """The encoding that a form such as words:6 describes."""
    from hushcount.ldp.wire import encodings

    kind, _, rest = form.partition(":")
    cut = int(truncate)
    if kind in ("words", "packed-words") and rest:
        length, _, alphabet = rest.partition(":")
        make: Any = encodings.Words if kind == "words" else encodings.PackedWords
        made: Encoding = make(alphabet or ascii_lowercase, _number(form, length), cut)
        return made
    if truncate and kind != "bytes":
        raise ParameterError(f"truncate is for words and bytes, got {kind}.")
    if kind == "bytes":
        return encodings.Bytes(_number(form, rest), cut)
    if kind == "integers":
        return encodings.Integers(_number(form, rest))
    if kind == "categories" and rest:
        return encodings.Categories(tuple(_lines(rest)))
    raise _unknown(form)


def campaign(encoding: Encoding, protocol: str, **terms: Any) -> Any:
    """The campaign of a protocol; what was not asked for is left to it."""
    if protocol in PAPER and terms.get("symbol_bits") is not None:
        raise ParameterError(f"{protocol} has responses of one bit; leave out symbol_bits.")
    make: Any = registry.CAMPAIGNS[protocol.replace("-", "_")]
    return make(encoding, **{name: value for name, value in terms.items() if value is not None})


def key_type(encoding: Encoding) -> str:
    """How the column of items is read."""
    from hushcount.ldp.wire.encodings import Integers

    return "int" if isinstance(encoding, Integers) else "auto"


def _number(form: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise _unknown(form)
    return int(text)


def _unknown(form: str) -> ParameterError:
    return ParameterError(f"items must be one of {FORMS}, got {form!r}.")


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as lines:
            return [line.rstrip("\r\n") for line in lines]
    except OSError as error:
        reason = (error.strerror or "input/output error").lower()
        raise ParameterError(f"Cannot read {path}: {reason}.") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} has text that is not valid UTF-8.") from None
