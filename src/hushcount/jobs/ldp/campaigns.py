"""Campaigns of the local model: how one is made, what it should find, and how its reports are read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError, cannot_read
from hushcount.files.atomic import check_writable, refuse_same
from hushcount.ldp import registry
from hushcount.ldp.wire import encodings
from hushcount.ldp.wire.encodings import Encoding
from hushcount.privacy import check_confidence, check_count

if TYPE_CHECKING:
    from hushcount.jobs.request import Progress
    from hushcount.ldp.protocols.campaign import Campaign, Quality
    from hushcount.releases.release import Release

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
REPORT_FORMS = ("packed", "hex")
HEX_ENDINGS = (".txt", ".hex")
_STANDARD_INPUT = "-"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateSettings:
    """How the reports of a campaign are read and answered, as the command line names it.

    Parameters
    ----------
    form:
        Form of the reports, "packed" or "hex"; by default by the ending of each file.
    state:
        File whose reports are continued, and which keeps all of them.
    collected_in_time:
        Whether the reports came before the campaign ended.
    threshold:
        Smallest count to publish; by default the manifest's.
    confidence:
        Confidence level of the intervals.
    limit:
        Most rows to publish.
    output:
        File that the table is also written to.
    plot:
        SVG file of the counts by rank.
    report:
        HTML file with everything in it, for people.
    source_name:
        What the data are called, if that is public.
    """

    form: str | None = None
    state: str | None = None
    collected_in_time: bool = False
    threshold: float | None = None
    confidence: float = 0.95
    limit: int | None = None
    output: str | None = None
    plot: str | None = None
    report: str | None = None
    source_name: str | None = None

    @property
    def files(self) -> tuple[str | None, str | None, str | None]:
        """The table, the picture and the report that are asked for."""
        return self.output, self.plot, self.report


def aggregate(
    path: str, reports: Sequence[str], settings: AggregateSettings, progress: Progress | None = None
) -> tuple[str, Release]:
    """Find the items that many users hold; return a sentence on the reports, and the release.

    Parameters
    ----------
    path:
        The manifest.
    reports:
        Files of reports; - is standard input.
    settings:
        How they are read and answered.
    progress:
        Called with the bytes read so far and in all.
    """
    from hushcount.ldp.server.collection import Incoming, answer
    from hushcount.releases.views.report_files import NO_FILES, check_files, write_files

    if not reports and settings.state is None:
        raise ParameterError("REPORTS must be given, files or - for standard input.")
    confidence = check_confidence(settings.confidence)
    named = [name for name in reports if name != _STANDARD_INPUT]
    files = settings.files
    refuse_same([*files, settings.state], [path, *named])
    if files != NO_FILES:
        check_files(*files)
    incoming = Incoming(
        files=[(name, report_form(name, settings.form)) for name in reports],
        state=settings.state,
        in_time=settings.collected_in_time,
        tell=None if progress is None else _teller(named, progress),
    )
    sentence, release = answer(path, incoming, settings.threshold)
    release = release.at_confidence(confidence)
    if settings.limit is not None:
        release = release.limit(settings.limit)
    stated = {"threshold": settings.threshold, "confidence": confidence, "limit": settings.limit}
    release = release.made_with(stated, settings.source_name)
    if files != NO_FILES:
        write_files(release, *files)
    return sentence, release


def report_form(path: str, form: str | None) -> str:
    """Return the form of a file of reports: as given, or by the ending of its name, never by its content.

    >>> report_form("r.txt", None), report_form("-", None), report_form("r.txt", "packed")
    ('hex', 'packed', 'packed')
    """
    return form or ("hex" if path.lower().endswith(HEX_ENDINGS) else "packed")


def _teller(paths: Sequence[str], progress: Progress) -> Callable[[int], object]:
    """Return a function that takes the bytes of each block and reports how far all files have been read."""
    size = sum(os.path.getsize(path) for path in paths if os.path.isfile(path)) or None
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        progress(done, size)

    return tell
