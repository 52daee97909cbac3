"""Running a service: addresses, certificates, secrets in files, and a stop that finishes what was begun."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from socket import socket

import uvicorn
from starlette.applications import Starlette

from hushcount.errors import DataError, ParameterError
from hushcount.service.observed import say, start_log

_GRACE = 30  # seconds for requests that are under way when the service stops


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


def run(app: Starlette, listening: Listening) -> None:
    """Serve an application until the process is asked to stop."""
    host, port = listening.place()
    if (listening.tls_cert is None) != (listening.tls_key is None):
        raise ParameterError("--tls-cert and --tls-key go together.")
    start_log()
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        access_log=False,
        log_level="critical",
        server_header=False,
        ssl_certfile=listening.tls_cert,
        ssl_keyfile=listening.tls_key,
        forwarded_allow_ips=listening.proxies,
        timeout_graceful_shutdown=_GRACE,
        lifespan="on",
    )
    server = _Server(config)
    with suppress(KeyboardInterrupt):  # the signal that asked it to stop, which it has done in good order
        server.run()
    if not server.started:
        raise DataError(f"The service could not start at {listening.listen}; is the port in use?")


class _Server(uvicorn.Server):
    """A server that says where it listens, also where the system has chosen the port."""

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        for each in self.servers if self.started else []:
            for listener in each.sockets:
                host, port = listener.getsockname()[:2]
                say("listening", host=host, port=port)
