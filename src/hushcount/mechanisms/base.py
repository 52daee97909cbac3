"""What every mechanism has in common: its role, its public parameters, the check of its shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from hushcount.errors import NotProvedError, ParameterError
from hushcount.privacy import EVENT, Budget, Guarantee, PrivacyUnit, check_count
from hushcount.shapes import ManyKeys

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from hushcount.keys.domains import Domain
    from hushcount.noise.bits import Bits
    from hushcount.releases.release import Release

    Counts = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

Law_co = TypeVar("Law_co", covariant=True)


@dataclass(frozen=True, slots=True)
class PublicParameters:
    """Numbers a mechanism may use without paying: none of them depends on the data.

    `candidates` is the largest number of keys a summary can hold, `parts` the number by which the
    length of a stream bounds its floor (floor <= n / parts), `max_events` a public bound on n, `moved` the
    number of keys that can move together, `domain` all keys that can be published.
    """

    candidates: int | None = None
    parts: int | None = None
    max_events: int | None = None
    unit: PrivacyUnit = EVENT
    moved: int | None = None
    domain: Domain | None = None

    def __post_init__(self) -> None:
        for name in ("candidates", "parts", "max_events", "moved"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check_count(name, value))

    @property
    def largest_floor(self) -> int | None:
        """The largest floor a stream of at most `max_events` events can have, or None."""
        if self.max_events is None or self.parts is None:
            return None
        return self.max_events // self.parts


NOTHING_PUBLIC = PublicParameters()


class Proved(Protocol):
    """What is proved for some shapes only."""

    name: ClassVar[str]
    accepts: ClassVar[tuple[type, ...]]
    way_out: ClassVar[str]


class Mechanism(Proved, Protocol):
    """Noise and threshold for the shapes it is proved for, calibrated once at construction."""

    def __init__(self, budget: Budget, public: PublicParameters) -> None: ...

    def release(self, shape: Any, bits: Bits) -> Release:
        """Draw the noise and publish what clears the threshold."""
        ...


# The way out where the shape says more about it than the mechanism does.
SHAPE_WAYS_OUT: dict[type, str] = {
    ManyKeys: 'use mechanism="gaussian", or release shards with hc.release(shards)',
}


def check_shape(mechanism: type[Proved] | Proved, shape: object) -> None:
    """Raise unless the mechanism is proved for this shape."""
    if not isinstance(shape, mechanism.accepts):
        proved = " or ".join(kind.__name__ for kind in mechanism.accepts)
        way_out = SHAPE_WAYS_OUT.get(type(shape), mechanism.way_out)
        raise NotProvedError(
            f"{mechanism.name} is proved for {proved}, got {type(shape).__name__}; {way_out}."
        )


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
    """The sentence of an interval that has both ends."""
    return (
        f"With confidence {confidence:g} the true count of a key named beforehand lies between"
        f" count - {below} and count + {above}."
    )


def keep(keys: pa.Array, published: Mask) -> pa.Array:
    """The keys that are published."""
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
        self, budget: Budget, unit: PrivacyUnit, parameters: dict[str, int | float | str]
    ) -> Guarantee:
        """The guarantee of one release at this budget."""
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
    """A mechanism that adds noise of one law to each count and publishes what reaches a threshold."""

    claim: ClassVar[Claim]

    @property
    def budget(self) -> Budget:
        """What it spends."""
        ...

    @property
    def public(self) -> PublicParameters:
        """What it may use without paying."""
        ...

    @property
    def law(self) -> Law_co:
        """The law of its noise."""
        ...

    @property
    def threshold(self) -> int:
        """The least noisy count that is published."""
        ...
