"""The command line: parse, call, exit code."""

from hushcount.cli.main import main

__all__ = ["main"]
