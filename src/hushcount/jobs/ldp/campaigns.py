"""New campaigns of the local model: what their maker decides, and what they are expected to find."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from string import ascii_lowercase
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError, cannot_read
from hushcount.files.atomic import check_writable
from hushcount.ldp import registry
from hushcount.ldp.wire import encodings
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.manifest import MOST_REPORTS
from hushcount.ldp.wire.response import epsilon_text
from hushcount.ldp.wire.terms import PROMISE, Terms, delta_text
from hushcount.privacy import check_count

if TYPE_CHECKING:
    from hushcount.ldp.protocols.campaign import Campaign, Quality

__all__ = [
    "Campaign",
    "CampaignSettings",
    "Quality",
    "Terms",
    "encoding_of",
    "expected_quality",
    "new_campaign",
]

ITEM_FORMS = (
    "words:LENGTH[:ALPHABET], packed-words:LENGTH[:ALPHABET], bytes:LENGTH, integers:BITS or categories:FILE"
)
PRACTICAL, PAPER = (
    tuple(name.replace("_", "-") for name in registry.CAMPAIGNS if registry.from_paper(name) == paper)
    for paper in (False, True)
)
EXAMPLE_ITEMS = 10_000  # whose counts are assumed to say what a campaign would find
_DAY = 24 * 3600
PARAMETERS = (
    "threshold",
    "symbol_bits",
    "rows",
    "cell_bits",
    "bucket_bits",
    "repetitions",
    "published",
)


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
        Privacy loss of one user's reports; with a central target by default the largest that reaches it.
    users:
        About how many users will report.
    threshold:
        Smallest count to find; by default the smallest that is found reliably.
    symbol_bits:
        Bits of a response; by default those of the smallest error.
    days:
        The campaign ends after so many days.
    reports_per_user:
        Reports of each user, each about another of their items at an equal part of epsilon.
    collector, relay:
        Who runs the collector, and the relay that shuffles the reports.
    retention_days:
        The reports are deleted so many days after the end.
    min_batch:
        The relay forwards batches of at least so many reports.
    central_epsilon, central_delta:
        Claim this guarantee for shuffled batches; refused unless it is proved.
    rows, cell_bits, bucket_bits, repetitions, published:
        Parameters of the protocols of Bassily et al. 2020.
    """

    items: str
    truncate: bool
    protocol: str
    epsilon: float | None
    users: int
    threshold: float | None
    symbol_bits: int | None
    days: int = 30
    reports_per_user: int = 1
    collector: str = ""
    relay: str = ""
    retention_days: int = 30
    min_batch: int = 1
    central_epsilon: float | None = None
    central_delta: float | None = None
    rows: int | None = None
    cell_bits: int | None = None
    bucket_bits: int | None = None
    repetitions: int | None = None
    published: float | None = None

    def campaign(self) -> Campaign:
        """Return a new campaign, or raise if its result could not be listed or its claims are not proved."""
        protocol = registry.CAMPAIGNS[self.protocol.replace("-", "_")]
        chosen = self._chosen(protocol)
        encoding = encoding_of(self.items, self.truncate)
        if encoding.width > protocol.widest_listed:
            raise ParameterError(
                f"{self.protocol} can list items of at most {protocol.widest_listed} bits, and {self.items}"
                f" has {encoding.width}. Use {' or '.join(PRACTICAL[:2])}, or narrower items."
            )
        end = int(time.time()) + check_count("days", self.days, most=36500) * _DAY
        reports = check_count("reports_per_user", self.reports_per_user, most=MOST_REPORTS)
        terms = self.terms()
        epsilon, bits = self._loss()
        if bits is not None:
            chosen["symbol_bits"] = bits
        make: Callable[..., Campaign] = protocol
        made = make(
            encoding,
            epsilon=epsilon,
            users=self.users,
            expires=end,
            reports=reports,
            terms=terms,
            **chosen,
        )
        from hushcount.ldp.server.decoding import check_central

        check_central(made.manifest)
        return made

    def _chosen(self, protocol: type) -> dict[str, float]:
        """Return the parameters of the protocol that were given, or raise if it has none of that name."""
        if self.protocol in PAPER and self.symbol_bits is not None:
            raise ParameterError(f"{self.protocol} sends one bit, so leave out --symbol-bits.")
        given = {name: getattr(self, name) for name in PARAMETERS}
        chosen = {name: value for name, value in given.items() if value is not None}
        for name in chosen:
            if name not in _parameters(protocol):
                known = [_dashed(other) for other in registry.CAMPAIGNS if _has(other, name)]
                raise ParameterError(
                    f"{self.protocol} has no --{_dashed(name)}, which is for {', '.join(known)}."
                )
        return chosen

    def terms(self) -> Terms:
        """Return who runs the campaign and what they promise."""
        claims = self.central_epsilon is not None or self.central_delta is not None
        if claims and (self.central_epsilon is None or self.central_delta is None):
            raise ParameterError("Give --central-epsilon and --central-delta together.")
        if claims and (not self.relay or self.min_batch < 2):
            raise ParameterError(
                "A central guarantee rests on a relay that shuffles: give --relay NAME and --min-batch N,"
                " at least 2."
            )
        return Terms(
            collector=self.collector,
            relay=self.relay,
            retention_days=self.retention_days,
            min_batch=self.min_batch,
            central_epsilon="" if self.central_epsilon is None else epsilon_text(self.central_epsilon),
            central_delta="" if self.central_delta is None else delta_text(self.central_delta),
            promise=PROMISE if claims else "",
        )

    def _loss(self) -> tuple[float, int | None]:
        """Return the local epsilon and, if they follow from a central target, the bits of a response."""
        if self.epsilon is not None:
            return self.epsilon, None
        if self.central_epsilon is None or self.central_delta is None:
            raise ParameterError("Give --epsilon, or a central guarantee from which it follows.")
        from hushcount.ldp.protocols.shuffling import plan_central

        fixed = 1 if self.protocol == "bitstogram-binary" else self.symbol_bits
        plan = plan_central(self.central_epsilon, self.central_delta, self.min_batch, fixed)
        return plan.local, None if self.protocol == "bitstogram-binary" else plan.symbol_bits


def _parameters(protocol: type) -> set[str]:
    """Return the names of what the maker of a campaign decides."""
    return {each.name for each in fields(protocol) if each.init}


def _has(name: str, parameter: str) -> bool:
    """Return whether a protocol has a parameter."""
    return parameter in _parameters(registry.CAMPAIGNS[name])


def _dashed(name: str) -> str:
    """Return a name as the command line writes it."""
    return name.replace("_", "-")


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
