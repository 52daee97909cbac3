"""What every mechanism has in common: its role, its public parameters, the check of its shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from hushcount.compiled.arrays import Mask
from hushcount.errors import NotProvedError, ParameterError
from hushcount.privacy import Budget, Guarantee, PrivacyUnit
from hushcount.shapes import ManyKeys, Public, Shape

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.noise.bits import Bits
    from hushcount.releases.release import Release


Law_co = TypeVar("Law_co", covariant=True)


class Calibrated(Protocol):
    """A mechanism that is calibrated for one release."""

    def release(self, shape: Any, bits: Bits) -> Release:
        """Draw the noise and publish what reaches the threshold: this spends the budget."""
        ...


class Claiming(Protocol):
    """A mechanism that states what is proved of it."""

    name: ClassVar[str]
    claim: ClassVar[Claim]


class Mechanism(Calibrated, Protocol):
    """Noise and threshold for the shapes it is proved for, calibrated once, at construction.

    `name` is what a caller asks for, `accepts` are the shapes it is proved for, `sketch` is the kind of
    sketch that gives such a shape, and `way_out` says what to do with any other shape.
    """

    name: ClassVar[str]
    accepts: ClassVar[tuple[type[Shape], ...]]
    sketch: ClassVar[str]
    way_out: ClassVar[str]
    claim: ClassVar[Claim]

    def __init__(self, budget: Budget, public: Public) -> None: ...


# The way out where the shape says more about it than the mechanism does.
SHAPE_WAYS_OUT: dict[type, str] = {
    ManyKeys: 'use mechanism="gaussian", or release shards with hc.release(shards)',
}


class Proved(Protocol):
    """Whatever is proved for some shapes only."""

    name: ClassVar[str]
    accepts: ClassVar[tuple[type[Shape], ...]]
    way_out: ClassVar[str]


def check_shape(mechanism: type[Proved] | Proved, shape: Shape) -> None:
    """Raise unless the mechanism is proved for this shape."""
    check_kind(mechanism, type(shape))


def check_kind(mechanism: type[Proved] | Proved, kind: type[Shape]) -> None:
    """Raise unless the mechanism is proved for shapes of this type."""
    if not issubclass(kind, mechanism.accepts):
        proved = " or ".join(each.words for each in mechanism.accepts)
        way_out = SHAPE_WAYS_OUT.get(kind, mechanism.way_out)
        raise NotProvedError(f"{mechanism.name} is proved for {proved}, not for {kind.words}; {way_out}.")


def check_calibrated(name: str, used: int, bound: int) -> None:
    """Raise when a shape has another public size than the mechanism was calibrated for."""
    if used != bound:
        raise ParameterError(f"{name} must be {bound} as calibrated, got {used}.")


def needed(mechanism: str, name: str, value: int | None) -> int:
    """Return a public parameter that a mechanism cannot do without, or raise."""
    if value is None:
        raise ParameterError(f"{mechanism} needs {name}, a public bound, got None.")
    return value


def calibrate(mechanism: object, **fields: object) -> None:
    """Set what the constructor of a frozen mechanism works out from its budget and public parameters."""
    for name, value in fields.items():
        object.__setattr__(mechanism, name, value)


def lies_between(confidence: float, below: int, above: int) -> str:
    """Return the sentence of an interval that has both ends."""
    return (
        f"With confidence {confidence:g} the true count of a key chosen before seeing the result lies between"
        f" count - {below} and count + {above}."
    )


def keep(keys: pa.Array, published: Mask) -> pa.Array:
    """Return the keys that are published."""
    import pyarrow as pa

    return keys.filter(pa.array(published))


@dataclass(frozen=True, slots=True)
class Claim:
    """The words of a guarantee that belong to a mechanism, not to one release."""

    mechanism: str
    theorem: str
    proof: str
    assumptions: tuple[str, ...]

    def guarantee(
        self, budget: Budget, unit: PrivacyUnit, parameters: Mapping[str, int | float | str]
    ) -> Guarantee:
        """Return the guarantee of one release at this budget."""
        return Guarantee(
            budget.epsilon,
            budget.delta,
            unit,
            self.mechanism,
            self.theorem,
            self.proof,
            parameters,
            self.assumptions,
        )


class Thresholded(Mechanism, Protocol[Law_co]):
    """A mechanism that adds noise to each count and publishes what reaches a threshold."""

    claim: ClassVar[Claim]

    @property
    def budget(self) -> Budget:
        """What a release spends."""
        ...

    @property
    def public(self) -> Public:
        """The public parameters, which cost no privacy."""
        ...

    @property
    def law(self) -> Law_co:
        """The distribution of its noise."""
        ...

    @property
    def threshold(self) -> int:
        """The smallest noisy count that is published."""
        ...
