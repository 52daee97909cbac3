"""The public calendar of a watch: periods of equal length, and levels of nodes that are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hushcount.accounting.windows import TimeWindow, cell_length
from hushcount.errors import ParameterError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR = 3_600_000_000
NAMED = "%Y-%m-%dT%H"
MOST_PERIODS = 100_000


@dataclass(frozen=True, slots=True)
class Calendar:
    """When the periods of a watch begin and end, in UTC.

    Parameters
    ----------
    start : int
        When the first period begins, in microseconds since 1970.
    period : int
        The length of a period in microseconds.
    periods : int
        How many there are.
    levels : tuple of str
        The lengths of the nodes of each level, such as 1h and 1d; the first is that of a period.
    lengths : tuple of int
        The same in periods.
    """

    start: int
    period: int
    periods: int
    levels: tuple[str, ...]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, period: str, start: str, until: str, levels: Sequence[str] = ()) -> Calendar:
        """Return the calendar that is asked for, or raise.

        >>> Calendar.of("1h", "2026-12-01", "2026-12-31", ["1h", "1d"]).lengths
        (1, 24)
        """
        length, span = _length("period", period), _span(start, until)
        whole, rest = divmod(span.stop - span.start, length)
        if rest or span.start % HOUR or not 1 <= whole <= MOST_PERIODS:
            raise ParameterError(
                "start must be a full hour, and until a whole number of periods later, at most"
                f" {MOST_PERIODS}."
            )
        named = tuple(levels) or (period,)
        lengths = [_length("levels", each) for each in named]
        steps = zip([length, *lengths], lengths, strict=False)
        if lengths[0] != length or any(after % before for before, after in steps):
            raise ParameterError(
                "levels must begin with the length of a period, and each must be a multiple of the one"
                " before."
            )
        if len(set(lengths)) < len(lengths):
            raise ParameterError("levels must be different lengths.")
        return cls(span.start, length, whole, named, tuple(each // length for each in lengths))

    @property
    def window(self) -> TimeWindow:
        """The time of all periods."""
        return TimeWindow(self.start, self.instant(self.periods))

    def instant(self, place: int) -> int:
        """Return when a period begins, in microseconds since 1970."""
        return self.start + place * self.period

    def time(self, place: int) -> datetime:
        """Return when a period begins."""
        return EPOCH + timedelta(microseconds=self.instant(place))

    def name(self, place: int) -> str:
        """Return the name of a period: the hour in which it begins.

        >>> Calendar.of("1h", "2026-12-01", "2026-12-02").name(23)
        '2026-12-01T23'
        """
        return self.time(place).strftime(NAMED)

    def place(self, name: str) -> int:
        """Return the place of the period of this name, or raise."""
        try:
            begins = datetime.fromisoformat(name).replace(tzinfo=UTC)
        except ValueError:
            raise ParameterError(f"period must be a name such as {self.name(0)}, got {name}.") from None
        place, rest = divmod((begins - EPOCH) // timedelta(microseconds=1) - self.start, self.period)
        if rest or not 0 <= place < self.periods:
            raise ParameterError(f"period must be one of {self.name(0)} to {self.name(self.periods - 1)}.")
        return place

    def ended(self, now: datetime) -> int:
        """Return how many periods have ended at a time."""
        passed = (now - EPOCH) // timedelta(microseconds=1) - self.start
        return max(0, min(passed // self.period, self.periods))

    def spanned(self, length: str, name: str = "last") -> int:
        """Return how many periods a length such as 7d has, or raise; `name` is that of the option."""
        whole, rest = divmod(_length(name, length), self.period)
        if rest:
            raise ParameterError(f"{name} must be a whole number of periods.")
        return whole


def _length(name: str, given: str) -> int:
    """Return a length in microseconds, or raise."""
    try:
        return cell_length(given)
    except ParameterError:
        raise ParameterError(f"{name} must be a length such as 1h, 1d or 4w, got {given}.") from None


def _span(start: str, until: str) -> TimeWindow:
    """Return the time between two days or times, or raise."""
    try:
        return TimeWindow.parse(f"{start}/{until}")
    except ParameterError:
        raise ParameterError(
            f"start and until must be days or times, the first before the second, got {start} and {until}."
        ) from None
