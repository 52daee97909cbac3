"""What the whole suite shares: skipped tests of Spark, PostgreSQL and a browser have lines of their own."""

import os
import signal

from tests import chromium, postgresql, spark_session
from tests.postgresql import location, postgresql_server

__all__ = ["location", "postgresql_server"]


def pytest_configure():
    """Take Ctrl-C back, which a test run in the background of a shell inherits as ignored."""
    os.environ.pop("COLUMNS", None)  # the width of messages follows it
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.pop("COLUMNS", None)  # tables follow it, and parallel runs set it


def pytest_terminal_summary(terminalreporter):
    """Say once, in red, what was not tested."""
    reports = terminalreporter.stats.get("skipped", [])
    for sentence in (spark_session.SKIPPED, postgresql.SKIPPED, chromium.SKIPPED):
        skipped = [report for report in reports if sentence in str(report.longrepr)]
        if skipped:
            terminalreporter.write_line(f"!!! {sentence} ({len(skipped)} skipped)", red=True, bold=True)
