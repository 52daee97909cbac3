"""What every mechanism has in common: its claim, one constructor, and the steps of a release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Generic, TypeAlias, TypeVar, cast

import numpy as np

from hushcount.accounting.charges import Charge, Event
from hushcount.compiled.arrays import Counts, Floats, Mask
from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.forecast import KeyForecast, noise_words
from hushcount.noise.bits import Bits
from hushcount.noise.gaussian import Distribution
from hushcount.privacy import Budget, Guarantee, PrivacyUnit
from hushcount.releases.accuracy import ErrorModel
from hushcount.releases.made import Documented, Made
from hushcount.releases.release import Release
from hushcount.shapes import (
    NOTHING_PUBLIC,
    ExactCounts,
    FloorCounters,
    Histogram,
    LimitedKeys,
    ManyKeys,
    Public,
    Shape,
)
from hushcount.shapes.samples import BottomKeys, SampledCounts
from hushcount.shapes.standard import StandardCounters

if TYPE_CHECKING:
    import pyarrow as pa


ShapeT = TypeVar("ShapeT", bound=Shape)
CountsT = TypeVar("CountsT", bound=Histogram | FloorCounters | ManyKeys | ExactCounts)
Released = TypeVar("Released")
Block: TypeAlias = "tuple[pa.Array, Counts]"

NOT_GAUSSIAN = (
    "rho is for Gaussian noise, and {} has none; it needs epsilon, with delta. Gaussian noise is that of"
    " counts and keys of users (max_keys given with user), of trees, count-sketch oracles,"
    " count-sketch-envelope and measured-envelope."
)
LENGTH_OF_WEIGHTS = "additions and deletions", "additions and deletions, each as often as it weighs"
HEAVIEST = "one event has a weight of at most max_weight"
WEIGHTS = "docs/proofs/histograms/weights.md"
NOT_WEIGHED = (
    "{} is proved for events that count 1 each; weights are proved for truncated-geometric, laplace-threshold"
    " and laplace on exact counts, for samples of these, for offline trees, error envelopes and oracles."
)
UNIT_UPDATES = "every event counts 1, in the order of the stream"
NO_BOTTOM_K = (
    "their threshold depends on the data, so that one event changes what is said of all keys; draw a"
    " sample with hc.sample, whose rate is public"
)
# What to do with a summary without a proof, where its type says more about it than the mechanism does.
SHAPE_WAYS_OUT: dict[type, str] = {
    StandardCounters: 'use mechanism="pmg-standard"',
    ManyKeys: 'use mechanism="gaussian", or release shards with hc.release(shards)',
    LimitedKeys: 'use mechanism="gaussian", or release shards with hc.release(shards)',
    BottomKeys: NO_BOTTOM_K,
    SampledCounts: 'sampled counts hide less than all counts do, so use mechanism="sanitise"',
}


@dataclass(frozen=True, slots=True)
class Claim:
    """The words of a guarantee that belong to a mechanism, not to one release."""

    mechanism: str
    theorem: str
    proof: str
    assumptions: tuple[str, ...]

    def guarantee(self, budget: Budget, unit: PrivacyUnit, **parameters: int | float | str) -> Guarantee:
        """Return the guarantee of one release at this budget."""
        said = (self.mechanism, self.theorem, self.proof, parameters, self.assumptions)
        return Guarantee(budget.epsilon, budget.delta, unit, *said)


class Mechanism(ABC, Generic[ShapeT, Released]):
    """Noise and threshold for the summaries it is proved for, calibrated once, at construction.

    A mechanism is its numbers (`calibrate`), its draw (`draw`) and its claim. Whatever is known of a release
    before any data is read, such as its cost or its accuracy, follows from `budget`, `public` and the numbers
    that `calibrate` found, and belongs in further methods beside `guarantee`.

    `name` is what a caller asks for, `accepts` are the types of summaries it is proved for, `sketch` is the
    kind of sketch that gives such a summary, `way_out` says what to do with any other summary, and `needs`
    lists the public numbers without which it cannot be calibrated.
    """

    name: ClassVar[str]
    accepts: ClassVar[tuple[type[Shape], ...]]
    sketch: ClassVar[str]
    way_out: ClassVar[str]
    claim: ClassVar[Claim]
    needs: ClassVar[tuple[str, ...]] = ()
    gaussian: ClassVar[bool] = False  # whether it takes a budget in rho
    weighted: ClassVar[bool] = False  # whether it is proved for events that change a count by more than 1

    def __init__(self, budget: Budget, public: Public = NOTHING_PUBLIC) -> None:
        self.budget, self.public = budget, public
        if budget.rho is not None and not self.gaussian:
            raise ParameterError(NOT_GAUSSIAN.format(self.name))
        if public.unit.weight > 1 and not self.weighted:
            raise NotProvedError(NOT_WEIGHED.format(self.name))
        for name in self.needs:
            self.needed(name)
        self.calibrate()

    @abstractmethod
    def calibrate(self) -> None:
        """Set noise and threshold from the budget and the public numbers, or raise."""

    @abstractmethod
    def draw(self, shape: ShapeT, bits: Bits) -> Released:
        """Draw the noise and return what is published of a summary that was checked."""

    def release(self, shape: Shape, bits: Bits) -> Released:
        """Check the summary, draw the noise and publish: this spends the budget."""
        self.check_kind(type(shape))
        summary = cast("ShapeT", shape)
        self.check_sizes(summary)
        recipe = self._recipe(shape)
        whole = self.draw(summary, bits)
        if not isinstance(whole, Documented):
            return whole
        return cast("Released", replace(whole, made=Made.now(recipe)))  # type: ignore[type-var]

    def _recipe(self, shape: Shape) -> Mapping[str, object]:
        """Return the public numbers from which everything about the release follows."""
        from hushcount.mechanisms.recipes import recipe_of

        return recipe_of(cast("Mechanism[Shape, object]", self), shape)

    def check_sizes(self, shape: ShapeT) -> None:
        """Raise unless the summary has the public numbers for which the mechanism was calibrated."""
        sizes = shape.public()
        for name in ("candidates", "parts", "moved", "height"):
            bound: int | None = getattr(self.public, name)
            if bound is not None:
                check_calibrated(name, getattr(sizes, name), bound)
        if self.weighted:
            check_calibrated("max_weight", sizes.unit.weight, self.public.unit.weight)

    @classmethod
    def check_kind(cls, kind: type[Shape]) -> None:
        """Raise unless the mechanism is proved for summaries of this type."""
        if not issubclass(kind, cls.accepts):
            proved = " or ".join(dict.fromkeys(each.words for each in cls.accepts))
            way_out = SHAPE_WAYS_OUT.get(kind, cls.way_out)
            given = f"{kind.words} on disk" if kind.words == proved else kind.words
            raise NotProvedError(f"{cls.name} is proved for {proved}, not for {given}; {way_out}.")

    def needed(self, name: str) -> int:
        """Return a public number that the mechanism cannot do without, or raise."""
        value: int | None = getattr(self.public, name)
        if value is None:
            raise ParameterError(f"{self.name} needs {name}, a public bound, got None.")
        return value

    def event(self) -> Event:
        """Return what a release costs, known before any data are read: its pair, and what is finer than it.

        docs/proofs/accounting/filter.md, section 1, says why the charge of each mechanism is honest.
        """
        return Event.of(self.budget.epsilon, self.budget.delta, self.finer_charge())

    def finer_charge(self) -> Charge | None:
        """Return a charge by a curve of its own, None if the pair (epsilon, delta) says all."""
        return None

    def guarantee(self, unit: PrivacyUnit, **parameters: int | float | str | None) -> Guarantee:
        """Return the guarantee of a release; public numbers that are not known are left out."""
        known = {name: value for name, value in parameters.items() if value is not None}
        own = self.claim.guarantee(self.budget, unit, **known)
        return own if self.public.unit.weight == 1 else weighed_guarantee(own, self.public.unit.weight)

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return noise and threshold as public numbers, known before any data are read."""
        return {}

    def foretold(self, unit: PrivacyUnit) -> Guarantee:
        """Return what a release will promise, with the numbers of the calibration."""
        return self.guarantee(unit, **self.calibration())

    def forecast(self) -> KeyForecast:
        """Return what a release will publish, by its calibration, or raise if that cannot be foretold."""
        raise ParameterError(f"hushcount cannot foretell what {self.name} publishes; plan with floor.")


Calibrated: TypeAlias = Mechanism[Shape, Release]
"""A calibrated mechanism that publishes a table of keys."""


class Thresholded(Mechanism[CountsT, Release]):
    """A mechanism that adds noise to each value and publishes the noisy values that reach a threshold.

    Values are counts unless `values` says otherwise; those below `least_value` are never published.
    """

    noise: Distribution
    threshold: int
    least_value = 0

    @abstractmethod
    def error(self, sizes: Public) -> ErrorModel:
        """Return how far counts may lie from the truth, for a summary with these public numbers."""

    def published(self) -> dict[str, int]:
        """Return from which noisy value on keys are published, and below which value they never are."""
        return {"threshold": self.threshold, "least": self.least_value}

    def parameters(self, sizes: Public) -> dict[str, int | float | str | None]:
        """Return the public numbers that the guarantee names, for a summary with these public numbers."""
        return {"threshold": self.threshold}

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the noise, and the public numbers that the guarantee names."""
        return {"noise": noise_words(self.noise), **self.parameters(self.public)}

    def values(self, shape: CountsT) -> Counts:
        """Return what noise is added to."""
        return cast("Histogram", shape).counts

    def noises(self, count: int, bits: Bits) -> Counts:
        """Draw the noise of each value."""
        return self.noise.sample(count, bits)

    def tail(self, m: Counts) -> Floats:
        """Return P[noise of one value >= m] for whole numbers m."""
        return self.noise.tail(m)

    def forecast(self) -> KeyForecast:
        """Return what will reach the threshold; counts of a sketch with a floor are lower by it."""
        floor = self.public.parts is not None
        least = max(self.least_value, 1)
        return KeyForecast(self.threshold, self.tail, self.tail, floor, floor, least)

    def draw(self, shape: CountsT, bits: Bits) -> Release:
        """Publish each key whose noisy value reaches the threshold."""
        sizes = shape.public()
        keys, noisy = joined(self._drawn(keys, values, bits) for keys, values in self._blocks(shape))
        guarantee = self.guarantee(shape.unit, **self.parameters(sizes))
        return Release.of(keys, noisy, guarantee, self.error(sizes))

    def _blocks(self, shape: CountsT) -> Iterable[Block]:
        """Return keys and what noise is added to; counts on disk come in many blocks."""
        return shape.blocks if isinstance(shape, ExactCounts) else [(shape.keys, self.values(shape))]

    def _drawn(self, keys: pa.Array, values: Counts, bits: Bits) -> Block:
        """Return what is published of some keys."""
        noisy = values + self.noises(len(values), bits)
        published = (values >= self.least_value) & (noisy >= self.threshold)
        return keep(keys, published), noisy[published]


def weighed_guarantee(own: Guarantee, weight: int) -> Guarantee:
    """Return the guarantee of a mechanism whose events change a count by up to `weight`."""
    assumed = tuple(
        one.replace("by 1", "by at most max_weight").replace(*LENGTH_OF_WEIGHTS) for one in own.assumptions
    )
    return replace(
        own,
        theorem=f"{own.theorem} Events of a weight: noise for a change of at most max_weight.",
        proof=f"{own.proof}, {WEIGHTS}",
        parameters={**own.parameters, "max_weight": weight},
        assumptions=assumed if any("max_weight" in one for one in assumed) else (*assumed, HEAVIEST),
    )


def check_calibrated(name: str, used: int | None, bound: int) -> None:
    """Raise when a summary has another public size than the mechanism was calibrated for."""
    if used != bound:
        raise ParameterError(f"{name} must be {bound} as calibrated, got {used}.")


def keep(keys: pa.Array, published: Mask) -> pa.Array:
    """Return the keys that are published."""
    import pyarrow as pa

    return keys.filter(pa.array(published))


def joined(blocks: Iterable[Block]) -> Block:
    """Return the keys and counts of all blocks together."""
    import pyarrow as pa

    found = list(blocks)
    if not found:
        return pa.nulls(0), np.zeros(0, np.int64)
    return pa.concat_arrays([keys for keys, _ in found]), np.concatenate([counts for _, counts in found])
