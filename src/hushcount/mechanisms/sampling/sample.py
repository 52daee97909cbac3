"""Private weighted sampling: a sample of the keys by count, with sanitised counts or without."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Block, Claim, Mechanism, Released, check_calibrated, joined, keep
from hushcount.mechanisms.forecast import KeyForecast
from hushcount.mechanisms.groups import row_budget
from hushcount.mechanisms.sampling.distribution import SampleDistribution
from hushcount.mechanisms.sampling.filter import draw_published, draw_values
from hushcount.mechanisms.sampling.rows import SampleRows, keys_grid, values_grid, walkable
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Scheme
from hushcount.privacy import USER, Budget, Guarantee, PrivacyUnit, check_count, unwarned
from hushcount.releases.accuracy import RELIABLE
from hushcount.releases.key_list import KeyList
from hushcount.releases.release import Release
from hushcount.shapes import NOTHING_PUBLIC, ExactCounts, Histogram, Public, Shape
from hushcount.shapes.samples import SampledCounts

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.noise.bits import Bits

CountsShape = Histogram | ExactCounts | SampledCounts

LARGEST_TOKENS = 1024
LARGE_COUNT = 1 << 60  # larger counts are not looked at
WAY_OUT = (
    "release the aggregated counts, whose sampling is drawn in secret, or first release with"
    ' mechanism="truncated-geometric" and sample that'
)


def blocks(shape: CountsShape) -> Iterable[Block]:
    """Return keys and counts; those on disk come in many blocks, and those of a sample once."""
    if isinstance(shape, SampledCounts):
        return [shape.take()]
    return shape.blocks if isinstance(shape, ExactCounts) else [(shape.keys, shape.counts)]


class Sampling(Mechanism[CountsShape, Released]):
    """A mechanism that samples keys by a public scheme; each value is divided into `tokens`."""

    accepts: ClassVar[tuple[type[Shape], ...]] = (Histogram, ExactCounts)
    sketch = "exact"
    weighted = True
    way_out = WAY_OUT

    def __init__(
        self, budget: Budget, public: Public = NOTHING_PUBLIC, scheme: Scheme = EVERY_KEY, tokens: int = 1
    ) -> None:
        self.scheme, self.tokens = scheme, check_count("tokens", tokens)
        if tokens > LARGEST_TOKENS:
            raise ParameterError(f"tokens must be at most {LARGEST_TOKENS}, got {tokens}.")
        super().__init__(budget, public)

    @property
    def each(self) -> Budget:
        """The budget of one key: a user of m keys has m of them, and keys are drawn independently.

        An event of a weight of up to W is as W events of one key.
        """
        keys = self.public.unit.rows
        if keys == 1:
            return row_budget(self.budget, self.public.unit.weight)
        shares = (math.nextafter(whole / keys, 0) for whole in (self.budget.epsilon, self.budget.delta))
        return unwarned(*shares)

    def check_sizes(self, shape: CountsShape) -> None:
        """Raise unless one unit has as many keys as was calibrated for."""
        super().check_sizes(shape)
        check_calibrated("rows of one unit", shape.unit.rows, self.public.unit.rows)

    def guarantee(self, unit: PrivacyUnit, **parameters: int | float | str | None) -> Guarantee:
        """Return the guarantee of a release, for all keys of a unit together."""
        own, keys = super().guarantee(unit, **parameters), self.public.unit.rows
        if keys == 1:
            one = ("one user changes one count by 1", *own.assumptions[1:])
            return replace(own, assumptions=one) if unit == USER else own
        shares = {"max_keys": keys, "key_epsilon": self.each.epsilon, "key_delta": self.each.delta}
        return replace(
            own,
            mechanism=f"{own.mechanism}, {keys} keys of a user together",
            theorem=f"{own.theorem} Keys are drawn independently, so those of one user compose.",
            parameters={**own.parameters, **shares},
            assumptions=("each user counts once for each of at most max_keys keys", *own.assumptions[1:]),
        )

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the sampling scheme."""
        return {"scheme": self.scheme.name}

    def distribution(self) -> SampleDistribution:
        """Return how likely each value is for each count, or raise if no count is published reliably."""
        known = SampleDistribution.of(self.each, self.scheme)
        if known.reporting([LARGE_COUNT])[0] < RELIABLE:
            raise ParameterError("No count is sampled with probability 0.95, so none is published reliably.")
        return known

    def reporting(self, m: Counts) -> Floats:
        """Return the probability that a key of the count -m is published, for whole numbers m."""
        return self.distribution().reporting(np.maximum(-m, 0).astype(np.int64))


class PrivateSample(Sampling[Release]):
    """Keys sampled by count, each with a sanitised count.

    Theorem: (epsilon, delta)-DP, sampling included; a key of count i is published with the largest
        probability that any (epsilon, delta)-DP release of that sample has.
    Neighbours: add or remove one event, or one user who counts once for each of at most m keys; then each key
        is drawn at (epsilon / m, delta / m).
    Assumes: one event changes one count by 1; the scheme is public; the sampling is drawn here, in secret.
    Parameters: the scheme; `SampleRows`. Sanitised counts are integers (Cohen et al. 2021, Algorithm 4), or
        multiples of 1 / tokens (Algorithm 5, corrected), which keep more of the order of the keys.
    Proof: docs/proofs/sampling/sample.md, sections 2 and 4. Checked by: tests/privacy/test_sample_integers.py
    """

    name = "sample"
    sampled = False  # whether keys were sampled before
    claim = Claim(
        "private weighted sampling",
        "Private weighted sampling with sanitised counts is (epsilon, delta)-DP end to end.",
        "docs/proofs/sampling/sample.md",
        ("one event changes one count by 1", "the sampling scheme is public, its randomness secret"),
    )

    def calibrate(self) -> None:
        """Set the rows: for each count the distribution of what is published."""
        grid = walkable(values_grid(self.each, self.tokens), self.each)
        self.rows = SampleRows(grid, self.scheme, self.tokens)

    def forecast(self) -> KeyForecast:
        """Return how likely counts are to be published, and how far large ones will lie from the truth."""
        known = self.distribution()
        count = 2 * known.depth
        values, chances = known.row(count)
        errors = known.most_likely(values) - count
        total = chances.sum()

        def added(m: Counts) -> Floats:
            return np.array([float(chances[errors >= each].sum() / total) for each in m])

        return KeyForecast(0, self.reporting, added)

    def draw(self, shape: CountsShape, bits: Bits) -> Release:
        """Draw the sample and its sanitised counts in one step."""
        return self.published((self._drawn(*block, bits) for block in blocks(shape)), shape.unit)

    def _drawn(self, keys: pa.Array, counts: Counts, bits: Bits) -> Block:
        """Return what is published of some keys."""
        values = draw_values(self.rows, counts, bits, self.sampled)
        return keep(keys, values >= 1), values[values >= 1]

    def published(self, drawn: Iterable[Block], unit: PrivacyUnit) -> Release:
        """Return the release of what was drawn."""
        guarantee = self.guarantee(unit, scheme=self.scheme.name)
        error = SampleError(self.each, self.scheme, self.tokens, self.public.max_events)
        return Release.of(*joined(drawn), guarantee, error)


@dataclass(frozen=True, slots=True)
class SampleError:
    """Published are sanitised counts; the true one is at least as large and at most `depth` larger."""

    budget: Budget
    scheme: Scheme = EVERY_KEY
    tokens: int = 1
    max_events: int | None = None

    offset: ClassVar[int] = 0  # nothing was taken off the counts

    @property
    def distribution(self) -> SampleDistribution:
        """How likely each value is for each count."""
        return SampleDistribution.of(self.budget, self.scheme)

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return `depth` twice: most likely and true count are at most that far above the sanitised."""
        return self.distribution.depth, self.distribution.depth

    def rows_together(self, counts: Counts, confidence: float) -> tuple[Counts, Counts]:
        """Return bounds of all rows of a whole release at once: each row may fail with its share only."""
        distinct, inverse = np.unique(self.values(counts), return_inverse=True)
        _, lower, upper = self.distribution.estimates(distinct, (1 - confidence) / max(len(counts), 1))
        return lower[inverse], upper[inverse]

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
        likely, lower, upper = self.distribution.estimates(distinct, 1 - confidence)
        estimate = likely / self.distribution.reporting(likely)
        return {
            "count": likely[inverse],
            "lower": lower[inverse],
            "upper": upper[inverse],
            "sanitised": counts if self.tokens == 1 else counts / self.tokens,
            "estimate": estimate[inverse],
        }


class PrivateSampleKeys(Sampling[KeyList]):
    """Keys sampled by count, without any count.

    Theorem: (epsilon, delta)-DP, sampling included, with the largest reporting probabilities.
    Neighbours: add or remove one event.
    Assumes: as PrivateSample.
    Parameters: pi_i of Algorithm 3 of Cohen et al. 2021, in integers.
    Proof: docs/proofs/sampling/sample.md, sections 1 and 4. Checked by: tests/privacy/test_sample_integers.py
    """

    name = "sample-keys"
    claim = Claim(
        "private weighted sampling of keys",
        "Private weighted sampling of keys is (epsilon, delta)-DP end to end.",
        "docs/proofs/sampling/sample.md",
        PrivateSample.claim.assumptions,
    )

    def calibrate(self) -> None:
        """Set the rows: for each count the probability that its key is published."""
        self.rows = SampleRows(walkable(keys_grid(self.each), self.each), self.scheme)

    def forecast(self) -> KeyForecast:
        """Return how likely counts are to be published; the counts themselves are not."""
        self.distribution()
        return KeyForecast(0, self.reporting, None)

    def draw(self, shape: CountsShape, bits: Bits) -> KeyList:
        """Publish each key with probability pi of its count."""
        drawn = ((keep(keys, draw_published(self.rows, w, bits)), w[:0]) for keys, w in blocks(shape))
        keys, _ = joined(drawn)
        return KeyList.of_keys(keys, self.foretold(shape.unit), self.sentences())

    def sentences(self) -> tuple[str, ...]:
        """Say nothing more of which keys are published: a sample is drawn on purpose."""
        return ()
