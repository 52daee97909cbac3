"""The start of the program: `hushcount`, and `python -m hushcount`."""

import os
import sys

# The module `signal` itself imports others first, in which Ctrl-C would show a traceback.
from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]


def _end(*_signal: object) -> int:
    """End at once: no work has begun."""
    if sys.stderr:
        sys.stderr.write("Interrupted; nothing was released.\n")
        sys.stderr.flush()
    os._exit(130)


# Before anything else is imported. A program that imports this module keeps its own handler.
_PROGRAM = __name__ == "__main__" or os.path.basename(sys.argv[0]).startswith("hushcount")
if _PROGRAM and getsignal(SIGINT) is default_int_handler:
    signal(SIGINT, _end)


def main() -> int:
    """Run the program and return its exit code; from the first import on, a signal ends it in order."""
    from hushcount import signals

    try:
        if getsignal(SIGINT) is _end:
            signal(SIGINT, default_int_handler)
        with signals.handled(ends=True):
            try:
                from hushcount.cli.start_up import collect_seldom

                collect_seldom()
                from hushcount.cli.main import main as run

                signals.check()
                return run()
            except KeyboardInterrupt:
                with signals.ignored(to_the_end=True):
                    return _end()
    except KeyboardInterrupt:
        return _end()


if __name__ == "__main__":
    sys.exit(main())
