"""The summary of a standard Misra-Gries sketch, as other programs make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.shapes import Public

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.compiled.arrays import Counts


@dataclass(frozen=True, slots=True)
class StandardCounters:
    """Positive counters of one stream, whose floor is not known; a key leaves when its counter is 0.

    Between neighbours either one counter changes by 1, or all of them do, in the same direction; keys that
    only one side holds have the counter 1 there. `candidates` is the number of counters, and n events lower a
    counter by at most n / `parts`.
    """

    keys: pa.Array
    counts: Counts
    candidates: int
    parts: int
    unit: PrivacyUnit = EVENT
    floor: ClassVar[int] = 0  # counters are heights already
    words: ClassVar[str] = "a Misra-Gries table of another program"

    def public(self) -> Public:
        """Return the size of the sketch."""
        return Public(self.candidates, self.parts, unit=self.unit, shape=StandardCounters)
