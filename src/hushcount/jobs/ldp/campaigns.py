"""New campaigns of the local model: what their maker decides, and what they are expected to find."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError, cannot_read
from hushcount.files.atomic import check_writable
from hushcount.ldp import registry
from hushcount.ldp.wire import encodings
from hushcount.ldp.wire.encodings import Encoding
from hushcount.privacy import check_count

if TYPE_CHECKING:
    from hushcount.ldp.protocols.campaign import Campaign, Quality

__all__ = ["Campaign", "CampaignSettings", "Quality", "encoding_of", "expected_quality", "new_campaign"]

ITEM_FORMS = (
    "words:LENGTH[:ALPHABET], packed-words:LENGTH[:ALPHABET], bytes:LENGTH, integers:BITS or categories:FILE"
)
PRACTICAL, PAPER = (
    tuple(name.replace("_", "-") for name in registry.CAMPAIGNS if registry.from_paper(name) == paper)
    for paper in (False, True)
)
EXAMPLE_ITEMS = 10_000  # whose counts are assumed to say what a campaign would find
_DAY = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSettings:
    """What the maker of a campaign decides, as the command line names it.

    Parameters
    ----------
    items:
        Form of the items, such as words:6.
    truncate:
        Whether words and bytes that are too long are cut; otherwise they count as no item.
    protocol:
        Name of the protocol, with - for _.
    epsilon:
        Privacy loss of one report.
    users:
        About how many users will report.
    threshold:
        Smallest count to find; by default the smallest that is found reliably.
    symbol_bits:
        Bits of a response; by default those of the smallest error.
    days:
        The campaign ends after so many days.
    """

    items: str
    truncate: bool
    protocol: str
    epsilon: float
    users: int
    threshold: float | None
    symbol_bits: int | None
    days: int = 30

    def campaign(self) -> Campaign:
        """Return a new campaign, or raise if its result could not be listed."""
        if self.protocol in PAPER and self.symbol_bits is not None:
            raise ParameterError(f"{self.protocol} sends one bit, so leave out --symbol-bits.")
        given = {"threshold": self.threshold, "symbol_bits": self.symbol_bits}
        protocol = registry.CAMPAIGNS[self.protocol.replace("-", "_")]
        encoding = encoding_of(self.items, self.truncate)
        if encoding.width > protocol.widest_listed:
            raise ParameterError(
                f"{self.protocol} can list items of at most {protocol.widest_listed} bits, and {self.items}"
                f" has {encoding.width}. Use {' or '.join(PRACTICAL[:2])}, or narrower items."
            )
        end = int(time.time()) + check_count("days", self.days, most=36500) * _DAY
        chosen = {name: value for name, value in given.items() if value is not None}
        make: Callable[..., Campaign] = protocol
        return make(encoding, epsilon=self.epsilon, users=self.users, expires=end, **chosen)


def encoding_of(form: str, truncate: bool) -> Encoding:
    """Return the encoding that a form such as words:6 describes.

    >>> encoding_of("integers:8", False).width
    8
    """
    kind, _, rest = form.partition(":")
    cut = int(truncate)
    if kind in ("words", "packed-words") and rest:
        length, _, alphabet = rest.partition(":")
        make = encodings.Words if kind == "words" else encodings.PackedWords
        return make(alphabet or ascii_lowercase, _number(form, length), cut)
    if truncate and kind != "bytes":
        raise ParameterError(f"--truncate is for words and bytes, got {kind}.")
    if kind == "bytes":
        return encodings.Bytes(_number(form, rest), cut)
    if kind == "integers":
        return encodings.Integers(_number(form, rest))
    if kind == "categories" and rest:
        return encodings.Categories(tuple(_lines(rest)))
    raise _unknown(form)


def new_campaign(path: str, settings: CampaignSettings, *, force: bool = False) -> Campaign:
    """Write the manifest of a new campaign and return the campaign.

    Parameters
    ----------
    path:
        Where the manifest is written. A campaign whose manifest is lost cannot be answered any more, so an
        existing file is replaced only with `force`.
    settings:
        What the campaign asks.
    force:
        Whether an existing file may be replaced.
    """
    if os.path.lexists(path) and not force:
        raise ParameterError(
            f"{path} exists. Reports of its campaign could not be read without it;"
            " name another file, or give --force to replace it."
        )
    check_writable(path)
    made = settings.campaign()
    made.manifest.save(path)
    return made


def expected_quality(made: Campaign, zipf: float) -> Quality | None:
    """Return what a campaign would find if the counts of items were proportional to rank^-zipf."""
    from hushcount.ldp.protocols.campaign import zipf_counts

    if made.plan is None:
        return None
    return made.plan.quality(zipf_counts(made.manifest.users, zipf, EXAMPLE_ITEMS))


def _number(form: str, text: str) -> int:
    """Return the number in a form, or raise."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise _unknown(form)
    return int(text)


def _unknown(form: str) -> ParameterError:
    """Return the error for a form of items that is not known."""
    return ParameterError(f"--items must be one of {ITEM_FORMS}, got {form!r}.")


def _lines(path: str) -> list[str]:
    """Return the lines of a file of categories."""
    try:
        with open(path, encoding="utf-8") as lines:
            return [line.rstrip("\r\n") for line in lines]
    except OSError as error:
        failure = ParameterError(cannot_read(path, error))
    except UnicodeDecodeError:
        failure = ParameterError(f"{path} has text that is not valid UTF-8.")
    raise failure
