"""How far published counts may lie from the truth, and what they are numbers of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from hushcount.releases.estimators import Counts, Floats

RELIABLE = 0.95  # the probability with which a count is published that is called reliable


class ErrorModel(Protocol):
    """How far a published count may lie from the truth, from public numbers only."""

    def interval(self, confidence: float) -> tuple[int, int | None]:
        """Return (below, above): one key's true count lies in [count - below, count + above].

        `above` is None if no public number bounds the count from above.
        """
        ...

    def simultaneous(self, confidence: float) -> tuple[int, int | None] | None:
        """Return the same for all published keys at once; None if no public number bounds them."""
        ...

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Return what is behind the bounds, in words."""
        ...


@runtime_checkable
class RowErrorModel(ErrorModel, Protocol):
    """An error model whose bounds differ from row to row."""

    def columns(self, counts: Counts, confidence: float) -> Mapping[str, Counts | Floats]:
        """Return the columns of the table (count, lower, upper, ...) for what was published."""
        ...


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Bounds on the error of a release at one confidence.

    The true count of a key lies between count - `below` and count + `above` with this confidence; those of
    all published keys at once between count - `simultaneous_below` and count + `simultaneous_above`. None
    stands for a bound that no public number gives.
    """

    confidence: float
    below: int
    above: int | None
    simultaneous_below: int | None
    simultaneous_above: int | None
    sentences: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the bounds as plain values for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Counted:
    """What a count is a number of.

    Parameters
    ----------
    noun : str
        The word for it: events, users, rows.
    meaning : str
        A sentence that says which of them are counted; empty if all with the key are.
    """

    noun: str = "events"
    meaning: str = ""


EVENTS = Counted()
