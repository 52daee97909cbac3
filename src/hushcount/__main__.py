"""The start of the program: `hushcount`, and `python -m hushcount`."""

import sys

from hushcount import signals


def main() -> int:
    """Run the program and return its exit code; from the first import on, a signal ends it in order."""
    with signals.handled(ends=True):
        try:
            from hushcount.cli.main import main as run

            return run()
        except KeyboardInterrupt:
            with signals.ignored(to_the_end=True):
                sys.stderr.write(f"Interrupted; {signals.NOTHING}\n")
                return 130


if __name__ == "__main__":
    sys.exit(main())
