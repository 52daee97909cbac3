"""Ctrl-C and SIGTERM wait until a batch is counted whole, so that what is saved is consistent."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Raises KeyboardInterrupt at once, but never inside `held`: there it comes at the end."""

    def __init__(self) -> None:
        self._holding = False
        self._requested = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block that is done wholly or not at all."""
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
        if self._requested:
            raise KeyboardInterrupt

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        """The signal handler."""
        self._requested = True
        if not self._holding:
            raise KeyboardInterrupt


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Take over both signals for a while; only the main thread has any."""
    taken = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield taken
        return
    before = {number: signal.signal(number, taken.handle) for number in SIGNALS}
    try:
        yield taken
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
