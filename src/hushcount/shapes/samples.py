"""What samples that were drawn before hand over: keys that happened to be picked, with their exact counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from hushcount.privacy import EVENT, USER, PrivacyUnit
from hushcount.shapes import Public

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from hushcount.compiled.arrays import Counts, Floats


@runtime_checkable
class SamplingScheme(Protocol):
    """With which probability a key of each count is sampled."""

    @property
    def name(self) -> str:
        """The name of the scheme with its public numbers."""
        ...

    def probability(self, counts: npt.ArrayLike) -> Floats:
        """Return the probabilities."""
        ...

    def fields(self) -> dict[str, object]:
        """Return the scheme for the header of a file."""
        ...


@dataclass(frozen=True, slots=True)
class SampledCounts:
    """Exact counts of sampled keys: of count w each with probability q_w, independently and in secret.

    Without the sampling, adding or removing one event would change one count by 1. `take` returns keys and
    counts, once: what is published of a sample must not be drawn again from the same sample.
    """

    take: Callable[[], tuple[pa.Array, Counts]]
    scheme: SamplingScheme
    unit: PrivacyUnit = EVENT
    words: ClassVar[str] = "a weighted sample"

    def public(self) -> Public:
        """Return the scheme; how many keys were sampled is raw data."""
        moved = self.unit.rows if self.unit == USER else None
        return Public(unit=self.unit, moved=moved, shape=SampledCounts, scheme=self.scheme)


@dataclass(frozen=True, slots=True)
class BottomKeys:
    """The keys of smallest score. One event can exchange keys, and changes the threshold of all others."""

    unit: PrivacyUnit = EVENT
    words: ClassVar[str] = "bottom-k samples"

    def public(self) -> Public:
        """Return the unit."""
        return Public(unit=self.unit, shape=BottomKeys)
