"""What a run asks of a ledger, and what it gets: leave to draw noise once, or the answer that is stored."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from hushcount.accounting.charges import Event
from hushcount.accounting.decimals import fitting, text
from hushcount.accounting.windows import TimeWindow
from hushcount.errors import ParameterError
from hushcount.privacy import RESULT_ROW, STREAM_ROW

EVENT, ROW, USER, USER_WINDOW = "event", "result-row", "user", "user-window"
UNITS = (EVENT, ROW, USER, USER_WINDOW)
ROWS = (RESULT_ROW.name, STREAM_ROW.name)  # the units of a release that a dataset of result rows takes
# What is protected, in words.
PROTECTED = {
    EVENT: "one event",
    ROW: "one row of the result of each query",
    USER: "one user with all of their rows, over all windows",
    USER_WINDOW: "the rows of one user in one cell of {cell}",
}
LONGEST_NAME = 200
# What a ledger would do with a run, and the sentence for it.
CHARGED, PAID, ANSWERED, TAKEN_OVER, REFUSED = "charged", "paid", "answered", "taken over", "refused"
OUTCOMES = {
    CHARGED: "Dataset {0.dataset} would be charged epsilon {epsilon} and delta {delta}.",
    PAID: "Run {0.run_id} would cost dataset {0.dataset} nothing more: its schedule has paid for it.",
    ANSWERED: "Run {0.run_id} of dataset {0.dataset} has an answer, which would be given again at no cost.",
    TAKEN_OVER: "Run {0.run_id} of dataset {0.dataset} was charged and not finished; it would be finished at"
    " no further cost.",
}
LEFT = "A further release with epsilon at most {} and delta at most {} would then fit."
NONE_LEFT = "No further release would then fit."


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A release that is about to be made.

    Parameters
    ----------
    question : str
        The hash of all that changes the distribution of the answer.
    unit : str
        The name of what the release protects, such as "event" or "user".
    event : Event
        What it costs.
    run_id : str, optional
        The name of the run; without one it is the question.
    again : bool
        Whether to draw and pay anew although there is an answer.
    source : str, optional
        The fingerprint of the data; None where data have none.
    window : TimeWindow, optional
        The time that the rows are from; None for all.
    series : str
        The hash of the question without its window: the same every night; empty if the question has none.
    cell : str, optional
        The cells in which users are protected, for a release that knows them.
    """

    question: str
    unit: str
    event: Event
    run_id: str | None = None
    again: bool = False
    source: str | None = None
    window: TimeWindow | None = None
    series: str = ""
    cell: str | None = None

    def __post_init__(self) -> None:
        if self.run_id is not None:
            check_name("run_id", self.run_id)
        elif self.source is None:
            raise ParameterError(
                "run_id must name the run, because these data (a pipe, a database or data in memory) cannot"
                " be recognised: without it the next run would get the answer of this one."
            )

    @property
    def repeated(self) -> str:
        """The question that all runs of a schedule ask."""
        return self.series or self.question


@dataclass(frozen=True, slots=True)
class Answer:
    """What was drawn, once and for all: a release, or the message of an error that came after the draw."""

    content: bytes
    outcome: str = "release"


@dataclass(frozen=True, slots=True)
class Reservation:
    """A charge that is recorded. With an answer nothing is left to do; without one the noise may be drawn."""

    dataset: str
    run_id: str
    attempt: int
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What a ledger would do with a run, if it were made now.

    Parameters
    ----------
    dataset, run_id : str
        The dataset, and the name that the run would have.
    outcome : str
        "charged", "paid" (by a schedule), "answered", "taken over" or "refused".
    cost : Event
        What the release costs.
    left : tuple of Decimal
        Epsilon and delta of the largest single release that would fit afterwards.
    refusal : str
        Why it would be refused, and what would fit.
    series : str
        The question without its window, for which a schedule can be made; empty for a schedule.
    """

    dataset: str
    run_id: str
    outcome: str
    cost: Event
    left: tuple[Decimal, Decimal]
    refusal: str = ""
    series: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What would happen, in words."""
        if self.outcome == REFUSED:
            return (f"The release would be refused. {self.refusal}",)
        said = OUTCOMES[self.outcome]
        pair = {"epsilon": text(self.cost.epsilon), "delta": text(self.cost.delta)}
        after = LEFT.format(*map(fitting, self.left)) if self.left[0] > 0 else NONE_LEFT
        return said.format(self, **pair), after

    def to_dict(self) -> dict[str, object]:
        """Return the numbers as texts; nothing is charged unless the outcome is "charged"."""
        charged = self.outcome == CHARGED
        pair = (self.cost.epsilon, self.cost.delta) if charged else (Decimal(0), Decimal(0))
        return {
            "dataset": self.dataset,
            "run_id": self.run_id,
            "outcome": self.outcome,
            "charged": dict(zip(("epsilon", "delta"), map(text, pair), strict=True)),
            "left": dict(zip(("epsilon", "delta"), map(text, self.left), strict=True)),
            "refusal": self.refusal or None,
            "question": self.series or None,
        }


def check_name(name: str, value: str) -> str:
    """Return the name of a dataset or run, or raise: printable text that is not too long."""
    if not 0 < len(value) <= LONGEST_NAME or not value.isprintable() or value != value.strip():
        raise ParameterError(f"{name} must be a name of 1 to {LONGEST_NAME} printable characters.")
    return value
