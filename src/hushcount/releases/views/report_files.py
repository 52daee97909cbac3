"""The files that a run writes of its release: the table, a picture, a report. They appear together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.files.atomic import Outputs, PathLike, check_writable, written_with
from hushcount.releases.views.icicle import check_plot
from hushcount.releases.writers import Form, check_output

if TYPE_CHECKING:
    from hushcount.releases.release import Release
    from hushcount.releases.tree import TreeRelease
    from hushcount.releases.views.report_words import Reported

ENDINGS = (".html", ".htm")
NO_FILES = (None, None, None)


def check_report(path: PathLike) -> None:
    """Raise unless a report can be written under this name."""
    if not os.fspath(path).lower().endswith(ENDINGS):
        raise ParameterError(f"report must end in {' or '.join(ENDINGS)}, got {os.fspath(path)}.")


def check_files(output: PathLike | None, plot: PathLike | None, report: PathLike | None) -> None:
    """Raise unless each file that is asked for can be written under its name."""
    for path, check in ((output, check_output), (plot, check_plot), (report, check_report)):
        if path is not None:
            check(path)
            for each in written_with(Form.of(path)):
                check_writable(each)


def write_files(
    release: Release | TreeRelease,
    output: PathLike | None = None,
    plot: PathLike | None = None,
    report: PathLike | None = None,
) -> None:
    """Write what is asked for; all files appear together or none."""
    with Outputs() as outputs:
        if output is not None:
            release.prepare(output, outputs)
        if plot is not None:
            from hushcount.releases.views.plots import plot_of, prepare_plot

            prepare_plot(plot_of(release), plot, outputs)
        if report is not None:
            check_report(report)
            from hushcount.releases.views.report import prepare_report

            prepare_report(release, report, outputs)
        outputs.commit()


def write_report(release: Reported, path: PathLike) -> None:
    """Write the report alone; it appears whole or not at all."""
    from hushcount.releases.views.report import prepare_report

    check_report(path)
    with Outputs() as outputs:
        prepare_report(release, path, outputs)
        outputs.commit()
