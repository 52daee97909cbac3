"""How far counts may lie from the truth when a sketch only ever left something out of them."""

from __future__ import annotations

from dataclasses import dataclass

from hushcount.mechanisms import calibration
from hushcount.mechanisms.base import PublicParameters
from hushcount.mechanisms.distributions import DiscreteGaussian, DiscreteLaplace
from hushcount.sketches.shapes import ManyKeys


@dataclass(frozen=True, slots=True)
class LowerEstimateError:
    """The count is c + z with c <= true <= c + left out.

    `left_out` is a public bound on what the sketch left out: 0 for exact counts, None where there is none.
    """

    law: DiscreteGaussian | DiscreteLaplace
    candidates: int | None
    left_out: int | None

    @classmethod
    def of(
        cls, law: DiscreteGaussian | DiscreteLaplace, shape: ManyKeys, public: PublicParameters
    ) -> LowerEstimateError:
        """The error of a release of this shape."""
        if shape.parts is None:
            return cls(law, shape.candidates, 0)
        left_out = None if public.max_events is None else public.max_events // shape.parts
        return cls(law, shape.candidates, left_out)

    def interval(self, confidence: float) -> tuple[int, int | None]:
        """One key named beforehand; no upper end without a public length."""
        return self._bounds(1 - confidence)

    def simultaneous(self, confidence: float) -> tuple[int, int | None] | None:
        """All candidates at once, where a public number bounds how many there are."""
        if self.candidates is None:
            return None
        return self._bounds(calibration.one_of(self.candidates, 1 - confidence))

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """What the bounds are made of."""
        below, above = self.interval(confidence)
        named = f"With confidence {confidence:g} the true count of a key named beforehand"
        if above is None:
            return (
                f"{named} is at least count - {below}.",
                "count is a lower estimate with noise; max_events would bound what the sketch left out.",
            )
        left_out = f"The sketch may have left out up to {self.left_out}, by max_events and its counters."
        return (
            f"{named} lies between count - {below} and count + {above}.",
            left_out if self.left_out else "Counts are exact up to noise.",
        )

    def _bounds(self, failure: float) -> tuple[int, int | None]:
        if self.left_out is None:
            return max(self.law.least_tail(failure) - 1, 0), None
        noise = self.law.two_sided(failure)
        return noise, self.left_out + noise
