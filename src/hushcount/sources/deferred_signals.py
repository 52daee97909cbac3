"""Ctrl-C, and signals handled like it, while a library works that an exception in its midst would upset."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class DeferredSignals:
    """Within `deferred` a signal asks the library to `stop`; its own handler hears of it at the end.

    Within `at_once`, which is for waiting inside of `deferred`, the handler is called when the signal comes.
    Signals without a Python handler, and those of threads other than the main one, are left alone.
    """

    def __init__(self, stop: Callable[[], object] = lambda: None) -> None:
        self.stop = stop
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._requested: list[int] = []
        self._waiting = False

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Hold back signals; an exception of the block gives way to that of a handler."""
        failure: Exception | None = None
        self._take()
        try:
            yield
        except Exception as error:
            failure = error
        finally:
            self._give_back()
        try:
            self._tell()
        except BaseException as stopped:
            stopped.__context__ = None  # what failed because it was stopped may quote the data
            raise
        if failure is not None:
            raise failure

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """A wait that a signal may end; in another thread than the main one no signal comes."""
        self._waiting = _in_main_thread()
        try:
            if self._waiting:
                self._tell()
            yield
        finally:
            self._waiting = False

    def _take(self) -> None:
        if not _in_main_thread():
            return
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._handle)

    def _give_back(self) -> None:
        if _in_main_thread():
            while self._handlers:
                signal.signal(*self._handlers.popitem())

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._waiting:
            self._handlers[number](number, frame)
            return
        self._requested.append(number)
        with suppress(Exception):  # a library that has come to an end already
            self.stop()

    def _tell(self) -> None:
        """Call the handlers of the signals that came."""
        requested, self._requested = self._requested, []
        for number in requested:
            handler = self._handlers.get(number) or signal.getsignal(number)
            if callable(handler):
                handler(number, None)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
