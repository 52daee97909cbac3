"""What a sample is asked for: its budget and table, and how it is drawn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import PathLike
from hushcount.jobs.run import Releasing
from hushcount.jobs.settings import ReleaseSettings
from hushcount.mechanisms.sampling.sample import PrivateSample, PrivateSampleKeys
from hushcount.mechanisms.sampling.schemes import Scheme, rate_for_size
from hushcount.mechanisms.sampling.sized import SCHEMES, SizedSample, WantedSize
from hushcount.mechanisms.sampling.tabled import SamplingTable
from hushcount.mechanisms.total import SHARE, WithTotal
from hushcount.privacy import Budget, check_delta, unwarned
from hushcount.releases.release import Release
from hushcount.shapes import Public, Shape

LONGEST_FILE = 1 << 24  # characters of a list of probabilities


@dataclass(frozen=True, kw_only=True)
class SampleSettings(ReleaseSettings):
    """Budget and table of a sample, and how it is drawn."""

    rate: float | None = None
    size: int | None = None
    total_share: float | None = None
    power: float = 1.0
    scheme: str = "pps"
    probabilities: SamplingTable | Sequence[float] | PathLike | None = None
    tokens: int = 1
    keys_only: bool = False
    drawn_by: Scheme | WantedSize = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in ("rate", "size", "probabilities") if getattr(self, name) is not None]
        if len(given) != 1:
            got = "several" if given else "none"
            raise ParameterError(f"Give either rate, or size, or probabilities, got {got}.")
        if self.keys_only and (self.plot is not None or self.tokens != 1):
            raise ParameterError("keys_only publishes no counts, so it needs neither plot nor tokens.")
        if self.total_share is not None and (self.size is None or self.max_events is not None):
            raise ParameterError(
                "total_share needs size, without max_events: it is what a noisy total takes of epsilon."
            )
        if self.probabilities is not None:
            object.__setattr__(self, "drawn_by", table_of(self.probabilities))
            return
        object.__setattr__(self, "drawn_by", self._drawn_by())

    def _drawn_by(self) -> Scheme | WantedSize:
        """Return the scheme, or without a public number that sets its rate what a noisy total will set."""
        if self.scheme not in SCHEMES:
            raise ParameterError(f"scheme must be one of {', '.join(SCHEMES)}, got {self.scheme}.")
        if self.rate is not None:
            return SCHEMES[self.scheme](self.rate, self.power)
        size = self.size or 0
        if self.max_events is not None:
            return SCHEMES[self.scheme](rate_for_size(size, self.power, self.max_events), self.power)
        share = SHARE if self.total_share is None else self.total_share
        return WantedSize(size, self.scheme, self.power, share, self.tokens, self.keys_only)

    def summary(self, shape: Shape, total: int) -> Shape:
        """Return what the mechanism sees of counts: their total too, if it sets the rate."""
        return WithTotal(shape, total) if isinstance(self.drawn_by, WantedSize) else shape

    def calibrated(self, public: Public) -> Releasing[Release]:
        """Return the mechanism that draws the sample, or raise."""
        public = public.within(self.max_events)
        if isinstance(self.drawn_by, WantedSize):
            return SizedSample(self.budget, public, self.drawn_by)
        if self.keys_only:
            return PrivateSampleKeys(self.budget, public, self.drawn_by)
        return PrivateSample(self.budget, public, self.drawn_by, self.tokens)

    def spent(self) -> Budget:
        """Return what the sample spends: there is none with delta = 0."""
        return unwarned(self.loss, check_delta(self.delta))


def table_of(given: SamplingTable | Sequence[float] | PathLike) -> SamplingTable:
    """Return a table as it is, of a sequence, or of a file with one probability on each line."""
    if isinstance(given, SamplingTable):
        return given
    if not isinstance(given, str | os.PathLike):
        return SamplingTable(tuple(given))
    try:
        with open(given, encoding="utf-8") as file:
            lines = [line.strip() for line in file.read(LONGEST_FILE).splitlines()]
    except (OSError, UnicodeDecodeError):
        raise DataError(f"{os.fspath(given)} cannot be read as a list of probabilities.") from None
    try:
        listed = [float(line) for line in lines if line]
    except ValueError:
        raise DataError(f"{os.fspath(given)} must hold one probability on each line.") from None
    return SamplingTable(tuple(listed))
