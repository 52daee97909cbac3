"""Lower bounds from running a mechanism: neighbours and outputs chosen on half of the runs, tested on others.

The bound is one test with a pair and a set of outputs that were fixed before its runs, so it is wrong with
probability at most FALSE_ALARM, whatever was tried before.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from time import monotonic

from hushcount.audit.neighbours import CountsByKey, Pair
from hushcount.errors import ParameterError
from hushcount.noise.bits import Bits, system_bits
from hushcount.noise.confidence import excess_at_least, ratio_at_least

FALSE_ALARM = 1e-6
SURE = 4.0  # standard deviations by which a choice is preferred to another
SAMPLING = 0.95  # of the time: the rest is for choosing and counting
BLOCK = 16  # runs between two looks at the clock
FEWEST = 4 * BLOCK

Run = Callable[[CountsByKey, Bits], Hashable]
Seen = Counter[Hashable]
View = Callable[[Hashable], Hashable]


@dataclass(frozen=True, slots=True)
class ClaimedBudget:
    """The claimed budget."""

    epsilon: float
    delta: float

    @property
    def ratio(self) -> float:
        """The factor exp(epsilon)."""
        return math.exp(self.epsilon)


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower bound of what is spent, the pair that shows it, and the runs on each side."""

    delta_lower: float
    epsilon_lower: float
    pair: Pair
    runs: int


@dataclass(frozen=True, slots=True)
class _Event:
    """A set of outputs, as they look through a view; the complement of `outputs` if `others`."""

    view: View
    outputs: frozenset[Hashable]
    others: bool

    def share(self, seen: Seen) -> int:
        """Return how many outputs that were seen are in the set."""
        return sum(n for output, n in seen.items() if (self.view(output) in self.outputs) != self.others)


@dataclass(slots=True)
class _Trial:
    """A pair, and what was seen of it: two independent lots for each side, one to learn and one to score."""

    pair: Pair
    lots: tuple[tuple[Seen, Seen], tuple[Seen, Seen]] = field(
        default_factory=lambda: ((Counter(), Counter()), (Counter(), Counter()))
    )

    def turned(self) -> _Trial:
        """Return the same with the sides exchanged."""
        (a, b), (c, d) = self.lots
        return _Trial((self.pair[1], self.pair[0]), ((b, a), (d, c)))

    def best(self, claim: ClaimedBudget) -> tuple[float, _Event]:
        """Return the event learnt on the first lot that does best on the second, and how well it does."""
        scored = [(self._score(event, claim), event) for event in _events(*self.lots[0], claim)]
        return max(scored, key=lambda one: one[0])

    def _score(self, event: _Event, claim: ClaimedBudget) -> float:
        """Return an estimate of P(S) - exp(epsilon) Q(S), less what chance may have added."""
        runs = self.lots[1][0].total()
        p, q = (event.share(seen) / runs for seen in self.lots[1])
        if not p:
            return -math.inf
        return p - claim.ratio * q - SURE * math.sqrt((p + claim.ratio**2 * q + 1 / runs) / runs)


def sampled(run: Run, claim: ClaimedBudget, pairs: list[Pair], seconds: float) -> Bound:
    """Return the bound that running the mechanism for this long gives."""
    start, seconds = monotonic(), SAMPLING * seconds
    trial, event = _choose(run, claim, pairs, start + seconds / 2)
    seen = Counter[Hashable](), Counter[Hashable]()
    _fill(run, trial.pair, [seen], start + seconds)
    runs = seen[0].total()
    shares = event.share(seen[0]), event.share(seen[1])
    delta = excess_at_least(shares, runs, claim.ratio, FALSE_ALARM)
    epsilon = math.log(ratio_at_least(shares, runs, claim.delta, FALSE_ALARM))
    return Bound(delta, epsilon, trial.pair, runs)


def _choose(run: Run, claim: ClaimedBudget, pairs: list[Pair], until: float) -> tuple[_Trial, _Event]:
    """Return the pair and the set of outputs to test: in each round the better half of the pairs goes on.

    The first pair, in which a key is new, stays to the end: what is rare on one side and impossible on the
    other takes many runs to be seen at all.
    """
    trials = [_Trial(pair) for pair in pairs]
    rounds = max(1, math.ceil(math.log2(len(trials)))) + 1
    while True:
        ends = monotonic() + (until - monotonic()) / rounds
        for index, trial in enumerate(trials):
            now = monotonic()
            _fill(run, trial.pair, list(trial.lots), now + (ends - now) / (len(trials) - index))
        if rounds == 1:
            break
        others = sorted(trials[1:], key=lambda trial: -_better_way(trial, claim)[0])
        trials = [trials[0], *others[: -(-len(others) // 2)]]
        rounds -= 1
    _, found, event = max((_better_way(trial, claim) for trial in trials), key=lambda one: one[0])
    return found, event


def _better_way(trial: _Trial, claim: ClaimedBudget) -> tuple[float, _Trial, _Event]:
    """Return score, trial and event of the direction that does better."""
    ways = [(*way.best(claim), way) for way in (trial, trial.turned())]
    score, event, way = max(ways, key=lambda one: one[0])
    return score, way, event


def _fill(run: Run, pair: Pair, lots: list[tuple[Seen, Seen]], until: float) -> None:
    """Run both sides, into each lot in turn, until the time is over; at least FEWEST times each."""
    bits = system_bits()
    while True:
        for lot in lots:
            for counts, seen in zip(pair, lot, strict=True):
                _tally(seen, (run(dict(counts), bits) for _ in range(BLOCK)))
        if monotonic() >= until and lots[0][0].total() >= FEWEST:
            return


def _tally(seen: Seen, outputs: Iterable[Hashable]) -> None:
    """Count outputs, or raise if they are not hashable."""
    for output in outputs:
        try:
            seen[output] += 1
        except TypeError:
            raise ParameterError(
                f"run must return something hashable, such as a tuple, got {type(output).__name__}."
            ) from None


def _events(ones: Seen, others: Seen, claim: ClaimedBudget) -> Iterator[_Event]:
    """Yield sets of outputs that look more probable on one side, through each view.

    The first are those that were seen clearly more often, the others add what the other side never showed.
    """
    for view in (_itself, _whole_numbers, _structure):
        p, q = _through(view, ones), _through(view, others)
        likely = frozenset(output for output in p if _clearly(p[output], q[output], claim.ratio))
        yield _Event(view, likely, False)
        yield _Event(view, frozenset(output for output in q if output not in likely), True)
        yield _Event(view, frozenset(q), True)


def _clearly(p: int, q: int, ratio: float) -> bool:
    """Return whether an output seen p and q times is more probable than the ratio allows, chance aside."""
    return p - ratio * q > math.sqrt(p + ratio**2 * q)


def _through(view: View, seen: Seen) -> Seen:
    """Return what was seen, through a view."""
    found: Seen = Counter()
    for output, times in seen.items():
        found[view(output)] += times
    return found


def _itself(output: Hashable) -> Hashable:
    return output


def _whole_numbers(output: Hashable) -> Hashable:
    """Return the output with its numbers rounded down, so that real ones can be seen twice."""
    if isinstance(output, float):
        return math.floor(output) if math.isfinite(output) else output
    if isinstance(output, tuple | frozenset):
        return type(output)(_whole_numbers(part) for part in output)
    return output


def _structure(output: Hashable) -> Hashable:
    """Return the output without its numbers: which keys there are, and how many."""
    if isinstance(output, float | int):
        return None
    if isinstance(output, tuple):
        return tuple(_structure(part) for part in output)
    return output
