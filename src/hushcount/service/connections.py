"""Connections of clients: nobody holds one for long without sending a request or reading the answer."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 20.0  # seconds between two looks at a connection


class WatchedConnection(H11Protocol):
    """A connection that is cut if nothing has come of it from one look to the next.

    The framework itself closes connections that are silent after an answer. It waits for ever for a first
    request, for the end of one whose head comes byte by byte, for the rest of a body that was refused, and
    for somebody who does not read. While a request is answered nothing is cut: its body has a limit of its
    own.
    """

    _requests = 0  # answered so far
    _before: tuple[int, int] | None = None  # at the last look: requests, and bytes that wait to be read
    _next_look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look."""
        super().connection_made(transport)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        if self._next_look is not None:
            self._next_look.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Count the answer."""
        self._requests += 1
        super().on_response_complete()

    def _look(self) -> None:
        """Cut the connection if nothing has happened since the last look."""
        waiting = self.transport.get_write_buffer_size()
        working = self.cycle is not None and not self.cycle.response_complete and not self.flow.write_paused
        if not working and self._before is not None:
            requests, unread = self._before
            if requests == self._requests and (not waiting or waiting >= unread):
                self.transport.abort()
                return
        self._before = (self._requests, waiting)
        self._next_look = self.loop.call_later(PATIENCE, self._look)
