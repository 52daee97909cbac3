"""Private weighted sampling: a sample of the keys by count, with sanitised counts or without."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Claim, check_shape, keep
from hushcount.mechanisms.sampling.filter import draw_published, draw_values
from hushcount.mechanisms.sampling.law import SampleLaw
from hushcount.mechanisms.sampling.rows import SampleRows, keys_grid, values_grid, walkable
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Scheme
from hushcount.privacy import Budget, Guarantee, check_count
from hushcount.releases.release import Release
from hushcount.shapes import NOTHING_PUBLIC, Histogram, Public, Shape

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.noise.bits import Bits

LARGEST_TOKENS = 1024
WAY_OUT = (
    "release the aggregated counts, whose sampling is drawn in secret, or first release with"
    ' mechanism="truncated-geometric" and sample that'
)


@dataclass(frozen=True, slots=True)
class PrivateSample:
    """Keys sampled by count, each with a sanitised count.

    Theorem: (epsilon, delta)-DP, sampling included; a key of count i is published with the largest
        probability that any (epsilon, delta)-DP release of that sample has.
    Neighbours: add or remove one event.
    Assumes: one event changes one count by 1; the scheme is public; the sampling is drawn here, in secret.
    Parameters: the scheme; `SampleRows`. Sanitised counts are integers (Cohen et al. 2021, Algorithm 4), or
        multiples of 1 / tokens (Algorithm 5, corrected), which keep more of the order of the keys.
    Proof: docs/proofs/sampling/sample.md, sections 2 and 4. Checked by: tests/privacy/test_sample_integers.py
    """

    budget: Budget
    public: Public = NOTHING_PUBLIC
    scheme: Scheme = EVERY_KEY
    tokens: int = 1
    rows: SampleRows = field(init=False)

    name: ClassVar[str] = "sample"
    accepts: ClassVar[tuple[type[Shape], ...]] = (Histogram,)
    sketch: ClassVar[str] = "exact"
    way_out: ClassVar[str] = WAY_OUT
    claim: ClassVar[Claim] = Claim(
        "private weighted sampling",
        "Private weighted sampling with sanitised counts is (epsilon, delta)-DP end to end.",
        "docs/proofs/sampling/sample.md",
        ("one event changes one count by 1", "the sampling scheme is public, its randomness secret"),
    )

    def __post_init__(self) -> None:
        if check_count("tokens", self.tokens) > LARGEST_TOKENS:
            raise ParameterError(f"tokens must be at most {LARGEST_TOKENS}, got {self.tokens}.")
        rows = SampleRows(
            walkable(values_grid(self.budget, self.tokens), self.budget), self.scheme, self.tokens
        )
        object.__setattr__(self, "rows", rows)

    def release(self, shape: Histogram, bits: Bits) -> Release:
        """Draw the sample and its sanitised counts in one step."""
        check_shape(self, shape)
        values = draw_values(self.rows, shape.counts, bits)
        published = values >= 1
        guarantee = self.claim.guarantee(self.budget, shape.unit, {"scheme": self.scheme.name})
        law = SampleLaw.of(self.budget, self.scheme)
        error = SampleError(law, tokens=self.tokens, max_events=self.public.max_events)
        return Release.of(keep(shape.keys, published), values[published], guarantee, error)


@dataclass(frozen=True, slots=True)
class SampleError:
    """Published are sanitised counts; the true one is at least as large and at most `depth` larger."""

    law: SampleLaw
    offset: int = 0
    tokens: int = 1
    max_events: int | None = None

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return `depth` twice: most likely and true count are at most that far above the sanitised."""
        return self.law.depth, self.law.depth

    def simultaneous(self, confidence: float) -> tuple[int, int]:
        """Return the same for all keys at once and with certainty: the noise is bounded."""
        return self.interval(confidence)

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the columns mean."""
        return (
            "sanitised is what the mechanism published; count is the true count that makes it most likely.",
            f"lower and upper hold the true count of a published key with confidence {confidence:g}.",
            "estimate is count divided by the probability to be published: add them up to estimate totals.",
        )

    def values(self, counts: Counts) -> Counts:
        """Return the integer values that published tokens belong to."""
        return -(-counts // self.tokens)

    def columns(self, counts: Counts, confidence: float) -> dict[str, Counts | Floats]:
        """Return the columns of the table, by what was published."""
        distinct, inverse = np.unique(self.values(counts), return_inverse=True)
        likely = self.law.most_likely(distinct)
        lower, upper = self.law.bounds(distinct, 1 - confidence)
        estimate = likely / self.law.reporting(likely)
        return {
            "count": likely[inverse],
            "lower": lower[inverse],
            "upper": upper[inverse],
            "sanitised": counts if self.tokens == 1 else counts / self.tokens,
            "estimate": estimate[inverse],
        }


@dataclass(frozen=True, slots=True)
class KeyRelease:
    """Published keys, sorted, with their guarantee."""

    keys: pa.Array
    guarantee: Guarantee

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class PrivateSampleKeys:
    """Keys sampled by count, without any count.

    Theorem: (epsilon, delta)-DP, sampling included, with the largest reporting probabilities.
    Neighbours: add or remove one event.
    Assumes: as PrivateSample.
    Parameters: pi_i of Algorithm 3 of Cohen et al. 2021, in integers.
    Proof: docs/proofs/sampling/sample.md, sections 1 and 4. Checked by: tests/privacy/test_sample_integers.py
    """

    budget: Budget
    public: Public = NOTHING_PUBLIC
    scheme: Scheme = EVERY_KEY
    rows: SampleRows = field(init=False)

    name: ClassVar[str] = "sample-keys"
    claim: ClassVar[Claim] = Claim(
        "private weighted sampling of keys",
        "Private weighted sampling of keys is (epsilon, delta)-DP end to end.",
        "docs/proofs/sampling/sample.md",
        PrivateSample.claim.assumptions,
    )

    def __post_init__(self) -> None:
        grid = walkable(keys_grid(self.budget), self.budget)
        object.__setattr__(self, "rows", SampleRows(grid, self.scheme))

    def publish(self, shape: Histogram, bits: Bits) -> KeyRelease:
        """Publish each key with probability pi of its count."""
        import pyarrow.compute as pc

        check_shape(PrivateSample, shape)
        keys = keep(shape.keys, draw_published(self.rows, shape.counts, bits))
        guarantee = self.claim.guarantee(self.budget, shape.unit, {"scheme": self.scheme.name})
        return KeyRelease(keys.take(pc.array_sort_indices(keys)), guarantee)
