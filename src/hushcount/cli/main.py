"""The program: its commands, and one sentence with an exit code for whatever goes wrong."""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from hushcount import __version__, signals
from hushcount.cli import show
from hushcount.cli.wording import command_of, in_options
from hushcount.errors import HushcountError, PrivacyWarning
from hushcount.registry import Registry

# Each command with its place, from which it is imported when it is asked for, and what --help lists.
_TABLE = {
    "top": ("hushcount.cli.publish:top", "Publish the most frequent keys of FILE."),
    "tree": ("hushcount.cli.publish:tree", "Publish the heavy nodes of a hierarchy, such as IP prefixes."),
    "sample": ("hushcount.cli.publish:sample", "Publish a weighted sample of the keys."),
    "keys": ("hushcount.cli.publish:keys", "Publish which keys exist, without counts."),
    "sketch": ("hushcount.cli.sketches:sketch", "Count the keys of FILE into a sketch file, without noise."),
    "merge": ("hushcount.cli.sketches:merge", "Add up raw sketch files of different data."),
    "release": ("hushcount.cli.sketches:release", "Publish a sketch file with differential privacy."),
    "add": ("hushcount.cli.sketches:add", "Add up published tables of different data."),
    "order": ("hushcount.cli.tables.order:order", "Tell how sure the order of a published table is."),
    "inspect": ("hushcount.cli.sketches:inspect", "Describe a sketch or an oracle to its owner."),
    "oracle": ("hushcount.cli.oracle:oracle", "Publish a noisy sketch, then look up any key."),
    "ldp": ("hushcount.cli.ldp:ldp", "Ask users for randomised reports: the local model."),
    "collect": ("hushcount.cli.service.collect:collect", "Run campaigns of the local model over HTTP."),
    "relay": ("hushcount.cli.service.relay:relay", "Pass on sealed reports in shuffled batches."),
    "watch": ("hushcount.cli.watch:watch", "Publish a table that goes on, period by period."),
    "plan": ("hushcount.cli.trust.plan:plan", "Tell what a table will hold, before any data are read."),
    "verify": ("hushcount.cli.trust.verify:verify", "Check a release file without its data."),
    "explain": ("hushcount.cli.trust.verify:explain", "Print what is proved of a mechanism, and the proof."),
    "ledger": ("hushcount.cli.trust.ledger:ledger", "Keep budgets that cannot be overspent."),
    "audit": ("hushcount.cli.trust.audit:audit", "Try to refute the privacy claim of a mechanism."),
}
COMMANDS: Registry[click.Command] = Registry("command", {name: place for name, (place, _) in _TABLE.items()})
BAD_USAGE, INTERRUPTED = 2, 130  # exit codes
DEBUG, AS_JSON = "HUSHCOUNT_DEBUG", "--json"
READER = "hushcount-read-ahead"
MANNERS = {
    show.QUIET: "Print no messages besides warnings and errors.",
    show.VERBOSE: "Print more about how the result was made; never raw data.",
}
CACHE = (
    "The compiled code that hushcount keeps on disk is damaged, or the disk is full. Free some space, or set"
    " NUMBA_CACHE_DIR to an empty folder, and run it again."
)
EPILOG = """\b
Example:
  hushcount top searches.parquet --column query --epsilon 1 --delta 1e-8

\b
The table goes to standard output, messages to standard error.
Exit codes: 0 success, 1 the data could not be used or the run failed, 2 wrong usage,
130 interrupted.
"""


class Commands(click.Group):
    """A group whose commands are imported by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of COMMANDS."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in _TABLE.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        return with_manners(COMMANDS[cmd_name]) if cmd_name in COMMANDS else None

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """Read the options of the program."""
        with _past_click():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        with _past_click():
            signals.check()
            return super().invoke(ctx)


@contextmanager
def _past_click() -> Iterator[None]:
    """Keep Ctrl-C from click, which prints a line of its own, and takes the end of some file for Ctrl-C."""
    try:
        yield
        return
    except (KeyboardInterrupt, EOFError) as error:
        failure = error
    raise _Passed(failure)


def with_manners(command: click.Command) -> click.Command:
    """Return a command, and all commands below it, with options for how much is said."""
    if isinstance(command, click.Group):
        for below in command.commands.values():
            with_manners(below)
    elif not any(parameter.name == show.QUIET for parameter in command.params):
        command.params += [_manner(show.QUIET), _manner(show.VERBOSE)]
    return command


def _manner(level: str) -> click.Option:
    """Return the option that sets how much is said."""

    def speak(context: click.Context, parameter: click.Parameter, given: bool) -> None:
        if given:
            show.speak(level)

    return click.Option(
        [f"--{level}", f"-{level[0]}"],
        is_flag=True,
        expose_value=False,
        callback=speak,
        help=MANNERS[level],
    )


class _Passed(Exception):  # noqa: N818
    """Carries an exception past click, which replaces some kinds by its own."""

    def __init__(self, failure: BaseException) -> None:
        self.failure = failure


@click.group(
    cls=Commands,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="hushcount %(version)s")
def program() -> None:
    """Publish the most frequent keys of a stream with differential privacy.

    Counts in one pass and bounded memory, adds secure integer noise, and states what the
    table protects and how accurate it is.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    whole = arguments is None  # the process is this program's own
    given = list(sys.argv[1:] if arguments is None else arguments)
    failure: BaseException | None = None
    with signals.handled(ends=True):
        try:
            _open_streams()
            show.speak(show.USUAL)
            with _warnings_shown(given):
                program.main(given or ["--help"], "hushcount", obj=whole, standalone_mode=False)
            sys.stdout.flush()
        except BaseException as error:
            failure = error.failure if isinstance(error, _Passed) else error
        # Whoever presses Ctrl-C again still gets the message, and the code that goes with it.
        with signals.ignored(to_the_end=whole):
            return 0 if failure is None else _ended(_failed(failure, given))


@contextmanager
def _warnings_shown(given: Sequence[str]) -> Iterator[None]:
    """Print warnings about the budget as one sentence each; others stay as they are."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: object, **more: object) -> None:
            if issubclass(category, PrivacyWarning):
                sentence = _in_options(str(message), given)
                click.echo(
                    _line("warning", sentence) if AS_JSON in given else f"Warning: {sentence}", err=True
                )
            else:
                shown(message, category, *place, **more)  # type: ignore[arg-type]

        warnings.simplefilter("always", PrivacyWarning)
        warnings.showwarning = show
        yield


def _in_options(sentence: str, given: Sequence[str]) -> str:
    """Return a message of a job in the words of the command that was given."""
    return in_options(_one_line(sentence), command_of(program, given))


def _open_streams() -> None:
    """Replace closed standard streams by /dev/null: the next file opened would get their descriptor."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _ended(code: int) -> int:
    """Return the code, or leave at once if a reader still waits for a pipe that says nothing."""
    try:
        sys.stdout.flush()
    except OSError:  # it was reported already, so what is left is dropped without a second message
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if any(thread.name == READER for thread in threading.enumerate()):
        sys.stderr.flush()
        os._exit(code)
    return code


def _failed(error: BaseException, given: Sequence[str] = ()) -> int:
    """Print one sentence without any of the data, and return the exit code."""
    if isinstance(error, click.exceptions.Exit | SystemExit):
        return int(error.exit_code if isinstance(error, click.exceptions.Exit) else error.code or 0)
    if isinstance(error, BrokenPipeError):
        return 1
    if os.environ.get(DEBUG) == "1":
        traceback.print_exception(error)
    from hushcount.releases.views.tables import visible

    sentence, code = explained(error)
    sentence = _in_options(sentence, given) if isinstance(error, HushcountError) else sentence
    # It may quote text of a file, which a terminal must not obey.
    shown = visible(sentence)
    click.echo(_line("error", shown, _kind(error), code) if AS_JSON in given else shown, err=True)
    return code


def _line(what: str, sentence: str, kind: str | None = None, code: int | None = None) -> str:
    """Return a message as one JSON object, in one line."""
    details = {} if kind is None else {"kind": kind, "exit_code": code}
    return json.dumps({what: {"message": sentence, **details}})


def _kind(error: BaseException) -> str:
    """Return what kind of failure it is: a name of hushcount.errors, or one of three more."""
    if isinstance(error, HushcountError):
        return type(error).__name__
    if isinstance(error, KeyboardInterrupt | click.exceptions.Abort):
        return "Interrupted"
    return "UsageError" if isinstance(error, click.ClickException) else "Unexpected"


def explained(error: BaseException) -> tuple[str, int]:
    """Return the sentence and the exit code of a failure."""
    if isinstance(error, KeyboardInterrupt | click.exceptions.Abort):
        return signals.interruption(), INTERRUPTED
    if isinstance(error, HushcountError):
        return _one_line(str(error)), error.exit_code
    if isinstance(error, click.ClickException):
        return _usage(error), BAD_USAGE
    if isinstance(error, MemoryError):
        return "There is not enough memory; use fewer --counters.", 1
    if _from_cache(error):
        return CACHE, 1
    return f"hushcount failed unexpectedly {_place(error)}; {DEBUG}=1 shows more, maybe with raw data.", 1


def _from_cache(error: BaseException) -> bool:
    """Return whether the files in which numba keeps compiled code are damaged or cannot be written."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return any(os.path.join("numba", "core", "caching") in name for name in files)


def _usage(error: click.ClickException) -> str:
    if isinstance(error, click.MissingParameter) and error.param is not None:
        parameter = error.param
        if isinstance(parameter, click.Argument):
            return f"{str(parameter.name).upper()} must be given."
        return f"{max(parameter.opts, key=len)} must be given: {_meaning(parameter)}"
    sentence = _one_line(error.format_message())
    return sentence if sentence.endswith((".", "?")) else f"{sentence}."


def _meaning(parameter: click.Parameter) -> str:
    """Return what an option is for, and where to read more."""
    words = parameter.help or "" if isinstance(parameter, click.Option) else ""
    more = " The README says how to choose it." if parameter.name in ("epsilon", "delta") else ""
    return f"{words[:1].lower()}{words[1:]}{more}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _place(error: BaseException) -> str:
    """Return the kind of failure and the line of the program, which hold no data."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "hushcount" in frame.filename] or frames
    where = f" in {os.path.basename(own[-1].filename)}, line {own[-1].lineno}" if own else ""
    return f"({type(error).__name__}{where})"
