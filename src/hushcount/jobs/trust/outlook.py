"""What a table is expected to hold: at one budget, and around it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from hushcount.jobs.trust.share import SharePlan
from hushcount.releases.accuracy import RELIABLE


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is expected at one budget.

    Parameters
    ----------
    epsilon : float
        The budget.
    expected_keys : float
        How many keys are published on average.
    smallest_count : int
        The smallest count that is published with probability 0.95.
    error : int
        What the error of a published count stays within with confidence 0.95.
    max_keys : int, optional
        The most keys of one user, where users are protected.
    mean_squared_error : float
        What the mean squared error of the count of any key is at most, 0 if it is not published.
    """

    epsilon: float
    expected_keys: float
    smallest_count: int
    error: int
    max_keys: int | None = None
    mean_squared_error: float | None = None


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What a table will hold, by the calibration of its mechanism and the expected keys alone.

    Parameters
    ----------
    rows : int
        The rows that are expected.
    delta : float
        The delta of the budget.
    outlook : Outlook
        What is expected at the budget asked for, or at the smallest epsilon that gives what is wanted.
    mechanism, why : str
        What would add the noise, and why this one.
    counters : int
        The counters of the sketch.
    counters_needed : int
        The number of counters beyond which more would hardly help.
    floor : float
        The expected floor of the sketch: by how much it may overcount a key, or leave out of its count.
    by_epsilon : tuple of Outlook
        The same at smaller and larger budgets.
    by_max_keys : tuple of Outlook
        The same for other bounds on the keys of a user, where users are protected.
    rho : float, optional
        The budget in zero-concentrated differential privacy, if it is stated so.
    other_error : int, optional
        What the error of a noisy total stays within with confidence 0.95, if one is asked for.
    share : SharePlan, optional
        What a share of all events needs, if one is asked for.
    """

    rows: int
    delta: float
    outlook: Outlook
    mechanism: str
    why: str
    counters: int
    counters_needed: int
    floor: float
    by_epsilon: tuple[Outlook, ...]
    by_max_keys: tuple[Outlook, ...] = ()
    rho: float | None = None
    other_error: int | None = None
    share: SharePlan | None = None

    @property
    def epsilon(self) -> float:
        """The epsilon asked for, or the smallest that gives what is wanted."""
        return self.outlook.epsilon

    @property
    def expected_keys(self) -> float:
        """How many keys are published on average."""
        return self.outlook.expected_keys

    @property
    def smallest_count(self) -> int:
        """The smallest count that is published with probability 0.95."""
        return self.outlook.smallest_count

    @property
    def error(self) -> int:
        """What the error of a published count stays within with confidence 0.95."""
        return self.outlook.error

    @property
    def mean_squared_error(self) -> float | None:
        """What the mean squared error of the count of any key is at most, 0 if it is not published."""
        return self.outlook.mean_squared_error

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is expected, in words."""
        kept = "" if self.outlook.max_keys is None else f" when each user keeps {self.outlook.max_keys} keys"
        noun = "events" if self.outlook.max_keys is None else "users"
        said = [
            f"About {self.expected_keys:,.0f} keys will be published{kept}.",
            f"A key of {self.smallest_count:,} {noun} is published with probability {RELIABLE:g}.",
            f"A published count is within {self.error:,} of the truth with confidence {RELIABLE:g}.",
            f"Mechanism {self.mechanism}: {self.why}.",
        ]
        if self.rho is not None:
            said.append(f"rho = {self.rho:g} is an epsilon of {self.epsilon:g} at delta = {self.delta:g}.")
        if self.other_error is not None:
            said.append(
                f"The noisy total of all keys is within {self.other_error:,} of the truth with confidence"
                f" {RELIABLE:g}."
            )
        if self.share is not None:
            said.append(self.share.sentence)
        if self.share is None and self.counters < self.counters_needed:
            said.append(
                f"More counters would publish rarer keys: {self.counters_needed:,} instead of"
                f" {self.counters:,}."
            )
        return tuple(said)

    def to_dict(self) -> dict[str, object]:
        """Return the plan as plain values."""
        shown = self.outlook
        return {
            "rows": self.rows,
            "epsilon": shown.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "expected_keys": shown.expected_keys,
            "smallest_count": shown.smallest_count,
            "error": shown.error,
            "mean_squared_error": shown.mean_squared_error,
            "mechanism": self.mechanism,
            "why": self.why,
            "counters": self.counters,
            "counters_needed": self.counters_needed,
            "floor": self.floor,
            "other_error": self.other_error,
            "share": None if self.share is None else asdict(self.share),
            "by_epsilon": [_fields(each) for each in self.by_epsilon],
            "by_max_keys": [_fields(each) for each in self.by_max_keys],
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def _fields(outlook: Outlook) -> dict[str, float | int | None]:
    """Return an outlook as plain values."""
    names = ("epsilon", "expected_keys", "smallest_count", "error", "max_keys")
    return {name: getattr(outlook, name) for name in names if getattr(outlook, name) is not None}
