"""Files of reports of a campaign to the items that many users hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.files.atomic import refuse_same
from hushcount.privacy import check_confidence

if TYPE_CHECKING:
    from hushcount.jobs.request import Progress
    from hushcount.ldp.server.collection import Incoming
    from hushcount.releases.release import Release

REPORT_FORMS = ("packed", "hex", "batch")
HEX_ENDINGS = (".txt", ".hex")
BATCH_ENDING = ".hcb"
_STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """How the reports of a campaign are read, as the command line names it.

    Parameters
    ----------
    form:
        Form of the reports, "packed", "hex" or "batch"; by default by the ending of each file.
    state:
        File whose reports are continued, and which keeps all of them.
    collected_in_time:
        Whether the reports came before the campaign ended.
    confidence:
        Confidence level of the intervals.
    """

    form: str | None = None
    state: str | None = None
    collected_in_time: bool = False
    confidence: float = 0.95

    def incoming(self, reports: Sequence[str], progress: Progress | None) -> Incoming:
        """Return files of reports with the form of each, or raise if there are none."""
        from hushcount.ldp.server.collection import Incoming

        if not reports and self.state is None:
            raise ParameterError("REPORTS must be given, files or - for standard input.")
        return Incoming(
            files=[(name, report_form(name, self.form)) for name in reports],
            state=self.state,
            in_time=self.collected_in_time,
            tell=None if progress is None else _teller(_named(reports), progress),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateSettings(ReadSettings):
    """How the reports of a campaign are read and answered, as the command line names it.

    Parameters
    ----------
    threshold:
        Smallest count to publish; by default the manifest's.
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

    threshold: float | None = None
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
    from hushcount.ldp.server.collection import answer
    from hushcount.releases.views.report_files import NO_FILES, check_files, write_files

    incoming = settings.incoming(reports, progress)
    confidence = check_confidence(settings.confidence)
    files = settings.files
    refuse_same([*files, settings.state], [path, *_named(reports)])
    if files != NO_FILES:
        check_files(*files)
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

    >>> report_form("r.txt", None), report_form("-", None), report_form("r.hcb", None)
    ('hex', 'packed', 'batch')
    """
    by_ending = "batch" if path.lower().endswith(BATCH_ENDING) else "packed"
    return form or ("hex" if path.lower().endswith(HEX_ENDINGS) else by_ending)


def _named(reports: Sequence[str]) -> list[str]:
    """Return the files among reports that may also come from standard input."""
    return [name for name in reports if name != _STANDARD_INPUT]


def _teller(paths: Sequence[str], progress: Progress) -> Callable[[int], object]:
    """Return a function that takes the bytes of each block and reports how far all files have been read."""
    size = sum(os.path.getsize(path) for path in paths if os.path.isfile(path)) or None
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        progress(done, size)

    return tell
