"""What is said to whoever interrupts the counting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(Exception):  # noqa: N818
    """Ctrl-C or SIGTERM while counting; the message says what is left."""


@contextmanager
def interruptible(checkpoint: str | None) -> Iterator[None]:
    """Turn an interruption into its sentence."""
    try:
        yield
    except KeyboardInterrupt:
        kept = "" if checkpoint is None else f" Run it again with --checkpoint {checkpoint} to continue."
        interrupted = Interrupted(f"Interrupted; nothing was released.{kept}")
    else:
        return
    raise interrupted
