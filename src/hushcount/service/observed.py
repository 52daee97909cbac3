"""What a running service says of itself: counters, and lines of JSON.

There is no line for a request, and no line or counter names an item, an address, a token or a report: with
the times of single requests, whoever keeps the log of a proxy could tell whose report is in which batch.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections import Counter

_LOG = logging.getLogger("hushcount.service")


class Observed:
    """Counters of one process since its start."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._events: Counter[str] = Counter()

    def request(self, route: str, status: int) -> None:
        """Count a request by the pattern of its path, which names no campaign."""
        self._requests[route, status] += 1

    def event(self, name: str, count: int = 1) -> None:
        """Count something that happened."""
        self._events[name] += count

    def text(self) -> str:
        """Return all counters in the format of Prometheus."""
        lines = ["# TYPE hushcount_requests_total counter"]
        lines += [
            f'hushcount_requests_total{{route="{route}",status="{status}"}} {count}'
            for (route, status), count in sorted(self._requests.items())
        ]
        for name, count in sorted(self._events.items()):
            lines += [f"# TYPE hushcount_{name}_total counter", f"hushcount_{name}_total {count}"]
        return "\n".join(lines) + "\n"


class _Lines(logging.Formatter):
    """Writes a record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record; its message is a name, and its fields are chosen by this package."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        line = {"time": moment, "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps(line | record.__dict__.get("fields", {}))


def start_log() -> None:
    """Write lines to standard error from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    _LOG.handlers[:] = [handler]
    _LOG.setLevel(logging.INFO)
    _LOG.propagate = False


def say(event: str, **fields: str | int) -> None:
    """Write a line: an event and what is public of it."""
    _LOG.info(event, extra={"fields": fields})


def complain(event: str, **fields: str | int) -> None:
    """Write a line about something that the operator should look at."""
    _LOG.error(event, extra={"fields": fields})
