"""A release with delta = 0 of several sketches over a public domain: the sum of their reduced counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushcount.compiled.arrays import Counts
from hushcount.errors import NotProvedError
from hushcount.keys.arrays import sum_by_key
from hushcount.mechanisms.base import Claim
from hushcount.mechanisms.histograms.pure import OverDomain, PureRelease, reduced, reduced_noise
from hushcount.shapes import Shards

if TYPE_CHECKING:
    import pyarrow as pa


class PureShards(OverDomain[Shards]):
    """The largest noisy sums, over a domain, of the reduced counts of several sketches.

    Theorem: epsilon-DP (delta = 0), whatever the number of sketches.
    Neighbours: add or remove one event.
    Assumes: as `pure`, in each sketch; the sketch of an event is a function of the event alone; all sketches
        have the same number of candidates.
    Parameters: y as for `pure`, of each sketch with k candidates; DLap(epsilon / (2k - 1)) on the sum of y of
        each key of the domain; the k largest are published, divided by k + 1.
    Proof: docs/proofs/histograms/pure.md, section 5. Checked by: tests/privacy/test_pure_shards.py
    """

    name = "pure-shards"
    accepts = (Shards,)
    way_out = "give a list of SpaceSaving or MisraGries sketches"
    claim = Claim(
        "pure release of shards over a public domain",
        "Sums over shards of reduced counters (Lebeda and Tětek 2023, Algorithm 3 and Section 7) with noise"
        " on every key of the domain are epsilon-DP.",
        "docs/proofs/histograms/pure.md",
        (*PureRelease.claim.assumptions, "the shard of an event is a function of the event alone"),
    )

    def calibrate(self) -> None:
        """Set the noise of each sum, and the unit in which sums are whole numbers, or raise."""
        if self.public.candidates is None:
            raise NotProvedError(
                f"{self.name} is proved for sketches with the same number of counters; count every part with"
                " as many counters."
            )
        self.noise, self.units = reduced_noise(self.budget, self.public.candidates)

    def sizes(self, shape: Shards) -> dict[str, int]:
        """Return the size of each sketch, and how many there are."""
        return {"candidates": self.needed("candidates"), "shards": len(shape.parts)}

    def lower_estimates(self, shape: Shards) -> tuple[pa.Array, Counts]:
        """Return the sums of the reduced counts: each sketch is reduced by itself."""
        return sum_by_key([part.keys for part in shape.parts], [reduced(part) for part in shape.parts])
