r"""Requests to stop: one list of signals, and the moments at which they may interrupt.

Four signals ask a program to end: SIGINT (Ctrl-C), SIGTERM, SIGHUP (the terminal was closed) and
SIGQUIT (Ctrl-\). Inside `handled` each of them raises `KeyboardInterrupt`, so that temporary files are
removed on the way out. A signal that is ignored, because the program was started by nohup or in the
background of a shell, stays ignored.

Inside `held` nothing is interrupted: a signal is noted there and raised when the block ends. Nor is an
import: libraries that are half loaded cannot be loaded again, and some swallow what is raised there.
Only the main thread of a program receives signals; in any other thread both do nothing.

>>> with held():
...     pass
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

SIGNALS = tuple(
    number for number in signal.Signals if number.name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
)
NOTHING = "nothing was released."
IMPORTING = "<frozen importlib._bootstrap>"
AGAIN = 0.01  # seconds, after which a signal that came during an import is sent again
PRINTED = "the table may have been printed, whole or in part."
SAME = 1.0  # seconds
Handler = Callable[[int, FrameType | None], object] | int | None


@dataclass(slots=True)
class _State:
    """What the one handler of this process knows."""

    replaced: dict[int, Handler] = field(default_factory=dict)
    holding: int = 0
    noted: list[int] = field(default_factory=list)
    raised: bool = False
    left: str = ""
    ends: bool = False
    ending: float = 0.0  # until when a further signal asks for what is being done already
    imports: int = 0  # that were under way when the outermost block began
    postponed: list[int] = field(default_factory=list)


_state = _State()


@contextmanager
def handled(ends: bool = False) -> Iterator[None]:
    """Let the four signals raise `KeyboardInterrupt` inside the block.

    A handler that the program has set itself is called instead, and decides what happens. Ignored signals
    stay ignored. Blocks may be nested: the outermost one counts. With `ends` the block is a whole program, so
    signals within a second ask for one end: the second of them must not interrupt how the first is reported.
    """
    with _handling(lambda handler: handler is not signal.SIG_IGN, ends):
        yield


@contextmanager
def held() -> Iterator[None]:
    """Run the block to its end; a signal that comes meanwhile is raised after it, also if the block failed.

    Outside `handled`, a signal that has no handler ends the program at once, as it would without this block.
    """
    if not _in_main_thread():
        yield
        return
    with _handling(callable):
        _state.holding += 1
        try:
            yield
        finally:
            _state.holding -= 1
            if not _state.holding:
                _act()


@contextmanager
def ignored(to_the_end: bool = False) -> Iterator[None]:
    """Ignore the four signals inside the block, in which a program says how it ended.

    With `to_the_end` they stay ignored: the program has nothing left to do but to shut down.
    """
    if not _in_main_thread():
        yield
        return
    _state.holding += 1
    before = {number: signal.getsignal(number) for number in SIGNALS}
    known = {number: handler for number, handler in before.items() if handler is not None}
    for number in known:
        signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        _state.holding -= 1
        _state.noted.clear()
        if to_the_end:
            _state.replaced.clear()
            exec("")  # or Python 3.11 ends by SIGINT if KeyboardInterrupt has left another `exec`
        else:
            for number, handler in known.items():
                signal.signal(number, handler)


def check() -> None:
    """Raise `KeyboardInterrupt` if an earlier one was swallowed, as Python does in finalisers, or waits."""
    if not _in_main_thread():
        return
    while _state.postponed:
        _receive(_state.postponed.pop(0), None)
    if _state.raised:
        raise KeyboardInterrupt


def leaves(sentence: str) -> None:
    """State what an interruption from now on leaves behind, such as "nothing was released."."""
    _state.left = sentence


def withdraw(sentence: str, instead: str) -> None:
    """Replace what `leaves` stated by another sentence, if something else has not replaced it meanwhile."""
    if _state.left == sentence:
        _state.left = instead


def interruption() -> str:
    """Return the message for whoever interrupted the program.

    >>> interruption()
    'Interrupted.'
    """
    return f"Interrupted; {_state.left}" if _state.left else "Interrupted."


@contextmanager
def _handling(replaceable: Callable[[Handler], bool], ends: bool = False) -> Iterator[None]:
    """Receive the signals whose handlers are replaceable, unless an outer block does so already."""
    if _state.replaced or not _in_main_thread():
        yield
        return
    _state.raised, _state.left, _state.ends, _state.ending = False, "", ends, 0.0
    _state.imports = _imports(sys._getframe())
    try:
        for number in SIGNALS:
            handler = signal.getsignal(number)
            # None stands for a handler that was not set by Python: it could not be put back.
            if handler is not None and replaceable(handler):
                _state.replaced[number] = handler
                signal.signal(number, _receive)
        yield
    finally:
        _restore_handlers()
        _state.raised = False


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _restore_handlers() -> None:
    """Put the earlier handlers back, all of them even if one is called at once and raises."""
    try:
        while _state.replaced:
            number = next(iter(_state.replaced))
            signal.signal(number, _state.replaced[number])
            del _state.replaced[number]
    finally:
        if _state.replaced:
            _restore_handlers()


def _imports(frame: FrameType | None) -> int:
    """Return how many functions of Python's import system are running."""
    count = 0
    while frame is not None:
        count, frame = count + (frame.f_code.co_filename == IMPORTING), frame.f_back
    return count


def _receive(number: int, frame: FrameType | None) -> None:
    if _imports(frame) > _state.imports:
        _state.postponed.append(number)
        later = threading.Timer(AGAIN, _send_again, (number,))
        later.daemon = True
        later.start()
        return
    _state.noted.append(number)
    if not _state.holding:
        _act()


def _send_again(number: int) -> None:
    """Send a signal that came during an import, unless `check` was faster."""
    main = threading.main_thread().ident
    if number in _state.postponed and main is not None:
        _state.postponed.remove(number)
        signal.pthread_kill(main, number)


def _act() -> None:
    """Do what the noted signals ask for."""
    while _state.noted:
        number = _state.noted.pop(0)
        handler = _state.replaced.get(number, signal.SIG_DFL)
        if not callable(handler) or handler is signal.default_int_handler:
            _state.noted.clear()
            if time.monotonic() < _state.ending:
                return
            _state.raised, _state.ending = True, time.monotonic() + SAME if _state.ends else 0.0
            raise KeyboardInterrupt
        handler(number, None)
