"""Mechanisms that break their claim, each in one small way: an audit that accepts one of them shows nothing.

Each is audited by `hc.audit` at the budget that its sound sibling keeps, or that a paper or a library claims;
`least` is what is known of the delta that it really spends.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import hushcount as hc

Distribution = dict[Hashable, Fraction]


@dataclass(frozen=True)
class Twin:
    """A broken mechanism with its claim, the neighbours that show it, and what it spends at least."""

    claim: tuple[float, float]
    least: float
    pair: tuple[dict[Any, int], dict[Any, int]] | None
    distribution: Callable[[dict[Any, int]], Mapping[Hashable, Fraction]]
    shape: str = "one-key"

    def audit(self) -> hc.Audit:
        """Audit it exactly."""
        epsilon, delta = self.claim
        return hc.audit(
            epsilon=epsilon, delta=delta, shape=self.shape, pair=self.pair, distribution=self.distribution
        )


def listed(masses: Mapping[Any, float], rest: Hashable = None) -> Distribution:
    """Probabilities as fractions that add up to 1: what is not listed, and all rounding, goes to `rest`."""
    found = {output: Fraction(mass) for output, mass in masses.items() if output != rest}
    total = max(sum(found.values()), Fraction(1))  # rounding may bring floats above 1
    found = {output: mass / total for output, mass in found.items()}
    return found | {rest: 1 - sum(found.values())}


def joint(*parts: Distribution) -> Distribution:
    """The distribution of independent outputs together."""
    found: Distribution = {(): Fraction(1)}
    for part in parts:
        found = {
            (*before, output): p * q  # type: ignore[misc]
            for before, p in found.items()
            for output, q in part.items()
        }
    return found


def noisy(law: Any, count: int, span: int = 40) -> Distribution:
    """A count with noise, always published; what lies beyond the span is one output."""
    return listed({count + z: float(law.pmf(z)) for z in range(-span, span + 1)}, rest="beyond")


def above(law: Any, count: int | None, threshold: int, span: int = 60) -> Distribution:
    """A noisy count that is published from the threshold on; None is a key that is not there."""
    if count is None:
        return {None: Fraction(1)}
    return listed({value: float(law.pmf(value - count)) for value in range(threshold, threshold + span)})


def every() -> Iterator[tuple[str, Twin]]:
    """All twins with their names."""
    from tests.privacy.twins import counters, histograms, local, papers

    for module in (counters, histograms, local, papers):
        yield from module.TWINS.items()
