"""What the whole suite shares: skipped Spark tests are said in a line of their own."""


def pytest_terminal_summary(terminalreporter):
    reasons = {str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])}
    for reason in sorted(reasons):
        if "SPARK WAS NOT TESTED" in reason:
            terminalreporter.write_line(f"!!! {reason}", red=True, bold=True)
