"""Programs that kill themselves (SIGKILL, as kill -9) at the nth of their fault points, for tests of crashes.

A fault point is every statement of a database, BEGIN and COMMIT among them, and every call that `at` names.
"""

import itertools
import os
import signal
import subprocess
import sys
from functools import wraps

_points = itertools.count(1)
FATAL = "HUSHCOUNT_TEST_FATAL_POINT"


def point():
    """Die here if this is the fatal point."""
    if next(_points) == int(os.environ.get(FATAL, "0")):
        os.kill(os.getpid(), signal.SIGKILL)


def at(owner, name):
    """Make a fault point before and after each call of a function."""
    function = getattr(owner, name)

    @wraps(function)
    def wrapped(*arguments, **options):
        point()
        result = function(*arguments, **options)
        point()
        return result

    setattr(owner, name, wrapped)


def at_every_statement():
    """Make a fault point before every statement of SQLite and PostgreSQL."""
    from hushcount.stores import postgresql, sqlite

    opened = sqlite._opened

    def traced(*arguments):
        connection = opened(*arguments)
        connection.set_trace_callback(lambda _: point())
        return connection

    sqlite._opened = traced
    at(postgresql.PostgreSQL, "_run")


def killed_at(number, script, *arguments):
    """Run a script that dies at a point; return what it printed and whether it died."""
    environment = os.environ | {FATAL: str(number)}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.stdout, done.returncode != 0


def every_point(script, prepare):
    """Yield, for every fault point of a script, the arguments that `prepare` made and what it printed."""
    for number in itertools.count(1):
        arguments = prepare(number)
        printed, died = killed_at(number, script, *arguments)
        yield arguments, printed
        if not died:
            return
