"""Groups of questions: every client answers one question of each group. Pure Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.wire import questions
from hushcount.ldp.wire.parts import Fields, derive
from hushcount.ldp.wire.questions import Question
from hushcount.ldp.wire.response import (
    ONE,
    ResponseDistribution,
    check_symbol_bits,
    epsilon_text,
    response_probability,
)
from hushcount.privacy import check_count

ALL_SHARES = 1 << 32
MOST_QUESTIONS = 1 << 12
_FIELDS = frozenset(("epsilon", "probability", "questions", "shares", "symbol_bits"))


@dataclass(frozen=True, slots=True)
class Group:
    """Questions of which every client answers one, chosen by public randomness, with its own epsilon.

    `shares` are the probabilities of the questions, as integers out of 2^32. `probability`, that of a
    truthful answer, is an integer out of 2^64 that follows from epsilon.
    """

    epsilon: str
    symbol_bits: int
    questions: tuple[Question, ...]
    shares: tuple[int, ...]
    probability: int = field(init=False, repr=False, compare=False)
    cumulative: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        derive(self, epsilon=epsilon_text(self.epsilon), questions=tuple(self.questions))
        check_count("the number of questions", len(self.questions), most=MOST_QUESTIONS)
        derive(self, symbol_bits=check_symbol_bits(self.symbol_bits))
        shares = tuple(check_count("a share", share, most=ALL_SHARES) for share in self.shares)
        if len(shares) != len(self.questions) or sum(shares) != ALL_SHARES:
            raise ParameterError("shares must be one for each question and sum to 2^32.")
        if self.symbol_bits > 1 and any(question.flips for question in self.questions):
            raise ParameterError(f"questions with flips need symbol_bits = 1, got {self.symbol_bits}.")
        probability = response_probability(self.epsilon, self.symbol_bits)
        derive(self, shares=shares, probability=probability, cumulative=tuple(accumulate(shares)))

    @property
    def symbols(self) -> int:
        """The number of symbols a client chooses from."""
        return 1 << self.symbol_bits

    @property
    def response(self) -> ResponseDistribution:
        """The distribution of a client's response."""
        return ResponseDistribution(self.symbols, self.probability / ONE)

    def to_dict(self) -> Fields:
        """Return the group as the manifest writes it."""
        return {
            "epsilon": self.epsilon,
            "symbol_bits": self.symbol_bits,
            "probability": str(self.probability),
            "questions": [question.to_dict() for question in self.questions],
            "shares": list(self.shares),
        }

    @classmethod
    def from_dict(cls, fields: object) -> Group:
        """Return the group that a manifest describes, or raise ManifestError."""
        if not isinstance(fields, Mapping) or set(fields) != _FIELDS:
            raise ManifestError(f"a group must have the fields {', '.join(sorted(_FIELDS))}.")
        if not isinstance(fields["epsilon"], str):
            raise ManifestError("epsilon must be a decimal in a text.")
        for name in ("questions", "shares"):
            if not isinstance(fields[name], list):
                raise ManifestError(f"{name} must be a list.")
        make: Callable[..., Group] = cls
        asked = [questions.from_dict(question) for question in fields["questions"]]
        group = make(fields["epsilon"], fields["symbol_bits"], asked, fields["shares"])
        if fields["probability"] != str(group.probability):
            raise ManifestError(f"probability must be {group.probability} for its epsilon and symbol_bits.")
        return group


def whole_shares(fractions: Sequence[float]) -> tuple[int, ...]:
    """Return fractions that sum to 1 as integers out of 2^32; the last one takes what rounding leaves.

    >>> whole_shares([0.25, 0.75])
    (1073741824, 3221225472)
    """
    shares = [int(fraction * ALL_SHARES) for fraction in fractions[:-1]]
    return (*shares, ALL_SHARES - sum(shares))
