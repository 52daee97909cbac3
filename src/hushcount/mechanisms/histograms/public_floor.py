"""Counts above a public floor: one SpaceSaving stream read as a histogram of which one key moves by one.

Proof: docs/proofs/sampling/sample.md, section 7. Checked by: tests/privacy/test_public_floor.py
"""

from __future__ import annotations

from hushcount.errors import ParameterError
from hushcount.privacy import check_count
from hushcount.shapes import FloorCounters, Histogram


def public_floor(max_events: int, parts: int) -> int:
    """The least public floor: what a key next to the floor can have in a stream of max_events events.

    >>> public_floor(1_000_000, 1024)
    977
    """
    return check_count("max_events", max_events) // check_count("parts", parts) + 1


def above_floor(shape: FloorCounters, max_events: int, floor: int | None = None) -> Histogram:
    """What the candidates have above a public floor; keys with nothing above it are left out.

    One key moves by one, for streams of at most `max_events` events. A higher floor may be given.
    """
    import pyarrow as pa

    least = public_floor(max_events, shape.parts)
    chosen = least if floor is None else check_count("floor", floor)
    if chosen < least:
        raise ParameterError(
            f"floor must be at least max_events // counters + 1 = {least} to be public, got {floor}."
        )
    above = shape.counts - chosen
    kept = above >= 1
    return Histogram(shape.keys.filter(pa.array(kept)), above[kept], shape.unit)
