"""Any sampling function: a table of probabilities, count by count."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Floats
from hushcount.errors import ParameterError
from hushcount.mechanisms.sampling.schemes import LARGEST_COUNT, Scheme
from hushcount.privacy import check_count

Probability = float | Fraction
LONGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class SamplingTable(Scheme):
    """Probabilities of the counts 1, 2, ...; the last one serves all larger counts.

    Parameters
    ----------
    probabilities : sequence of float or Fraction
        Between 0 and 1, and not decreasing; at most 65,536.

    Examples
    --------
    >>> SamplingTable([0, 0.25, 1]).probability([1, 2, 3, 99]).tolist()
    [0.0, 0.25, 1.0, 1.0]
    >>> root = SamplingTable.of(lambda count: min(1, 0.1 * count**0.5), last=100)
    >>> root.probability([4, 100, 10**9]).tolist()
    [0.2, 1.0, 1.0]
    """

    probabilities: tuple[Probability, ...]
    _floats: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        listed = tuple(self.probabilities)
        check_probabilities(listed)
        object.__setattr__(self, "probabilities", listed)
        object.__setattr__(self, "_floats", np.array([0.0, *map(float, listed)]))

    @classmethod
    def of(cls, function: Callable[[int], float], last: int) -> SamplingTable:
        """Return the table of a function of the count.

        Parameters
        ----------
        function : callable
            Takes a count and returns the probability that a key of this count is sampled.
        last : int
            The count up to which it is asked, at most 65,536; larger counts have the same probability.
        """
        stop = check_count("last", last, most=LONGEST)
        return cls(tuple(function(count) for count in range(1, stop + 1)))

    @property
    def name(self) -> str:
        """The name of the scheme with its public numbers."""
        return f"table of {len(self.probabilities)} probabilities"

    def certain_from(self, width: int) -> int | None:  # the same at any width
        """Return the first count with probability 1."""
        ones = np.flatnonzero(self._floats == 1)
        certain = [count for count in ones.tolist() if self.probabilities[count - 1] == 1]
        return certain[0] if certain else None

    def gentle(self, growth: float) -> tuple[int, int]:
        """Return the counts beyond the table."""
        return len(self.probabilities) + 1, LARGEST_COUNT

    def probability(self, counts: npt.ArrayLike) -> Floats:
        """Return the probabilities as floats.

        Parameters
        ----------
        counts : array of int
            The counts; those below 1 have probability 0.
        """
        return self._floats[np.clip(np.asarray(counts, dtype=np.int64), 0, len(self.probabilities))]

    def integer_probability(self, count: int, width: int) -> int:
        """Return the probability times 2^width as an integer that never decreases with the count."""
        if count < 1:
            return 0
        listed = Fraction(self.probabilities[min(count, len(self.probabilities)) - 1])
        return math.floor(listed * (1 << width))

    def fields(self) -> dict[str, object]:
        """Return the scheme for the header of a file: probabilities as exact fractions."""
        return {"name": "table", "probabilities": [str(Fraction(each)) for each in self.probabilities]}


def table_from_fields(probabilities: list[str]) -> SamplingTable:
    """Return the table that a header describes; floats are floats again."""
    exact = [Fraction(text) for text in probabilities]
    return SamplingTable(tuple(float(each) if float(each) == each else each for each in exact))


def check_probabilities(probabilities: tuple[Probability, ...]) -> None:
    """Raise unless there are a few probabilities, which lie in [0, 1] and do not decrease."""
    if not 0 < len(probabilities) <= LONGEST:
        raise ParameterError(
            f"probabilities must be between 1 and {LONGEST:,} numbers, got {len(probabilities):,}."
        )
    previous: Probability = 0
    for value in probabilities:
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not 0 <= value <= 1:
            raise ParameterError(f"probabilities must lie between 0 and 1, got {value}.")
        if value < previous:
            raise ParameterError(
                f"probabilities must not decrease with the count, got {value} after {previous}."
            )
        previous = value
