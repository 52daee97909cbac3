"""Every mechanism at the smallest deltas: what it spends on its worst pairs, in 400 digits or fractions."""

from __future__ import annotations

import functools
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest

from hushcount.audit import cases
from hushcount.audit.exact import as_claimed, growth
from hushcount.audit.shipped import CASES, HEIGHT, SKETCH
from hushcount.errors import ParameterError
from hushcount.mechanisms.counters.shards import histogram_budget
from hushcount.mechanisms.keys.calibration import weights
from hushcount.mechanisms.registry import EVERY_MECHANISM, PURE
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Pps, Ppswor
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.tails import any_of
from hushcount.privacy import SMALLEST_DELTA, USER, share_of, unwarned
from hushcount.shapes import Public

mp = mpmath.mp.clone()
mp.dps = 400
DELTAS = [1e-121, 1e-200, 1e-280]
EPSILON = 5.0
MOVED = 2
TIGHT = mp.mpf(10) ** -4  # of delta: integer thresholds, and a path of tests, leave some unspent
ENVELOPES = {"count-min-envelope", "count-sketch-envelope", "measured-envelope"}
WHOLE = 1 << 1400


class Law:
    """A noise on -span..span in 400 digits; what lies beyond weighs less than 1e-290."""

    def __init__(self, law):
        gaussian = isinstance(law, DiscreteGaussian)
        scale = mp.mpf(law.sigma if gaussian else law.epsilon)
        self.span = int(40 * scale if gaussian else 680 / scale) + 2
        values = range(-self.span, self.span + 1)
        exponents = [-(mp.mpf(z) ** 2) / (2 * scale**2) if gaussian else -scale * abs(z) for z in values]
        weights = [mp.exp(exponent) for exponent in exponents]
        total = mp.fsum(weights)
        self.pmf = [weight / total for weight in weights]
        self.above = [mp.mpf(0)]
        for weight in reversed(self.pmf):
            self.above.append(self.above[-1] + weight)
        self.above.reverse()
        self.gaussian, self.scale = gaussian, scale

    def tail(self, m):
        """P[z >= m]."""
        return self.above[min(max(m + self.span, 0), 2 * self.span + 1)]

    def over(self, event):
        """The mean of event(z) over the noise of a floor."""
        return mp.fsum(p * event(z) for z, p in enumerate(self.pmf, start=-self.span))

    @functools.cache  # noqa: B019
    def sums(self, count):
        """The distribution of a sum of noises, as integers out of a power of WHOLE, rounded."""
        total, one = [WHOLE], [int(p * WHOLE) for p in self.pmf]
        for _ in range(count):
            longer = [0] * (len(total) + len(one) - 1)
            for place, p in enumerate(total):
                for other, q in enumerate(one):
                    longer[place + other] += p * q >> 1400
            total = longer
        return [mp.mpf(p) / WHOLE for p in total]

    def moved(self, count, epsilon):
        """The divergence of `count` values that all change by 1, at any epsilon."""
        if self.gaussian:
            losses = [(2 * z + count) / (2 * self.scale**2) for z in self._range(count)]
            masses = self.sums(count)
        else:
            losses = [(2 * k - count) * self.scale for k in range(count + 1)]
            more = 1 / (1 + mp.exp(-self.scale))
            masses = [mp.binomial(count, k) * more**k * (1 - more) ** (count - k) for k in range(count + 1)]
        return mp.fsum(p * -mp.expm1(epsilon - x) for p, x in zip(masses, losses, strict=True) if x > epsilon)

    def _range(self, count):
        return range(-count * self.span, count * self.span + 1)


def either(*probabilities):
    """The probability that one of several independent things happens."""
    hidden = [mp.log1p(-p) for p in probabilities]
    return -mp.expm1(mp.fsum(hidden))


def floor(own):
    """Two keys next to the floor, of which the other stream has neither."""
    law, t = Law(own.noise), own.threshold
    return law.over(lambda z0: either(law.tail(t - 1 + z0), law.tail(t + z0)))


def standard(own):
    """All candidates have height 1 on one side only."""
    law, t = Law(own.noise), own.threshold
    return law.over(lambda z0: either(*[law.tail(t - 1 - z0)] * SKETCH.candidates))


def isolated(keys):
    """So many keys that occur once, on one side only."""
    return lambda own: either(*[Law(own.noise).tail(own.threshold - 1)] * keys)


def dpss(own):
    """Two keys of which only one side has a candidate, next to the largest floor."""
    law, margin = Law(own.noise), own.threshold - own.largest_floor - 1
    return either(law.tail(margin), law.tail(margin + 1))


def many_keys(own):
    """Some common keys, the others on one side only, both ways."""
    law, epsilon = Law(own.noise), mp.mpf(own.budget.epsilon)
    shown, found = law.tail(own.threshold - 1), []
    for common in range(MOVED + 1):
        gamma = (MOVED - common) * mp.log1p(-shown)
        if common:
            found.append(law.moved(common, epsilon + gamma))
        changed = law.moved(common, epsilon - gamma) if common else 0
        found.append(-mp.expm1(gamma) + mp.exp(gamma) * changed)
    return max(found)


def correlated(own):
    """Two keys of one side only; or two that both change, with the noise that they share."""
    each, shared, epsilon = Law(own.own), Law(own.shared), mp.mpf(own.budget.epsilon)
    alone = shared.over(lambda n: either(*[each.tail(2 * own.threshold - 2 - n)] * 2))
    found = [alone]
    for changed in (1, 2):
        above = [mp.mpf(0)]
        for mass in reversed(each.sums(changed)):
            above.append(above[-1] + mass)
        tail = functools.partial(_reached, above[::-1], changed * each.span)
        spent = mp.mpf(0)
        for n in range(-shared.span, shared.span):
            left = epsilon - (1 + 2 * n) / (2 * shared.scale**2)
            first = int(mp.ceil(each.scale**2 * left - mp.mpf(changed) / 2))
            spent += shared.pmf[n + shared.span] * (tail(first) - mp.exp(left) * tail(first + changed))
        found.append(spent)
    return max(found)


def _reached(above, span, m):
    return above[min(max(m + span, 0), 2 * span + 1)]


def subtracted(noise, budget):
    """The hockey-stick divergence of K and K + 1 both ways, in fractions: counts above 0, and new keys."""
    masses = [high - low for low, high in pairwise(noise.masses)]
    e = growth(as_claimed(budget.epsilon))
    steps = list(pairwise([0, *masses, 0]))
    ways = [sum(max(p - e * q, 0) for p, q in steps), sum(max(q - e * p, 0) for p, q in steps)]
    return Fraction(max(*ways, masses[0]), 1) / (1 << noise.width)


def geometric(own):
    return subtracted(own.noise, own.budget)


def shards(own):
    """A key below its floor, and the histogram above it."""
    law = Law(own.floor_noise)
    assert law.tail(own.margin) <= own.budget.delta
    left = histogram_budget(own.budget)
    return law.tail(own.margin + 1) + exact(subtracted(own.noise, left))


def path(own):
    """One leaf whose whole path has one residual, or a new leaf: the two kinds of data of the audit."""
    law, epsilon, tests = Law(own.noise), mp.mpf(own.budget.epsilon), HEIGHT + 1
    untested = mp.log1p(-law.tail(own.threshold - 1))
    fails = [mp.mpf(0)]
    fails += [mp.log1p(-law.tail(own.threshold - residual)) for residual in range(1, 2 * own.threshold)]
    found = []
    for alone in range(tests):
        for residual, (before, after) in enumerate(pairwise(fails)):
            others = mp.exp(residual * (tests * untested if alone else 0))
            smaller, larger = (tests - alone) * before, alone * untested + (tests - alone) * after
            found.append(others * (mp.exp(smaller) - mp.exp(epsilon + larger)))
            found.append(others * (-mp.expm1(larger) + mp.exp(epsilon) * mp.expm1(smaller)))
    return max(found)


def levels(own):
    """Levels in which counts change, and others with two isolated nodes."""
    law, epsilon, t = Law(own.levels.noise.distribution), mp.mpf(own.budget.epsilon), own.levels.threshold
    one = law.over(lambda z0: law.tail(t - 1 + z0))
    two = law.over(lambda z0: either(law.tail(t - 1 + z0), law.tail(t + z0)))
    return max(law.moved(j + 1, epsilon) + j * one + (own.height - j) * two for j in range(own.height + 1))


def cells(own):
    """All cells of one event change by 1, one in each row."""
    return Law(own.noise("count-sketch", 2, 1)).moved(2, mp.mpf(own.budget.epsilon))


def group(own):
    """All rows of a user have one key, which is new: no row alone betrays more than its share."""
    law, t = Law(own.each.noise), own.each.threshold
    return law.over(lambda z0: law.tail(t - USER_ROWS + z0))


def reduced(own):
    """A key that is new to a sketch of one event: its sum is the level, and everything else is equal."""
    return Law(own.noise).tail(own.least_noisy - own.level)


WEIGHTS = weights(9).tolist()
USER_ROWS = 3
SPENT = {
    "floor": floor,
    "pmg": floor,
    "pmg-paper": floor,
    "pmg-standard": standard,
    "chan": isolated(SKETCH.candidates),
    "dpss": dpss,
    "laplace-threshold": isolated(1),
    "truncated-geometric": geometric,
    "public-floor": geometric,
    "shards": shards,
    "reduced": reduced,
    "key-shards": floor,
    "gaussian": many_keys,
    "correlated": correlated,
    "hierarchy-users": many_keys,
    "laplace": isolated(MOVED),
    "hierarchy-offline": path,
    "hierarchy-streaming": levels,
    "noisy-cells": cells,
    "group": group,
}
LOOSE = {
    "pmg-paper",
    "group",
    "hierarchy-offline",
}  # they are proved by other bounds than the worst pair here


def exact(fraction):
    return mp.mpf(fraction.numerator) / fraction.denominator if isinstance(fraction, Fraction) else fraction


def made(name, delta):
    """The mechanism with the public numbers of the audit; a tree of two levels."""
    kind = EVERY_MECHANISM[name]
    public, _ = CASES[name]
    if name == "hierarchy-streaming":
        public = (Public(height=2),)
    if name in ("gaussian", "laplace", "hierarchy-users"):
        public = (Public(moved=MOVED, height=2),)
    return kind(unwarned(EPSILON, delta), *public)


KEYS = ("keys-steered", "keys-sips", "keys-weighted")


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", KEYS)
def test_new_keys_of_a_user_stay_hidden_but_for_a_tiny_delta(name, delta):
    """One key, or many: their weights are so small beside the noise that floats hold all of it."""
    own = EVERY_MECHANISM[name](unwarned(EPSILON, delta), Public(moved=9))
    shown = sum(
        max(
            any_of(size, float(one.noise.tail(one.threshold - weight)))
            for size, weight in enumerate(WEIGHTS, 1)
        )
        for one in own.rounds
    )
    assert 1e-2 * delta <= shown <= delta


def test_every_mechanism_with_a_delta_is_here():
    apart = {*PURE, *ENVELOPES, *KEYS, "keys-events", "chosen-bound", "total", "sample", "sample-keys"}
    apart |= {"hierarchy-known"}  # with delta = 0
    apart |= {"sized-sample", "sanitise"}  # a sample at a rate that is drawn; one that needs a larger delta
    assert set(SPENT) | apart == set(EVERY_MECHANISM)
    assert DELTAS[-1] == SMALLEST_DELTA


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", SPENT)
def test_a_mechanism_keeps_a_tiny_delta_and_uses_it(name, delta):
    asked = delta if name != "group" else delta * 1e3
    spent = exact(SPENT[name](made(name, asked)))
    assert spent <= mp.mpf(asked)
    assert name in LOOSE or spent >= TIGHT * mp.mpf(asked)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("scheme", [EVERY_KEY, Pps(0.3), Ppswor(0.05)], ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("name", ["sample", "sample-keys"])
def test_rows_of_a_sample_keep_a_tiny_delta_and_use_it(name, scheme, delta):
    own = EVERY_MECHANISM[name](unwarned(20.0, delta), scheme=scheme)
    spent = max(
        one.delta for one in cases.sampled_rows(own.rows, own.budget, keys_only=name == "sample-keys")
    )
    assert delta * (1 - 1e-9) <= spent <= delta


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", sorted(ENVELOPES))
def test_envelopes_say_why_they_cannot_have_a_tiny_delta(name, delta):
    with pytest.raises(ParameterError) as error:
        made(name, delta)
    assert str(error.value) == (
        "max_events must be smaller for an error envelope at this delta, got 70: two of so many keys may have"
        " equal fingerprints, with a probability of up to 4e-26."
    )


def test_a_group_says_how_small_its_delta_may_be():
    public = Public(unit=replace(USER, rows=USER_ROWS))
    with pytest.raises(ParameterError) as error:
        EVERY_MECHANISM["group"](unwarned(1.0, 1e-280), public, EVERY_MECHANISM["floor"])
    assert str(error.value) == "delta must be at least 4.34e-280 for 3 rows, got 1e-280."


def test_a_share_may_be_smaller_than_what_can_be_asked_for():
    assert share_of(1.0, 1e-281).delta == 1e-281
    with pytest.raises(ParameterError, match=r"^delta must be 0 or at least 1e-280, got 9\.9e-281\.$"):
        unwarned(1.0, 9.9e-281)
