"""An existing sample sanitised, without the data that it was drawn from."""

from __future__ import annotations

import math

from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Claim
from hushcount.mechanisms.sampling.sample import PrivateSample
from hushcount.mechanisms.sampling.schemes import Scheme
from hushcount.privacy import Budget, unwarned
from hushcount.shapes import NOTHING_PUBLIC, Public
from hushcount.shapes.samples import SampledCounts

ROUNDING = (
    2.0**-42
)  # of sampling probabilities: how far those of the sampler may lie from those of the scheme


class SanitisedSample(PrivateSample):
    """A threshold sample whose keys are published with sanitised counts, or left out.

    Theorem: (epsilon, delta)-DP end to end: sampling and sanitising together.
    Neighbours: add or remove one event of the data that the sample was drawn from, or one user who counts
        once for each of at most m keys.
    Assumes: a key of count w was sampled with the probability of the scheme up to 2^-43, independently of all
        others; the scheme is public and was fixed before the data were seen; the draw is secret, used for
        this sample only, and the sample is sanitised once.
    Parameters: rows of `SampleRows` at delta less (1 + exp(epsilon)) 2^-42; a sampled key is drawn uniformly
        below its probability of having been sampled.
    Proof: docs/proofs/sampling/existing.md. Checked by: tests/privacy/test_sample_existing.py
    """

    name = "sanitise"
    accepts = (SampledCounts,)
    sketch = "weighted-sample"
    way_out = "hc.sample draws a sample of data in secret and sanitises it in one step"
    sampled = True
    claim = Claim(
        "private weighted sampling of an existing sample",
        "A threshold sample that was drawn in secret, sanitised once, is (epsilon, delta)-DP end to end.",
        "docs/proofs/sampling/existing.md",
        (
            "one event changes one count by 1 in the data that the sample was drawn from",
            "each key was sampled independently, with the probability that the scheme has for its count, and"
            " the scheme was fixed before the data were seen (asserted by the caller)",
            "the draw of the sample is secret and is used for nothing else; the sample is sanitised once"
            " (asserted by the caller)",
        ),
    )

    def __init__(self, budget: Budget, public: Public = NOTHING_PUBLIC) -> None:
        if not isinstance(public.scheme, Scheme):
            raise ParameterError(
                "sanitise needs the scheme by which the sample was drawn: hc.Pps, hc.Ppswor or"
                " hc.SamplingTable."
            )
        super().__init__(budget, public, public.scheme)

    @property
    def each(self) -> Budget:
        """The budget of one key, less what the rounding of its sampling probability may cost."""
        share = super().each
        cost = (1 + math.exp(share.epsilon)) * ROUNDING * (1 + 2.0**-40)
        if cost > share.delta / 2:
            raise ParameterError(
                f"delta must be at least {2 * cost * self.public.unit.rows:.2g} to sanitise a sample at this"
                f" epsilon, since its probabilities are rounded, got {self.budget.delta:g}."
            )
        return unwarned(share.epsilon, math.nextafter(share.delta - cost, 0))
