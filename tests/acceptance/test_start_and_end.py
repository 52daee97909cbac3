"""From the first import to the end of the interpreter, a signal never changes what the program says."""

import subprocess
import sys

import pytest
from tests.soak import runs

WITHOUT_WORDS = "Interrupted; nothing was released.\n"
# Sends the signal when click is imported, which is the first library that the program loads.
AT_START = """
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), NUMBER)
sys.meta_path.insert(0, Finder())
"""
# Sends it while a library is loaded whose loader swallows what is raised there, as some do.
SWALLOWED = """
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), NUMBER)
                for _ in range(1000):
                    pass
            except KeyboardInterrupt:
                raise ImportError("numpy is half loaded") from None
sys.meta_path.insert(0, Finder())
"""
# Sends it while click reads the options of the program.
IN_CLICK = """
import click
made = click.Context.__init__
def again(*values, **options):
    click.Context.__init__ = made
    os.kill(os.getpid(), NUMBER)
    made(*values, **options)
click.Context.__init__ = again
"""
# Sends it when the interpreter shuts down, after everything was said.
AT_END = "import atexit; atexit.register(os.kill, os.getpid(), NUMBER)"
# Sends it inside `exec`, after which Python 3.11 ends by SIGINT although the exception was handled.
IN_EXEC = """
import time
import hushcount.cli.main, hushcount.releases.views.tables
def interrupted(*values, **options):
    exec("os.kill(os.getpid(), NUMBER); time.sleep(60)")
sys.modules["hushcount.cli.main"].program.main = interrupted
"""
# Sends it again while the program prepares to say how it ended.
TWICE = """
import signal, time
import hushcount.cli.main, hushcount.releases.views.tables
found = signal.getsignal
def again(number):
    signal.getsignal = found
    os.kill(os.getpid(), NUMBER)
    return found(number)
def interrupted(*values, **options):
    signal.getsignal = again
    os.kill(os.getpid(), NUMBER)
    time.sleep(60)
sys.modules["hushcount.cli.main"].program.main = interrupted
"""


def run(number, moment, *arguments):
    lines = [runs.FOREGROUND, "import os, sys", f"NUMBER = {int(number)}", moment]
    lines += [f"sys.argv[1:] = {list(arguments)}", "from hushcount.__main__ import main", "sys.exit(main())"]
    ended = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize("number", runs.SIGNALS)
def test_a_signal_while_the_program_is_loaded(number):
    assert run(number, AT_START, "--version") == (130, "", WITHOUT_WORDS)


@pytest.mark.parametrize("number", runs.SIGNALS)
def test_a_signal_while_a_library_is_half_loaded(number, tmp_path):
    data = tmp_path / "a.txt"
    data.write_text("tea\n" * 100)
    code, out, err = run(number, SWALLOWED, "top", str(data), "--epsilon", "1", "--delta", "1e-8")
    assert (code, out, err) in ((130, "", "Interrupted.\n"), (130, "", WITHOUT_WORDS))


@pytest.mark.parametrize("number", runs.SIGNALS)
def test_a_signal_while_options_are_read(number):
    assert run(number, IN_CLICK, "inspect", "no-such-file") == (130, "", "Interrupted.\n")


@pytest.mark.parametrize("number", runs.SIGNALS)
def test_a_signal_while_the_interpreter_ends(number):
    code, out, err = run(number, AT_END, "--version")
    assert (code, out.split()[0], err) == (0, "hushcount", "")
    code, out, err = run(number, AT_END, "inspect", "no-such-file")
    assert (code, out, err) == (1, "", "no-such-file does not exist.\n")


@pytest.mark.parametrize("number", runs.SIGNALS)
def test_a_signal_in_code_that_is_executed_from_text(number):
    code, out, err = run(number, IN_EXEC)
    assert (code, out, err) == (130, "", "Interrupted.\n")


@pytest.mark.parametrize("number", runs.SIGNALS)
def test_a_second_signal_while_the_first_is_reported(number):
    assert run(number, TWICE) == (130, "", "Interrupted.\n")


# Ctrl-C at the first import of the program itself, in which Python's own handler would show a traceback.
FIRST = AT_START.replace("click", "hushcount.signals").replace("NUMBER", "2")


@pytest.mark.parametrize(
    "start",
    [
        "sys.argv[0] = '/somewhere/hushcount'; from hushcount.__main__ import main; sys.exit(main())",
        "import runpy; runpy.run_module('hushcount', run_name='__main__', alter_sys=True)",
    ],
)
def test_ctrl_c_at_the_first_import(start):
    code = f"{runs.FOREGROUND}\nimport os, sys\n{FIRST}\n{start}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", WITHOUT_WORDS)


def test_the_package_imports_nothing_before_the_program_can_listen():
    code = "import sys; before = set(sys.modules); import hushcount; print(*set(sys.modules) - before)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "hushcount\n"


def test_a_program_that_imports_the_start_keeps_its_handler():
    code = "import signal as s; own = s.getsignal(2); import hushcount.__main__; print(s.getsignal(2) is own)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "True\n"
