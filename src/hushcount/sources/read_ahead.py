"""One thread that reads ahead while the consumer counts, with a bounded queue between them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Generic, TypeVar

from hushcount.signals import held

Item = TypeVar("Item")
THREAD = "hushcount-read-ahead"
# A read that no cancel reaches, as from a pipe that says nothing, must not keep a program from ending.
PATIENCE = 2.0
STEP = 0.05


def read_ahead(
    items: Iterator[Item],
    depth: int = 3,
    cancel: Callable[[], None] = lambda: None,
    patience: float = PATIENCE,
) -> Iterator[Item]:
    """Yield the items in order, read up to `depth` ahead in another thread.

    The thread starts with the first item asked for. It ends with the items, with an exception
    (raised here), or when this generator is closed: then `cancel` is called, to end a long read, until the
    thread has ended or `patience` seconds have passed.
    """
    ahead = Wakeable(items, depth)
    try:
        while (item := ahead.next()) is not None:
            yield item
            del item  # a batch may be large, and is not needed while the next one is awaited
    finally:
        with held():
            end = time.monotonic() + patience
            while not ahead.close(STEP) and time.monotonic() < end:
                cancel()


class Wakeable(Generic[Item]):
    """Items, none of them None, read up to `depth` ahead in another thread.

    A wait for the next one, in whatever thread, is ended by `stop`.
    """

    def __init__(self, items: Iterator[Item], depth: int = 1) -> None:
        self._items, self._depth = items, depth
        self._read: deque[Item] = deque()
        self._changed = threading.Condition()
        self._ended = self._stopped = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._fill, name=THREAD, daemon=True)

    def next(self) -> Item | None:
        """Return the next item, or None after the last one.

        Raise what was raised while it was read, or KeyboardInterrupt after `stop`.
        """
        if self._thread.ident is None:
            self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._read or self._ended or self._stopped)
            if self._stopped:
                raise KeyboardInterrupt
            if self._read:
                self._changed.notify_all()
                return self._read.popleft()
        if self._failure is not None:
            raise self._failure
        return None

    def stop(self) -> None:
        """End the reading, and whoever waits for it."""
        with self._changed:
            self._stopped = True
            self._read.clear()
            self._changed.notify_all()

    def close(self, patience: float | None = PATIENCE) -> bool:
        """End the reading; wait as long as `patience` says, None for its end, and return whether it came."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join(patience)
        return not self._thread.is_alive()

    def _fill(self) -> None:
        """Run in the reading thread: put every item, then the end, and close the items."""
        failure: BaseException | None = None
        try:
            for item in self._items:
                if not self._put(item):
                    break
        except BaseException as error:
            failure = error
        finally:
            if isinstance(self._items, Generator):
                self._items.close()
        with self._changed:
            self._ended, self._failure = True, failure
            self._changed.notify_all()

    def _put(self, item: Item) -> bool:
        """Put an item once there is room for it; return whether more are wanted."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._read) < self._depth or self._stopped)
            self._read.append(item)
            self._changed.notify_all()
            return not self._stopped
