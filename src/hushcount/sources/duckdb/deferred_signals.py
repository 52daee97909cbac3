"""Ctrl-C, and signals handled like it, while something must be done to its end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Hold signals back; their handlers are called at the end, also where the block failed.

    Signals without a Python handler are left alone, and so are all in other threads than the main one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    found = ((number, signal.getsignal(number)) for number in SIGNALS)
    handlers = {number: handler for number, handler in found if callable(handler)}
    for number in handlers:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in came:
            handlers[number](number, None)
