"""A sampling scheme given as a list of probabilities: any scheme at all, for tests of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Floats
from hushcount.errors import ParameterError
from hushcount.mechanisms.sampling.schemes import LARGEST_COUNT


@dataclass(frozen=True, slots=True)
class Listed:
    """Probabilities of counts 1, 2, ...; the last one serves all larger counts."""

    probabilities: tuple[float | Fraction, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", tuple(self.probabilities))
        check_probabilities(self.probabilities)

    @property
    def name(self) -> str:
        """The name of the scheme with its public numbers."""
        return f"listed probabilities ({len(self.probabilities)} counts)"

    def certain_from(self, width: int) -> int | None:
        """Return the first count listed with probability 1."""
        ones = [count for count, value in enumerate(self.probabilities, start=1) if value == 1]
        return ones[0] if ones else None

    def gentle(self, growth: float) -> tuple[int, int]:
        """Return the counts beyond the list."""
        return len(self.probabilities) + 1, LARGEST_COUNT

    def probability(self, counts: npt.ArrayLike) -> Floats:
        """Return the listed probability of each count."""
        table = np.array([0.0, *map(float, self.probabilities)])
        return table[np.clip(np.asarray(counts, dtype=np.int64), 0, len(table) - 1)]

    def integer_probability(self, count: int, width: int) -> int:
        """Return the probability times 2^width as an integer that never decreases with the count."""
        if count < 1:
            return 0
        return math.floor(
            Fraction(self.probabilities[min(count, len(self.probabilities)) - 1]) * (1 << width)
        )


def check_probabilities(probabilities: tuple[float | Fraction, ...]) -> None:
    """Raise unless the probabilities lie in [0, 1] and do not decrease."""
    if not probabilities:
        raise ParameterError("probabilities must hold at least one value, got none.")
    previous: float | Fraction = 0
    for value in probabilities:
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not 0 <= value <= 1:
            raise ParameterError(f"probabilities must lie between 0 and 1, got {value}.")
        if value < previous:
            raise ParameterError(
                f"probabilities must not decrease with the count, got {value} after {previous}."
            )
        previous = value
