"""Curves of shared noise, trees of users, lists of keys and envelopes: enumerated, and their twins refuted.

A charge (delta', a rho) that is honest bounds every divergence: at any epsilon HS is at most delta' plus, for
every order a, exp((a - 1)(a rho - epsilon)) (1 - 1/a)^(a - 1) / a. At a large epsilon that is delta' alone.
"""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.privacy.envelope_reference import OneRow, envelope_divergence, streams

from hushcount.accounting.zcdp import zcdp_budget, zcdp_sigma
from hushcount.audit.moved import Halves, common_key, divergences, many_keys_divergence
from hushcount.keys.row_hash import COUNT_SKETCH
from hushcount.mechanisms.hierarchy.users import NodeRelease
from hushcount.mechanisms.histograms.correlated import CorrelatedSparseHistogram, parts, zcdp_cost
from hushcount.mechanisms.keys.calibration import (
    ALONE,
    SIPS,
    STEERED,
    rounds_charge,
    rounds_in_rho,
    weights,
)
from hushcount.mechanisms.keys.selection import KeySips, SteeredSelection, WeightedGaussian
from hushcount.mechanisms.linear.calibration import envelope_of, fingerprint_failure, gaussian_divergence
from hushcount.mechanisms.linear.envelope import CountMinEnvelope, CountSketchEnvelope
from hushcount.mechanisms.linear.measured import MeasuredEnvelope
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.tails import any_of
from hushcount.privacy import Budget
from hushcount.shapes import Public

BUDGETS = [(0.5, 1e-3), (0.1, 1e-4), (2.0, 1e-3)]
ORDERS = (1.1, 1.5, 2.0, 5.0, 20.0)
PAIR = Public(candidates=2, moved=2)
LARGE = 30.0  # an epsilon at which nothing but what is lost remains


def rho_of(charge) -> Fraction:
    return sum((Fraction(curve.moved) / (2 * curve.variance) for curve in charge.curves), Fraction(0))


def allowed(rho, lost, epsilon):
    """What an honest charge allows HS to be."""
    orders = (1 + math.exp(step / 20) for step in range(-100, 120))
    slack = min((a - 1) * (a * rho - epsilon + math.log1p(-1 / a)) - math.log(a) for a in orders)
    return lost + math.exp(min(slack, 0.0))


def renyi(p, q, order, factor=0.0):
    """The Rényi divergence of two laws, in logarithms; `factor` is added to each logarithm."""
    seen = (p > 0) & (q > 0)
    one, other = np.log(p[seen]), np.log(q[seen])
    powers = order * one + (1 - order) * other + (factor if np.isscalar(factor) else factor[seen])
    return float(np.logaddexp.reduce(powers)) / (order - 1)


def epsilons(budget):
    return (0.25 * budget.epsilon, budget.epsilon, 1.5 * budget.epsilon, LARGE)


@pytest.mark.parametrize(
    ("rho", "delta"), [(0.5, 1e-6), (0.1, 1e-6), (0.02, 1e-9), (1e-4, 1e-8), (2.0, 1e-5)]
)
@pytest.mark.parametrize(
    ("kind", "public"),
    [
        (CorrelatedSparseHistogram, Public(candidates=1, moved=1)),
        (CorrelatedSparseHistogram, Public(candidates=100, moved=100)),
        (NodeRelease, Public(height=4, moved=13)),
        (WeightedGaussian, Public(moved=100)),
        (KeySips, Public(moved=100)),
        (SteeredSelection, Public(moved=1)),
        (SteeredSelection, Public(moved=100)),
        (CountSketchEnvelope, Public(candidates=64, parts=64, max_events=10**6)),
        (MeasuredEnvelope, Public(candidates=64, parts=64, max_events=10**6)),
    ],
)
def test_a_charge_is_its_own_curve_within_rho(kind, public, rho, delta):
    """In exact numbers; and not much below, unless sigma has a smallest value."""
    mechanism = kind(zcdp_budget(rho, delta), public)
    charge = mechanism.event().finer
    spent = rho_of(charge)
    assert spent <= Fraction(str(rho))
    assert spent > Fraction(str(rho)) * Fraction(99, 100) or mechanism.name == "correlated"
    assert 0 < charge.delta < Fraction(str(delta))


@pytest.mark.parametrize(("rho", "delta"), BUDGETS)
def test_noise_that_counts_share_is_enumerated(rho, delta):
    """Two stored keys that stay, are raised or isolated, around the threshold and far above, both ways."""
    budget = zcdp_budget(rho, delta)
    mechanism = CorrelatedSparseHistogram(budget, PAIR)
    charge, noise = mechanism.event().finer, Halves(mechanism.own, mechanism.shared, 2 * mechanism.threshold)
    spent, lost = float(rho_of(charge)), float(charge.delta)
    for epsilon in epsilons(budget):
        found = max(
            each for base in (1, mechanism.threshold + 4) for each, _ in divergences(noise, 2, epsilon, base)
        )
        assert found <= allowed(spent, lost, epsilon) * (1 + 1e-9)
        if epsilon == budget.epsilon:
            assert 0.02 * delta < found <= delta
    # What is lost is reached by two keys that only one side has.
    assert found == pytest.approx(lost, rel=1e-5)


def doubled(noise, counts, span):
    """The law of two doubled counts with their noise, before the threshold."""
    own, shared = noise.parts
    values = np.arange(-span, span + 1)
    total = np.zeros((len(values), len(values)))
    for n in range(-math.ceil(12 * float(shared.sigma)), math.ceil(12 * float(shared.sigma)) + 1):
        each = [np.asarray(own.pmf(values - 2 * count - n)) for count in counts]
        total += float(shared.pmf(n)) * np.multiply.outer(*each)
    return total.ravel()


@pytest.mark.parametrize("rho", [0.5, 0.1])
@pytest.mark.parametrize("raised", [(1, 0), (1, 1)])
def test_renyi_divergences_of_shared_noise_are_enumerated(rho, raised):
    """The whole of both noises is charged: without the part of the shared one the curve is refuted."""
    mechanism = CorrelatedSparseHistogram(zcdp_budget(rho, 1e-6), PAIR)
    spent = float(zcdp_cost(mechanism.sum, 2))
    assert spent <= rho
    span = math.ceil(14 * math.hypot(float(mechanism.own.sigma), float(mechanism.shared.sigma)))
    p, q = (doubled(mechanism.sum, counts, span) for counts in (raised, (0, 0)))
    for order in ORDERS[:4]:
        assert renyi(p, q, order) <= order * spent
        assert renyi(q, p, order) <= order * spent
    own_alone = 2 / (2 * float(mechanism.own.sigma) ** 2)
    assert renyi(p, q, 2.0) > 1.35 * 2 * own_alone  # 1.41 times for one key that is raised, 1.66 for two


def test_shared_noise_one_step_smaller_exceeds_rho():
    """For all sizes the noise is nearly the smallest: a hundredth less of it has more than rho."""
    for rho, stored in ((0.1, 10), (0.02, 1000), (1e-3, 64)):
        mechanism = CorrelatedSparseHistogram(zcdp_budget(rho, 1e-6), Public(candidates=stored, moved=stored))
        assert zcdp_cost(parts(0.99 * float(mechanism.own.sigma), stored), stored) > Fraction(str(rho))


@pytest.mark.parametrize(("rho", "delta"), BUDGETS)
@pytest.mark.parametrize("moved", [2, 5])
def test_users_of_every_node_are_enumerated(rho, delta, moved):
    """All numbers of common and isolated nodes; a threshold lower by one sigma is refuted."""
    budget = zcdp_budget(rho, delta)
    mechanism = NodeRelease(budget, Public(height=2, moved=moved))
    charge = mechanism.event().finer
    for epsilon in epsilons(budget):
        found = many_keys_divergence(mechanism.noise, mechanism.threshold, epsilon, moved)
        assert found <= allowed(float(rho_of(charge)), float(charge.delta), epsilon) * (1 + 1e-9)
    assert many_keys_divergence(mechanism.noise, mechanism.threshold, budget.epsilon, moved) <= delta
    lower = mechanism.threshold - math.ceil(float(mechanism.noise.sigma))
    assert many_keys_divergence(mechanism.noise, lower, LARGE, moved) > delta


UNIT, LARGEST = 8, 4


def shown_of_new_keys(rounds, unit=UNIT):
    """The probability that a user of new keys shows one: the largest over sets, in each round by itself."""
    return [
        max(
            any_of(size, float(one.noise.tail(one.threshold - int(weight))))
            for size, weight in enumerate(weights(LARGEST, unit), 1)
        )
        for one in rounds
    ]


def common_and_new(rounds, base, epsilon):
    """A user of a key that others hold and of one that nobody else does: the larger divergence."""
    first, second = rounds[0], rounds[-1]
    alone, both = (int(weights(2, UNIT)[size - 1]) for size in (1, 2))
    cut = -math.inf if first.cut is None else first.cut
    stays_above = 1.0 if first.cut is None else float(first.noise.tail(first.cut - both))
    leaves, stays = 1 - stays_above, stays_above - float(first.noise.tail(first.threshold - both))
    reach = math.ceil(12 * first.sigma)
    y = np.arange(base - reach, base + alone + reach + 1)
    more, less = (np.asarray(first.noise.pmf(y - base - weight)) for weight in (both, 0))
    on = (y >= cut) & (y < first.threshold)
    hidden = {weight: 1 - float(second.noise.tail(second.threshold - weight)) for weight in (alone, both)}
    later = {weight: np.asarray(second.noise.pmf(y - base - weight)) for weight in (alone, both, 0)}
    ended = more[~on] * (leaves + stays * hidden[alone]), less[~on]
    going = (
        np.outer(more[on], leaves * later[alone] + stays * hidden[both] * later[both]).ravel(),
        np.outer(less[on], later[0]).ravel(),
    )
    x, z = (np.concatenate((ended[side], going[side])) for side in (0, 1))
    ratio = math.exp(epsilon)
    larger = 1 - x.sum() + np.maximum(x - ratio * z, 0).sum()
    return max(float(larger), float(np.maximum(z - ratio * x, 0).sum()))


@pytest.mark.parametrize("shares", [ALONE, SIPS, STEERED], ids=["weighted", "sips", "steered"])
@pytest.mark.parametrize(("rho", "delta"), [(0.5, 1e-3), (0.1, 1e-4)])
def test_rounds_of_keys_are_enumerated(shares, rho, delta):
    """A user of one key that others hold, of one more that is new, and of new keys; twins are refuted."""
    budget = zcdp_budget(rho, delta)
    rounds = rounds_in_rho(budget, LARGEST, shares, UNIT)
    charge = rounds_charge(rounds, LARGEST, UNIT)
    spent, lost = float(rho_of(charge)), float(charge.delta)
    assert rho_of(charge) <= Fraction(str(rho))
    assert lost == pytest.approx(sum(shown_of_new_keys(rounds)), rel=1e-6)
    bases = range(1, rounds[0].threshold + math.ceil(rounds[0].sigma), 3)
    for epsilon in epsilons(budget):
        found = max(common_key(rounds, UNIT, epsilon, base) for base in bases)
        if len(rounds) == 2:
            found = max(found, *(common_and_new(rounds, base, epsilon) for base in bases[::4]))
        assert found <= allowed(spent, lost, epsilon) * (1 + 1e-9)
        if epsilon == budget.epsilon:
            assert found <= delta
    # Twin: every round has the whole rho; the curve of one round is refuted.
    sigma = float(math.ceil(zcdp_sigma(rho, UNIT**2)))
    if len(rounds) == 2:
        twin = tuple(replace(one, sigma=sigma) for one in rounds)
        found = max(common_key(twin, UNIT, budget.epsilon, base) for base in bases)
        assert found > 2 * allowed(rho, 0.0, budget.epsilon)


def test_a_charge_of_new_keys_one_by_one_is_refuted():
    """A user of 1000 new keys shows one far more often than a user of one, which the twin charges."""
    rounds = rounds_in_rho(zcdp_budget(0.5, 1e-6), 1000, ALONE)
    twin = rounds_charge(rounds, 1)
    charge = rounds_charge(rounds, 1000)
    (only,) = rounds
    shown = any_of(1000, float(only.noise.tail(only.threshold - int(weights(1000)[-1]))))
    assert shown <= float(charge.delta) < 1e-6
    assert shown > 3.9 * float(twin.delta)


def test_the_order_of_renyi_holds_for_two_rounds():
    """Both noisy weights of a key that one user more holds, enumerated: D_a is at most a rho."""
    rounds = rounds_in_rho(zcdp_budget(0.5, 1e-4), LARGEST, STEERED, UNIT)
    spent = float(rho_of(rounds_charge(rounds, LARGEST, UNIT)))
    first, second = rounds
    base = (first.cut + first.threshold) // 2
    y = np.arange(base - math.ceil(20 * first.sigma), base + UNIT + math.ceil(20 * first.sigma))
    sides = [np.asarray(first.noise.pmf(y - base - more)) for more in (UNIT, 0)]
    on = (y >= first.cut) & (y < first.threshold)
    later = [np.asarray(second.noise.pmf(y - base - more)) for more in (UNIT, 0)]
    for order in ORDERS[:4]:
        for (p, q), (r, s) in zip((sides, sides[::-1]), (later, later[::-1]), strict=True):
            found = renyi(p, q, order, np.where(on, (order - 1) * renyi(r, s, order), 0.0))
            assert 0.3 * order * spent < found <= order * spent


EVENTS, COUNTERS, WIDTH = 4, 2, 1 << 16


def one_row(rho, delta):
    """A CountSketch of one row for streams of four events, and its charge."""
    budget = zcdp_budget(rho, delta)
    sigma = max(zcdp_sigma(rho, 1), 1.0)
    left = delta - gaussian_divergence(1, sigma, budget.epsilon) - fingerprint_failure(EVENTS)
    plan = envelope_of((COUNT_SKETCH, 1, WIDTH), (EVENTS, COUNTERS), left, DiscreteGaussian(sigma))
    release = OneRow(plan.distribution, plan.threshold, COUNTERS, WIDTH, budget.epsilon, True)
    return release, budget, left + fingerprint_failure(EVENTS)


def worst(release, signed):
    """The largest divergence over streams of up to four events and neighbours with one fewer, both ways."""
    found = 0.0
    for length in (2, 3) if signed else (2, 3, EVENTS):
        for keys in streams(length, 4):
            for signs in product((1, -1), repeat=length) if signed else ((1,) * length,):
                stream = tuple(zip(keys, signs, strict=True))
                for removed in range(length):
                    other = stream[:removed] + stream[removed + 1 :]
                    both = (stream, other), (other, stream)
                    found = max(found, *(envelope_divergence(release, *sides) for sides in both))
    return found


@pytest.mark.parametrize("signed", [False, True], ids=["additions", "deletions"])
@pytest.mark.parametrize(("rho", "delta"), [(0.5, 0.01), (0.1, 0.05)])
def test_an_envelope_is_enumerated_and_loses_what_is_charged(rho, delta, signed):
    """Every stream, partition into cells and sign: no more than beta + phi is lost, on either side."""
    release, budget, lost = one_row(rho, delta)
    for epsilon in (0.5 * budget.epsilon, budget.epsilon, LARGE):
        found = worst(replace(release, epsilon=epsilon), signed)
        assert found <= allowed(rho, lost, epsilon)
        if epsilon == budget.epsilon:
            assert 0 < found <= delta
    # Twin: the threshold without what noise needs shows keys that one side does not track.
    if not signed:
        twin = replace(release, threshold=EVENTS // COUNTERS + 1, epsilon=LARGE)
        assert worst(twin, signed) > 2 * lost


@pytest.mark.parametrize("kind", [CountMinEnvelope, CountSketchEnvelope])
def test_the_charge_of_an_envelope_is_that_of_its_cells(kind):
    """Less than the pair: the cells' own curve, and a delta without the factor 1 + exp(epsilon)."""
    budget = Budget(1.0, 1e-6)
    mechanism = kind(budget, Public(candidates=64, parts=64, max_events=10**5))
    finer, pair = mechanism.event().charges()
    assert float(finer.delta) == pytest.approx(mechanism.plan.beta + fingerprint_failure(10**5), rel=1e-6)
    assert float(finer.delta) < 0.3 * float(pair.delta)
    order = next(iter([type(pair.delta)(8)]))
    assert finer.at(order) < 0.7 * float(pair.at(order))
    if kind is CountMinEnvelope:
        assert 0.999 < float(finer.basic) <= 1
