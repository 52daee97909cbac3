"""Privacy in words and numbers: the unit, the budget to spend, the guarantee obtained."""

from __future__ import annotations

import math
import operator
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from hushcount.errors import ParameterError, PrivacyWarning
from hushcount.secure import is_seeded

LARGEST_EPSILON = 20.0
SMALLEST_DELTA = 1e-280  # shares of it, down to a factor of 1e-27, are still floats of full precision
WEAK_EPSILON = 8.0
WEAK_DELTA = 1e-5
LARGEST_DELTA = 1e-2
LARGEST_COUNT = (1 << 63) - 1
NOBODY = "nobody: NOT PRIVATE, the noise came from a seed for tests"
FAR_BELOW = 0.1
LARGE_FOR = (
    "delta = {:g} is not below 1 / max_events = {:.3g}: among so many, a single event may be published."
)
FEW = (
    "delta {} not far below 1 / number of {}s, so the guarantee may be weak for data of this size."
    " This message depends on the data: do not publish it."
)


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """What one of two neighbouring data sets has more than the other.

    `relation` describes neighbours that do not arise by adding or removing one. `rows` is the largest number
    of rows that belong to one unit, and `weight` the most by which one row changes a count; units that differ
    in these only are the same unit.
    """

    name: str
    protects: str
    relation: str | None = None
    rows: int = field(default=1, compare=False)
    weight: int = field(default=1, compare=False)

    @property
    def neighbours(self) -> str:
        """The neighbouring relation in words."""
        return self.relation or f"add or remove one {self.name}"

    @property
    def one(self) -> str:
        """Who is protected, in few words."""
        return "nobody (NOT PRIVATE)" if self.protects == NOBODY else f"one {self.name}"


EVENT = PrivacyUnit("event", "one event, not one person")
USER = PrivacyUnit("user", "one user, with everything they contribute")
RESULT_ROW = PrivacyUnit("row of the SQL result", "one row of the SQL result, not one person")
STREAM_ROW = PrivacyUnit("row of the result", "one row of the result, not one person")

LOCAL_USER = PrivacyUnit(
    "user",
    "the item of one user, from the collector too",
    "any two items of one user, or an item and none",
)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a release may spend; one that protects little is warned of.

    >>> Budget(1.0, 1e-8)
    Budget(epsilon=1.0, delta=1e-08)
    """

    epsilon: float
    delta: float

    @property
    def rho(self) -> float | None:
        """The budget in zero-concentrated differential privacy, if it is stated so."""
        return None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "delta", check_delta(self.delta))
        warn_of_weakness(self, 4)

    @classmethod
    def pure(cls, epsilon: float) -> Budget:
        """Pure differential privacy: delta is 0, which needs a public domain of keys.

        >>> Budget.pure(1.0)
        Budget(epsilon=1.0, delta=0.0)
        """
        budget = unwarned(epsilon, 0.0)
        warn_of_weakness(budget, 3)
        return budget


def unwarned(epsilon: float, delta: float) -> Budget:
    """Return a budget without a warning, as part of one that was warned of; delta may be 0."""
    number = check_number("delta", delta)
    return share_of(check_epsilon(epsilon), number if number == 0 else check_delta(delta))


def share_of(epsilon: float, delta: float) -> Budget:
    """Return a part of a budget that was checked; its delta may be smaller than what a caller can ask for."""
    budget = object.__new__(Budget)
    object.__setattr__(budget, "epsilon", epsilon)
    object.__setattr__(budget, "delta", delta)
    return budget


def budget_for(epsilon: float, delta: float, public_domain: bool = False) -> Budget:
    """Return the budget of a release: a public domain requires delta = 0, and delta = 0 a public domain."""
    zero = isinstance(delta, int | float) and not isinstance(delta, bool) and delta == 0
    if not public_domain:
        if zero:
            raise ParameterError(
                f"delta must be strictly between 0 and 1, got {delta}; or give a public domain."
            )
        return unwarned(epsilon, delta)
    if not zero:
        check_delta(delta)
        raise ParameterError(f"delta must be 0 with a public domain, got {delta}.")
    return unwarned(epsilon, 0.0)


def weaknesses(budget: Budget) -> tuple[str, ...]:
    """Return a sentence for each part of a budget that protects little; both parts are public."""
    found = []
    if budget.delta > WEAK_DELTA:
        found.append(
            f"delta = {budget.delta:g} is large: the guarantee may fail with about that probability for each"
            f" {EVENT.name} or person, so keys that occur once may be published. Choose it far below"
            " 1 / number of people."
        )
    if budget.epsilon > WEAK_EPSILON:
        factor = math.exp(budget.epsilon)
        found.append(
            f"epsilon = {budget.epsilon:g} is large: the table may change anyone's odds by a factor of up to"
            f" {factor:,.0f}. Values around 1 are usual."
        )
    return tuple(found)


def check_strength(budget: Budget, allow_large_delta: bool = False) -> None:
    """Raise for a delta that protects nobody, unless the caller insists; warn of one that protects little."""
    if budget.delta > LARGEST_DELTA and not allow_large_delta:
        raise ParameterError(
            f"delta must be at most {LARGEST_DELTA:g}, got {budget.delta:g}: keys that occur once would be"
            " published. allow_large_delta=True takes it all the same."
        )
    warn_of_weakness(budget, 5)


def warn_of_weakness(budget: Budget, level: int) -> None:
    """Warn of each part of a budget that protects little, at the call that many levels above."""
    for sentence in weaknesses(budget):
        warnings.warn(sentence, PrivacyWarning, stacklevel=level)


def warn_of_few(budget: Budget, rows: int, unit: PrivacyUnit = EVENT) -> None:
    """Warn the operator, and nobody else, that delta is not far below 1 / number of events, or of users."""
    if budget.delta * max(rows, 1) > FAR_BELOW:
        verb = "is" if unit.rows == 1 else "may be"  # there may be fewer users than rows
        warnings.warn(FEW.format(verb, unit.name.split()[0]), PrivacyWarning, stacklevel=3)


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a release promises, under which assumptions; every value in it is public."""

    epsilon: float
    delta: float
    unit: PrivacyUnit
    mechanism: str
    theorem: str
    proof: str
    parameters: Mapping[str, int | float | str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        if is_seeded():  # every view and file of the release shows the unit
            object.__setattr__(self, "unit", replace(self.unit, protects=NOBODY))

    def statement(self) -> str:
        """Return the guarantee in one sentence."""
        return (
            f"({self.epsilon:g}, {self.delta:g})-differential privacy{self.zcdp} for {self.unit.protects}"
            f" (neighbours: {self.unit.neighbours}), by {self.mechanism}."
        )

    @property
    def assumed(self) -> tuple[str, ...]:
        """The assumptions with the numbers of this release in place of the names of its parameters."""
        found = self.assumptions
        for name, value in self.parameters.items():
            pattern = rf"`{name}`|\b{name}\b" if "_" in name else f"`{name}`"
            found = tuple(re.sub(pattern, str(value), sentence) for sentence in found)
        return found

    @property
    def zcdp(self) -> str:
        """rho in words, if the budget was stated by it."""
        rho = self.parameters.get("rho")
        return "" if rho is None else f" (rho = {rho:g} in zCDP, but for delta)"

    def to_dict(self) -> dict[str, object]:
        """Return the guarantee as plain values for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "unit": self.unit.name,
            "protects": self.unit.protects,
            "neighbours": self.unit.neighbours,
            "mechanism": self.mechanism,
            "theorem": self.theorem,
            "proof": self.proof,
            "parameters": dict(self.parameters),
            "assumptions": list(self.assumptions),
        }


def check_epsilon(value: float) -> float:
    """Return epsilon as a float in (0, 20], or raise.

    >>> check_epsilon(0.5)
    0.5
    """
    number = check_number("epsilon", value)
    if not number > 0 or math.isinf(number):
        raise ParameterError(f"epsilon must be a finite number above 0, got {value}.")
    if number > LARGEST_EPSILON:
        raise ParameterError(f"epsilon above {LARGEST_EPSILON:g} protects nobody, got {value}.")
    return number


def check_delta(value: float) -> float:
    """Return delta as a float from 1e-280 to below 1, or raise. Mechanisms that are pure have delta 0."""
    number = check_fraction("delta", value)
    if number < SMALLEST_DELTA:
        raise ParameterError(f"delta must be 0 or at least {SMALLEST_DELTA:g}, got {value}.")
    return number


def check_confidence(value: float) -> float:
    """Return a confidence strictly between 0 and 1, as is 1 - confidence, or raise."""
    number = check_fraction("confidence", value)
    return number if 1 - number < 1 else check_fraction("confidence", 0)


def check_fraction(name: str, value: float) -> float:
    """Return a number strictly between 0 and 1 as a float, or raise."""
    if not 0 < (number := check_number(name, value)) < 1:
        raise ParameterError(f"{name} must be strictly between 0 and 1, got {value}.")
    return number


def check_count(name: str, value: int, least: int = 1, most: int | None = None) -> int:
    """Return a whole number from `least` to `most` (bools are not numbers), or raise."""
    if isinstance(value, bool):
        raise ParameterError(f"{name} must be a whole number, got {value}.")
    try:
        number = operator.index(value)
    except TypeError:
        raise ParameterError(f"{name} must be a whole number, got {value!r}.") from None
    if number < least:
        raise ParameterError(f"{name} must be at least {least}, got {number}.")
    if most is not None and number > most:
        raise ParameterError(f"{name} must be at most {most}, got {number}.")
    return number


def check_max_events(max_events: int | None, delta: float) -> int | None:
    """Return the public length bound, or raise; warn of a delta that is not below 1 / max_events."""
    if max_events is None:
        return None
    bound = check_count("max_events", max_events, most=LARGEST_COUNT)
    if delta * bound >= 1:
        warnings.warn(LARGE_FOR.format(delta, 1 / bound), PrivacyWarning, stacklevel=5)
    return bound


def check_number(name: str, value: float) -> float:
    """Return a number as a float (bools and texts are not numbers), or raise."""
    try:
        if isinstance(value, bool | str | bytes):
            raise TypeError
        return float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be a number, got {value!r}.") from None
