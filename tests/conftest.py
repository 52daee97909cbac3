"""What the whole suite shares: skipped Spark tests are said in a line of their own."""

import os
import signal

from tests.spark_session import SKIPPED


def pytest_configure():
    """Take Ctrl-C back, which a test run in the background of a shell inherits as ignored."""
    os.environ.pop("COLUMNS", None)  # the width of messages follows it
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.pop("COLUMNS", None)  # tables follow it, and parallel runs set it


def pytest_terminal_summary(terminalreporter):
    """Say once, in red, that Spark was not tested."""
    reports = terminalreporter.stats.get("skipped", [])
    skipped = [report for report in reports if SKIPPED in str(report.longrepr)]
    if skipped:
        terminalreporter.write_line(f"!!! {SKIPPED} ({len(skipped)} skipped)", red=True, bold=True)
