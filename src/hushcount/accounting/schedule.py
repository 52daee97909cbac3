"""The exact cost of releases whose number and parameters are fixed before the first: "every day for a year".

Any (epsilon, delta)-private release is a function of one randomised symbol whose privacy loss is +epsilon or
-epsilon, and which with probability delta tells everything (Kairouz et al. 2015). The losses of k symbols are
binomial, so their privacy loss distribution is a finite sum. It holds for parameters fixed in advance only,
so a schedule is charged up front, as one pair. Proof: docs/proofs/accounting/filter.md, "Schedules".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from hushcount.accounting.chain import canonical
from hushcount.accounting.charges import Charge, Curve, Event
from hushcount.accounting.decimals import EXACT, WIDE, Number, number, rounded_up, text
from hushcount.accounting.runs import check_name
from hushcount.accounting.windows import TimeWindow
from hushcount.errors import ParameterError
from hushcount.privacy import check_count

MOST = 100_000
ANY = "any"  # in place of a question: the runs of the schedule may ask whatever they want
HASH = re.compile("[0-9a-f]{64}")
ONE = Decimal(1)
# A schedule whose every loss is within total_delta still is charged something.
LEAST = Decimal("1e-18")


@dataclass(frozen=True, slots=True)
class Schedule:
    """A number of releases, each with at most this epsilon and delta, and what they cost together.

    Parameters
    ----------
    name : str
        Runs with an id NAME/... belong to the schedule.
    releases : int
        How many there are at most.
    each : Event
        The most that one of them may spend.
    whole : Event
        What all of them spend.
    window : TimeWindow, optional
        The time that the rows of all of them are from; None for all.
    question : str
        The only question that its runs may ask, each of a window or source of its own; "any" for whatever
        question, and empty for that of the first run.
    """

    name: str
    releases: int
    each: Event
    whole: Event
    window: TimeWindow | None = None
    question: str = ""

    def __post_init__(self) -> None:
        check_name("name", self.name)
        if "/" in self.name:
            raise ParameterError("name must not contain a slash, because runs are named NAME/....")
        if self.question not in ("", ANY) and not HASH.fullmatch(self.question):
            raise ParameterError(
                "question must be the 64 digits that --dry-run --json names for it, or any, got"
                f" {self.question!r}."
            )

    @property
    def charge(self) -> str:
        """The charge that each release must have, as JSON; empty if any release within the pair belongs."""
        return "" if self.each.finer is None else charge_text(self.each.finer)

    @classmethod
    def of(cls, name: str, releases: int, each: Event, total_delta: Number) -> Schedule:
        """Return the schedule, with the smallest epsilon at which all releases have `total_delta` together.

        >>> Schedule.of("nightly", 2, Event.of("0.5", "0"), "1e-9").whole.epsilon
        Decimal('0.999999997419059237')
        """
        count, left = _left(releases, each.delta, total_delta)
        whole = composed_epsilon(each.epsilon, count, left)
        pair = Event(each.epsilon, each.delta)
        return cls(name, count, pair, Event(whole, number("total_delta", total_delta)))

    @classmethod
    def of_equals(
        cls,
        name: str,
        releases: int,
        each: Event,
        total_delta: Number,
        composed: Callable[[Curve, int, Decimal], Decimal],
    ) -> Schedule:
        """Return the schedule of releases that all have the same charge by a curve, such as Gaussian noise.

        Parameters
        ----------
        name, releases, total_delta
            As for `of`.
        each
            What each release costs, with its finer charge of one curve.
        composed
            Returns an epsilon at which so many releases of this curve have this delta.
        """
        if each.finer is None or len(each.finer.curves) != 1:
            raise ParameterError("mechanism must be one whose noise is charged by its own curve.")
        (curve,) = each.finer.curves
        count, left = _left(releases, each.finer.delta, total_delta)
        whole = composed(curve, count, left)
        return cls(name, count, each, Event(whole, number("total_delta", total_delta)))


def charge_text(charge: Charge) -> str:
    """Return a charge as the text by which releases of a schedule are compared."""
    return canonical(charge.to_dict())


def _left(releases: int, delta: Decimal, total_delta: Number) -> tuple[int, Decimal]:
    """Return the number of releases, and what their own deltas leave of the total, or raise."""
    count, most = check_count("releases", releases, most=MOST), number("total_delta", total_delta)
    lost = EXACT.multiply(delta, Decimal(count))
    if most < lost or not most < 1:
        raise ParameterError(
            f"total_delta must be below 1 and at least {text(lost)}, which the releases lose together,"
            f" got {text(most)}."
        )
    return count, EXACT.subtract(most, lost)


def composed_epsilon(epsilon: Decimal, releases: int, delta: Decimal) -> Decimal:
    """Return the smallest E at which `releases` responses of epsilon are (E, delta)-private, rounded up.

    With j losses of +epsilon among k, P_j = C(k, j) exp(j epsilon) / (1 + exp(epsilon))^k and the loss is
    (2j - k) epsilon. At an E between two losses, the divergence is the sum of P_j - exp(E) Q_j over the
    larger ones, which is solved for E.
    """
    step = WIDE.exp(WIDE.minus(epsilon))
    mass = WIDE.power(WIDE.divide(ONE, WIDE.add(ONE, step)), Decimal(releases))  # P_k
    above, other = Decimal(0), Decimal(0)  # sums of P_j and Q_j
    for ups in range(releases, -1, -1):
        loss = WIDE.multiply(Decimal(2 * ups - releases), epsilon)
        if loss <= 0 or WIDE.subtract(above, WIDE.multiply(WIDE.exp(loss), other)) > delta:
            break
        above = WIDE.add(above, mass)
        other = WIDE.add(other, WIDE.multiply(mass, WIDE.exp(WIDE.minus(loss))))
        odds = WIDE.divide(WIDE.multiply(Decimal(ups), step), Decimal(releases - ups + 1))
        mass = WIDE.multiply(mass, odds)
    odds = WIDE.divide(WIDE.subtract(above, delta), other) if above > delta else ONE
    exact = rounded_up(WIDE.ln(odds)) if odds > 1 else LEAST
    return min(exact, EXACT.multiply(epsilon, Decimal(releases)))
