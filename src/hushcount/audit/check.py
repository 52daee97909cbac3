"""`hc.audit`: the claim of any mechanism, checked on the worst neighbouring counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from hushcount.audit import exact
from hushcount.audit.neighbours import CountsByKey, Pair, pairs_of
from hushcount.audit.sampled import FALSE_ALARM, ClaimedBudget, sampled
from hushcount.errors import ParameterError
from hushcount.noise.bits import Bits
from hushcount.privacy import check_delta, check_epsilon

Run = Callable[[CountsByKey, "Bits"], Hashable]
ListedRun = Callable[[CountsByKey], Mapping[Hashable, "float | Fraction"]]


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit has shown.

    `delta_lower` and `epsilon_lower` are lower bounds of what the mechanism spends: no claim with a smaller
    delta (at this epsilon), or a smaller epsilon (at this delta), can be true. `pair` is the pair of
    neighbouring counts that shows it, the more probable one first. `runs` is how often the mechanism was run
    for the bound, None if the bound was computed.
    """

    refuted: bool
    epsilon: float
    delta: float
    delta_lower: float
    epsilon_lower: float
    pair: Pair
    runs: int | None = None

    def __str__(self) -> str:
        verdict = "REFUTED" if self.refuted else "not refuted"
        certain = (
            "computed exactly"
            if self.runs is None
            else f"from {self.runs:,} runs, wrong with probability at most {FALSE_ALARM:g}"
        )
        lines = [
            f"({self.epsilon:g}, {self.delta:g})-differential privacy is {verdict}.",
            f"delta at epsilon {self.epsilon:g} is at least {self.delta_lower:.4g}{self._times()};"
            f" {certain}.",
            f"epsilon at delta {self.delta:g} is at least {self.epsilon_lower:.4g}.",
            f"Shown by the neighbours {dict(self.pair[0])} and {dict(self.pair[1])}.",
        ]
        if self.runs is not None and not self.refuted:
            seen = math.log(1 / FALSE_ALARM) / max(self.runs, 1)
            lines.append(
                f"So many runs cannot show an excess of delta below about {seen:.1g}; list the distribution"
                " if you can."
            )
        return "\n".join(lines)

    def _times(self) -> str:
        """Return how many times the claimed delta that is, if it is more."""
        if not self.refuted or not self.delta:
            return ""
        return f", {self.delta_lower / self.delta:.4g} times the claim"


def audit(
    run: Run | None = None,
    *,
    epsilon: float,
    delta: float,
    shape: str = "one-key",
    pair: Pair | Iterable[Pair] | None = None,
    distribution: ListedRun | None = None,
    seconds: float = 10,
) -> Audit:
    """Try to refute that a mechanism is (epsilon, delta)-differentially private.

    An audit refutes or fails to refute; it proves nothing. Give `distribution` if the probabilities of the
    outputs can be listed: the bounds are then exact. Otherwise `run` is called many times.

    Parameters
    ----------
    run : callable, optional
        `run(counts, bits)` returns what the mechanism publishes for a dict of counts, as something hashable
        such as a sorted tuple. Its randomness comes from `bits.bytes(n)`, n uniform bytes.
    epsilon : float
        The claimed limit on the privacy loss.
    delta : float
        The claimed probability with which that limit may fail; 0 for pure differential privacy.
    shape : str, default "one-key"
        How neighbouring counts differ: "one-key", "floor", "many-keys", "users", "cells", "chain", "levels",
        "shards", "sample" or "local". docs/audit.md shows the counts of each.
    pair : pair of dict, or several pairs, optional
        Neighbouring counts to use instead of those of `shape`.
    distribution : callable, optional
        `distribution(counts)` returns a dict from every output to its probability, a `Fraction`. It may leave
        out a tail; what is left out counts against the refutation.
    seconds : float, default 10
        How long to run the mechanism: half to choose neighbours and a set of outputs, half for the bound.

    Returns
    -------
    Audit
        `refuted`, `delta_lower`, `epsilon_lower`, `pair`; printing it shows them in words.

    Raises
    ------
    ParameterError
        If neither `run` nor `distribution` is given, or what they return cannot be used.

    Examples
    --------
    >>> from fractions import Fraction
    >>> def coin(counts):  # tells the truth with probability 3/4
    ...     truth = Fraction(3, 4) if counts.get("x") else Fraction(1, 4)
    ...     return {"yes": truth, "no": 1 - truth}
    >>> pair = ({"x": 1}, {})
    >>> import hushcount as hc
    >>> print(hc.audit(epsilon=1, delta=0, pair=pair, distribution=coin))
    (1, 0)-differential privacy is REFUTED.
    delta at epsilon 1 is at least 0.07043; computed exactly.
    epsilon at delta 0 is at least 1.099.
    Shown by the neighbours {'x': 1} and {}.
    """
    claim = ClaimedBudget(check_epsilon(epsilon), check_delta(delta) if delta != 0 else 0.0)
    pairs = pairs_of(shape, pair, few=distribution is None)
    if distribution is not None:
        return _exact(distribution, claim, pairs)
    if run is None:
        raise ParameterError("Give run, or distribution if the probabilities of the outputs can be listed.")
    if not seconds > 0:
        raise ParameterError(f"seconds must be above 0, got {seconds}.")
    found = sampled(run, claim, pairs, seconds)
    refuted = found.delta_lower > claim.delta
    return Audit(
        refuted, claim.epsilon, claim.delta, found.delta_lower, found.epsilon_lower, found.pair, found.runs
    )


def _exact(distribution: ListedRun, claim: ClaimedBudget, pairs: list[Pair]) -> Audit:
    """Return the audit of a mechanism whose output probabilities are listed, at its worst pair."""
    ratio, delta = exact.growth(exact.as_claimed(claim.epsilon)), exact.as_claimed(claim.delta)
    worst: tuple[Fraction, float, Pair] | None = None
    listed = lru_cache(maxsize=2)(lambda counts: exact.listed(distribution(dict(counts))))
    for one, other in pairs:  # one count higher than before: half of it is known
        laws = listed(tuple(one.items())), listed(tuple(other.items()))
        for p, q, pair in ((*laws, (one, other)), (*laws[::-1], (other, one))):
            found = exact.hockey_stick(p, q, ratio), exact.spent_epsilon(p, q, delta), pair
            if worst is None or found[:2] > worst[:2]:
                worst = found
    assert worst is not None
    spent, epsilon, pair = worst
    return Audit(spent > delta, claim.epsilon, claim.delta, float(spent), epsilon, pair)
