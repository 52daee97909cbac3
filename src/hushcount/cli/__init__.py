"""The command line: it parses options, calls a job, shows the result and returns an exit code."""

from hushcount.cli.main import main

__all__ = ["main"]
