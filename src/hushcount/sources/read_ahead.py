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
    queue: _Queue[Item] = _Queue(depth)
    thread = threading.Thread(target=queue.fill, args=(items,), name=THREAD, daemon=True)
    thread.start()
    try:
        yield from queue.drain()
    finally:
        with held():
            queue.stop()
            end = time.monotonic() + patience
            while thread.is_alive() and time.monotonic() < end:
                cancel()
                thread.join(STEP)


class Wakeable(Generic[Item]):
    """Items read in another thread: a wait for the next one, in whatever thread, is ended by `stop`."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._queue: _Queue[Item] = _Queue(depth=1)
        self._found = self._queue.drain()
        self._thread = threading.Thread(target=self._queue.fill, args=(items,), name=THREAD, daemon=True)

    def next(self) -> Item | None:
        """Return the next item, or None after the last one; raise KeyboardInterrupt after `stop`."""
        if self._thread.ident is None:
            self._thread.start()
        item = next(self._found, None)
        if self._queue.stopped:
            raise KeyboardInterrupt
        return item

    def stop(self) -> None:
        """End the reading, and whoever waits for it."""
        self._queue.stop()

    def close(self, patience: float | None = PATIENCE) -> None:
        """End the reading, and wait for that as long as `patience` says, None for its end."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join(patience)


class _Queue(Generic[Item]):
    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._items: deque[Item] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self.stopped = False
        self._failure: BaseException | None = None

    def fill(self, items: Iterator[Item]) -> None:
        """Run in the reading thread: put every item, then the end, and close the items."""
        failure: BaseException | None = None
        try:
            for item in items:
                if not self._put(item):
                    break
        except BaseException as error:
            failure = error
        finally:
            if isinstance(items, Generator):
                items.close()
        with self._changed:
            self._ended, self._failure = True, failure
            self._changed.notify_all()

    def _put(self, item: Item) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: len(self._items) < self._depth or self.stopped)
            self._items.append(item)
            self._changed.notify_all()
            return not self.stopped

    def drain(self) -> Iterator[Item]:
        """Yield the items as they come; raise what the reading thread raised."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._items or self._ended or self.stopped)
                if not self._items:
                    break
                item = self._items.popleft()
                self._changed.notify_all()
            yield item
            del item
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Ask the reading thread to stop."""
        with self._changed:
            self.stopped = True
            self._items.clear()
            self._changed.notify_all()
