"""The audit of every mechanism of this package: `hushcount audit`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from typing import Any

from hushcount.audit import cases, laws, trees
from hushcount.audit.cases import Spent, noisy
from hushcount.audit.laws import LawPair
from hushcount.audit.moved import (
    Halves,
    divergences,
    geometric_pair,
    rounded_pair,
    row_pair,
    steered_divergences,
    total_divergence,
)
from hushcount.audit.others import names as other_names
from hushcount.audit.others import spent_by
from hushcount.mechanisms.base import Mechanism
from hushcount.mechanisms.counters.floor import FloorRelease
from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
from hushcount.mechanisms.histograms.correlated import CorrelatedSparseHistogram
from hushcount.mechanisms.histograms.reduced import ReducedRelease
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.mechanisms.keys.selection import KeySelection
from hushcount.mechanisms.linear.cells import NoisyCells
from hushcount.mechanisms.linear.envelope import CountMinEnvelope, CountSketchEnvelope
from hushcount.mechanisms.linear.measured import MeasuredEnvelope
from hushcount.mechanisms.registry import EVERY_MECHANISM, PURE
from hushcount.mechanisms.sampling.schemes import Ppswor
from hushcount.mechanisms.sampling.sized import SizedSample, WantedSize
from hushcount.mechanisms.total import TotalRelease
from hushcount.privacy import EVENT, USER, Budget, unwarned
from hushcount.registry import Registry
from hushcount.shapes import ExactCounts, Public

BUDGET = Budget(1.0, 1e-6)
WITHOUT_DELTA = (*PURE, "hierarchy-known")
NEAR = 0.95  # of delta: mechanisms that spend more of it are audited as they are
SAFE = 1e-9  # relative: a divergence must be above delta by more than this to refute
# Public numbers of the audited mechanisms, small enough to enumerate; the floor is at most neighbours.FLOOR.
MOVED, HEIGHT, DEPTH = 3, 4, 5
SKETCH = Public(candidates=5, parts=10, max_events=70)
TOGETHER = Public(moved=MOVED)
SETS = Public(moved=100)
PAIR = Public(candidates=2, moved=2)
SIZED = WantedSize(40, share=0.5)
SAMPLED = Public(scheme=Ppswor(0.3))
TREE = Public(height=HEIGHT)
RANKED = Public(unit=USER, moved=256)
USERS = Public(unit=replace(USER, rows=3))
HEAVY = replace(EVENT, weight=3)
PAIRS = Public(unit=replace(USER, rows=2), moved=2, shape=ExactCounts)
# A pure release checks that there is a domain; which one does not change its noise.
DOMAIN = Public(candidates=2, parts=10, max_events=70, domain=object())  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Finding:
    """What the audit of one mechanism has found at its worst pair of neighbours.

    `delta` is the smallest delta for which the mechanism would be calibrated as it is at the budget asked
    for: the strongest claim that it makes. `epsilon_lower` is given if that delta is 0.
    """

    mechanism: str
    epsilon: float
    delta: float
    delta_lower: float
    epsilon_lower: float | None
    pair: str

    @property
    def refuted(self) -> bool:
        """Whether the claim is false."""
        return self.delta_lower > self.delta * (1 + SAFE)

    @property
    def share(self) -> float:
        """How much of the claimed delta, or else epsilon, is spent for sure."""
        if self.epsilon_lower is not None:
            return self.epsilon_lower / self.epsilon
        return self.delta_lower / self.delta

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {**asdict(self), "refuted": self.refuted}


def names() -> list[str]:
    """Return what can be audited: mechanisms, protocols of the local model, and watches."""
    return [*EVERY_MECHANISM, *other_names()]


def check_name(name: str) -> str:
    """Return a name that can be audited, or raise a `ParameterError` that lists all."""
    return Registry[object]("mechanism", dict.fromkeys(names(), "")).check(name)


def audit_shipped(name: str, budget: Budget = BUDGET) -> Finding:
    """Audit a mechanism of this package.

    Parameters
    ----------
    name : str
        One of `names()`.
    budget : Budget
        The budget for which it is calibrated.

    Raises
    ------
    ParameterError
        If there is no such mechanism.
    """
    if check_name(name) not in EVERY_MECHANISM:
        own, worst = spent_by(name, budget, tightened)
        delta = 0.0 if worst.epsilon is not None else own.delta
        return Finding(name, own.epsilon, delta, worst.delta, worst.epsilon, worst.pair)
    kind: Any = EVERY_MECHANISM[name]
    public, worst_cases = CASES[name]
    own = (
        unwarned(budget.epsilon, 0.0)
        if name in WITHOUT_DELTA
        else tightened(lambda each: kind(each, *public), budget)
    )
    found = list(worst_cases(kind(own, *public)))
    worst = max(found, key=lambda spent: (spent.delta, spent.epsilon or 0))
    return Finding(name, own.epsilon, own.delta, worst.delta, worst.epsilon, worst.pair)


def tightened(make: Callable[[Budget], object], budget: Budget) -> Budget:
    """Return the smallest delta for which a mechanism has the same noise and thresholds, if that is lower."""
    here = _calibration(make(budget))
    low, high = budget.delta / 1000, budget.delta
    if _calibration(make(unwarned(budget.epsilon, NEAR * high))) != here:
        return budget
    if _calibration(make(unwarned(budget.epsilon, low))) == here:  # it is calibrated when it sees a summary
        return budget
    while high > low * (1 + SAFE):
        middle = (low * high) ** 0.5
        same = _calibration(make(unwarned(budget.epsilon, middle))) == here
        low, high = (low, middle) if same else (middle, high)
    return unwarned(budget.epsilon, high)


def _calibration(mechanism: object) -> dict[str, object]:
    """Return what a mechanism has worked out from its budget."""
    found = {name: value for name, value in vars(mechanism).items() if name not in ("budget", "public")}
    return {
        name: _calibration(value) if isinstance(value, Mechanism) else value for name, value in found.items()
    }


def _cells(mechanism: NoisyCells) -> Iterator[Spent]:
    """CountSketch, which spends delta; Count-Min has a smaller delta of 0, which it must keep as well."""
    epsilon = mechanism.budget.epsilon
    for spent in cases.cells(mechanism.noise("count-min", DEPTH, 1), DEPTH, epsilon):
        yield Spent(spent.delta, spent.pair)
    yield from cases.cells(mechanism.noise("count-sketch", DEPTH, 1), DEPTH, epsilon)
    changed = MOVED * DEPTH  # by one user, who counts once per cell
    users = NoisyCells(mechanism.budget, replace(USERS, moved=changed))
    yield from cases.cells(users.noise("count-min", DEPTH, 1), changed, epsilon)


def _envelope(mechanism: CountMinEnvelope | CountSketchEnvelope | MeasuredEnvelope) -> Iterator[Spent]:
    """Events of weight 1, and those of a larger weight with the noise for it."""
    counters, events = mechanism.public.parts or 1, mechanism.public.max_events or 1
    heavier = type(mechanism)(mechanism.budget, replace(mechanism.public, unit=HEAVY))
    for own in (mechanism, heavier):
        yield from cases.envelope(own.plan, own.budget.epsilon, counters, events)


def _correlated(mechanism: CorrelatedSparseHistogram) -> Iterator[Spent]:
    """Two keys that stay, are raised or isolated, around the threshold and far above it."""
    noise = Halves(mechanism.own, mechanism.shared, 2 * mechanism.threshold)
    for base in (1, mechanism.threshold, 2 * mechanism.threshold):
        for spent, pair in divergences(noise, PAIR.candidates or 0, mechanism.budget.epsilon, base):
            yield Spent(spent, pair)


def _key_rounds(mechanism: KeySelection) -> Iterator[Spent]:
    return cases.key_rounds(mechanism.rounds, SETS.moved or 1, mechanism.budget.epsilon)


def _path(mechanism: HierarchyRelease) -> Iterator[Spent]:
    """Events of weight 1, and those of a larger weight with the noise for it."""
    heavier = HierarchyRelease(mechanism.budget, replace(TREE, unit=HEAVY))
    for own, weight in ((mechanism, 1), (heavier, HEAVY.weight)):
        yield from trees.path(own.noise, own.threshold, HEIGHT + 1, own.budget.epsilon, weight)


def _geometric(mechanism: TruncatedGeometric) -> Iterator[Spent]:
    """Events of weight 1, and those of a larger weight with the noise for it."""
    heavier = TruncatedGeometric(mechanism.budget, Public(unit=HEAVY))
    for own, weight in ((mechanism, 1), (heavier, HEAVY.weight)):
        yield from cases.geometric(own.noise, own.budget, weight)


def _many_keys(mechanism: Any) -> Iterator[Spent]:
    epsilon = mechanism.budget.epsilon
    return cases.many_keys(mechanism.noise, mechanism.threshold, epsilon, MOVED)


def _sampled_keys(mechanism: Any) -> Iterator[Spent]:
    return cases.sampled_rows(mechanism.rows, mechanism.budget, keys_only=True)


def _chosen(mechanism: Any) -> Iterator[Spent]:
    return cases.many_keys_geometric(mechanism.table_mechanism.noise, mechanism.budget.epsilon, 2)


def _total(mechanism: TotalRelease) -> Iterator[Spent]:
    """A user of one or two keys, new or of some count, who changes the total by as much."""
    noise, epsilon = mechanism.table.noise, mechanism.budget.epsilon  # type: ignore[attr-defined]
    for keys, count in product((1, 2), range(1, noise.largest + 3)):
        table = laws.together([laws.merged(geometric_pair(noise, count))] * keys)
        for pair in (table, table[::-1]):
            spent = total_divergence(pair, mechanism.noise, epsilon, keys)
            yield Spent(spent, f"{keys} keys of count {count}, or one less, and the total")


def _reduced(mechanism: ReducedRelease) -> Iterator[Spent]:
    """All sums fall by 1, or one rises by as much as the level while all others fall by 1."""
    level, least, epsilon = mechanism.level, mechanism.least_noisy, mechanism.budget.epsilon
    for low, other in product((0, 1, level, least), repeat=2):
        falling = [(other + 1, other)] * (level - 1)
        for steps in ([(low + 1, low), *falling], [(low, low + level), *falling]):
            pairs = [laws.merged(rounded_pair(mechanism.noise, level, least, step)) for step in steps]
            both = laws.together(pairs)
            for pair in (both, both[::-1]):
                spent = laws.hockey_stick(pair, epsilon + cases.ROUNDING)
                yield Spent(spent, f"sums of reduced counts that change by {steps}")


def _sized(mechanism: SizedSample) -> Iterator[Spent]:
    """A key that is new or of some count, beside others, and the total that sets the rate."""
    at = cache(lambda total: type(mechanism)(mechanism.budget, mechanism.public, SIZED, total).sample.rows)
    for count, others in product((1, 2, 10, 20, 40), (0, 50)):
        total, epsilon = count + others, mechanism.budget.epsilon

        def table(drawn: int, count: int = count) -> LawPair:
            return row_pair(at(drawn), count)

        for spent in steered_divergences(table, mechanism.noise, epsilon, (total, total - 1)):
            yield Spent(spent, f"a key of count {count}, or one less, beside {others} events, and the total")


Cases = Callable[[Any], Iterator[Spent]]
# Of each mechanism the public numbers (and whatever else it is made of), and what yields all that it spends.
CASES: dict[str, tuple[tuple[object, ...], Cases]] = {
    "floor": ((SKETCH,), lambda own: cases.floor(noisy(own))),
    "pmg": ((SKETCH,), lambda own: cases.shared(noisy(own), 0)),
    "pmg-paper": ((SKETCH,), lambda own: cases.shared(noisy(own), 0)),
    "pmg-standard": ((SKETCH,), lambda own: cases.shared(noisy(own), 1, SKETCH.candidates)),
    "chan": ((SKETCH,), lambda own: cases.together(noisy(own), SKETCH.candidates or 1)),
    "dpss": ((SKETCH,), cases.bounded_length),
    "shards": ((SKETCH,), cases.shards),
    "key-shards": ((SKETCH,), lambda own: cases.floor(noisy(own))),  # the other shards stay as they are
    "laplace-threshold": ((Public(),), lambda own: cases.one_key(noisy(own))),
    "truncated-geometric": ((Public(),), _geometric),
    "public-floor": ((SKETCH,), lambda own: cases.geometric(own.noise, own.budget)),
    "sample": ((Public(),), lambda own: cases.sampled_rows(own.rows, own.budget)),
    "sample-keys": ((Public(),), _sampled_keys),
    "sized-sample": ((Public(), SIZED), _sized),
    "sanitise": ((SAMPLED,), lambda own: cases.sampled_rows(own.rows, own.budget)),
    "gaussian": ((TOGETHER,), _many_keys),
    "correlated": ((PAIR,), _correlated),
    "keys-events": ((Public(),), _sampled_keys),
    "keys-steered": ((SETS,), _key_rounds),
    "keys-sips": ((SETS,), _key_rounds),
    "keys-weighted": ((SETS,), _key_rounds),
    "laplace": ((TOGETHER,), lambda own: cases.together(noisy(own), MOVED)),
    "reduced": ((Public(candidates=3, parts=4),), _reduced),
    "pure": ((DOMAIN,), lambda own: cases.largest(own.noise, 3, own.budget.epsilon)),
    "pure-bounded": ((DOMAIN,), lambda own: cases.largest(own.noise, 1, own.budget.epsilon)),
    "pure-shards": ((DOMAIN,), lambda own: cases.reduced_sums(own.noise, own.budget.epsilon)),
    "noisy-cells": ((Public(),), _cells),
    "count-min-envelope": ((SKETCH,), _envelope),
    "count-sketch-envelope": ((SKETCH,), _envelope),
    "measured-envelope": ((SKETCH,), _envelope),
    "hierarchy-offline": ((TREE,), _path),
    "hierarchy-streaming": ((TREE,), trees.levels),
    "hierarchy-known": ((replace(TREE, moved=MOVED, candidates=100),), trees.every_node),
    "hierarchy-users": ((replace(TREE, moved=MOVED),), _many_keys),
    "chosen-bound": ((RANKED, 2), _chosen),
    "total": ((PAIRS, "truncated-geometric"), _total),
    "group": ((USERS, FloorRelease), lambda own: cases.user(noisy(own.each), USERS.unit.rows, own.budget)),
}
