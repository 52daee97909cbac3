"""A release made by hand, for tests of what is done with one."""

from dataclasses import dataclass

import pyarrow as pa

from hushcount.privacy import EVENT, Guarantee
from hushcount.releases.release import Release

GUARANTEE = Guarantee(
    1.0,
    1e-8,
    EVENT,
    "floor release",
    "The theorem.",
    "docs/proofs/counters/floor.md",
    {"threshold": 22},
    ("a", "b"),
)


@dataclass(frozen=True)
class FixedError:
    """Bounds that are known beforehand; wider for more confidence."""

    above: int | None = 2
    together: tuple[int, int | None] | None = (9, 8)

    def interval(self, confidence):
        return (5 if confidence > 0.9 else 3), self.above

    def simultaneous(self, confidence):
        return self.together

    def sentences(self, confidence):
        return (f"True with confidence {confidence:g}.",)


def release_of(rows, error=None, kind=None):
    """A release of (key, count) rows."""
    keys = pa.array([key for key, _ in rows], kind)
    return Release.of(keys, [count for _, count in rows], GUARANTEE, error or FixedError(), floor=4)
