"""Running a service: addresses, certificates, secrets in files, and a stop that finishes what was begun."""

from __future__ import annotations

import resource
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from socket import socket

import uvicorn
from starlette.applications import Starlette

from hushcount.errors import DataError, ParameterError
from hushcount.service.connections import WatchedConnection
from hushcount.service.observed import say, start_log

_GRACE = 30  # seconds for requests that are under way when the service stops
_MOST_FILES = 1 << 16
_OTHER_FILES = 256  # that are no connections: the store, its runs, the listener
Stopping = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where a service listens.

    Parameters
    ----------
    listen:
        HOST:PORT.
    tls_cert, tls_key:
        Files of a certificate and its key; without them a proxy sees to TLS.
    proxies:
        Addresses of proxies whose X-Forwarded-For is believed, separated by commas.
    """

    listen: str
    tls_cert: str | None = None
    tls_key: str | None = None
    proxies: str = "127.0.0.1"

    def place(self) -> tuple[str, int]:
        """Return host and port, or raise."""
        host, colon, port = self.listen.rpartition(":")
        if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ParameterError(f"--listen must be HOST:PORT, such as 127.0.0.1:8080, got {self.listen!r}.")
        return host.strip("[]"), int(port)


def run(app: Starlette, listening: Listening, stopping: Stopping) -> None:
    """Serve an application until the process is asked to stop, and say so to `stopping` before the rest."""
    server = server_of(app, listening, stopping)
    start_log()
    with suppress(KeyboardInterrupt):  # the signal that asked it to stop, which it has done in good order
        server.run()
    if not server.started:
        raise DataError(f"The service could not start at {listening.listen}; is the port in use?")


def server_of(app: Starlette, listening: Listening, stopping: Stopping) -> _Server:
    """Return a server of an application, which does not run yet."""
    host, port = listening.place()
    if (listening.tls_cert is None) != (listening.tls_key is None):
        raise ParameterError("--tls-cert and --tls-key go together.")
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=WatchedConnection,
        ws="none",
        limit_concurrency=_most_connections(),
        access_log=False,
        log_level="critical",
        server_header=False,
        ssl_certfile=listening.tls_cert,
        ssl_keyfile=listening.tls_key,
        forwarded_allow_ips=listening.proxies,
        timeout_graceful_shutdown=_GRACE,
        lifespan="on",
    )
    return _Server(config, stopping)


def _most_connections() -> int:
    """Return how many connections may be open at once; whoever comes then is answered by 503.

    Each is an open file, of which the system allows a process a number that it may raise by itself.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(most - _OTHER_FILES, _OTHER_FILES)


class _Server(uvicorn.Server):
    """A server that says where it listens, also where the system has chosen the port; and when it stops."""

    def __init__(self, config: uvicorn.Config, stopping: Stopping) -> None:
        super().__init__(config)
        self._stopping = stopping

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Stop, once the requests that have begun are answered."""
        self._stopping()
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        for each in self.servers if self.started else []:
            for listener in each.sockets:
                host, port = listener.getsockname()[:2]
                say("listening", host=host, port=port)
