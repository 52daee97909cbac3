"""`hc.audit`: exact and sampled verdicts on mechanisms whose privacy is known."""

import itertools
import math
import subprocess
import sys
from bisect import bisect
from fractions import Fraction

import pytest

import hushcount as hc
from hushcount.audit import sampled
from hushcount.errors import ParameterError
from hushcount.noise.laplace import DiscreteLaplace

ONE = Fraction(1)


def coin(truthful):
    """Randomised response: whether there is an x."""

    def distribution(counts):
        yes = truthful if counts.get("x") else 1 - truthful
        return {"yes": yes, "no": 1 - yes}

    return distribution


def test_randomised_response_is_accepted_at_its_epsilon_and_refuted_below():
    pair = ({"x": 1}, {})
    accepted = hc.audit(epsilon=math.log(3) + 1e-12, delta=0, pair=pair, distribution=coin(Fraction(3, 4)))
    assert not accepted.refuted
    assert accepted.delta_lower == 0
    assert accepted.epsilon_lower == pytest.approx(math.log(3))
    refuted = hc.audit(epsilon=math.log(3) - 1e-9, delta=0, pair=pair, distribution=coin(Fraction(3, 4)))
    assert refuted.refuted
    assert refuted.pair in (pair, pair[::-1])


def keep_above(threshold, tail):
    """A key is published if its count reaches the threshold, and one below with probability `tail`."""

    def distribution(counts):
        count = counts.get("x", 0)
        published = ONE if count >= threshold else tail if count == threshold - 1 else Fraction(0)
        return {("x",): published, (): 1 - published}

    return distribution


@pytest.mark.parametrize("threshold", [1, 2, 17, 40, 64])
def test_the_worst_pair_is_found_wherever_the_threshold_is(threshold):
    found = hc.audit(epsilon=1, delta=0.1, distribution=keep_above(threshold, Fraction(1, 5)))
    assert found.refuted
    assert found.delta_lower > 0.4
    assert any(side.get("x", 0) in (threshold, threshold - 1) for side in found.pair)


def test_a_delta_that_is_spent_to_the_last_is_accepted():
    def distribution(counts):
        return {("x",): Fraction(1, 10), (): Fraction(9, 10)} if counts else {(): ONE}

    assert not hc.audit(epsilon=1, delta=0.1, pair=({"x": 1}, {}), distribution=distribution).refuted
    assert hc.audit(epsilon=1, delta=0.0999999, pair=({"x": 1}, {}), distribution=distribution).refuted


@pytest.fixture
def by_blocks(monkeypatch):
    """A second is a block of runs, however fast the machine is."""
    steps = itertools.count()
    monkeypatch.setattr(sampled, "monotonic", lambda: next(steps))


def noisy(law, threshold):
    """Noisy counts from a threshold on, drawn from `bits`; within 2^-50 of the law."""
    ends = [(1 - float(law.tail(z + 1))) * 2**64 for z in range(-40, 41)]

    def run(counts, bits):
        noise = (bisect(ends, int.from_bytes(bits.bytes(8), "big")) - 40 for _ in counts)
        values = ((key, counts[key] + z) for key, z in zip(sorted(counts), noise, strict=True))
        return tuple((key, value) for key, value in values if value >= threshold)

    return run


def test_runs_refute_too_little_noise_and_accept_enough(by_blocks):
    law = DiscreteLaplace(1.0)
    delta = float(law.tail(4))
    assert not hc.audit(noisy(law, 5), epsilon=1.0, delta=delta, seconds=1000).refuted
    found = hc.audit(noisy(DiscreteLaplace(2.0), 5), epsilon=1.0, delta=0.02, seconds=1000)
    assert found.refuted
    assert 0.02 < found.delta_lower < 0.6
    assert found.epsilon_lower > 1.0
    assert found.runs > 0


def test_runs_see_real_numbers_by_their_whole_part(by_blocks):
    def run(counts, bits):
        uniform = int.from_bytes(bits.bytes(7), "big") / 2**56
        return counts.get("x", 0) + math.copysign(math.log(1 - abs(2 * uniform - 1)), uniform - 0.5) / 3

    assert hc.audit(run, epsilon=1.0, delta=0.01, seconds=1000).refuted


def test_a_key_that_shows_itself_is_refuted_by_a_handful_of_runs(by_blocks):
    found = hc.audit(lambda counts, bits: tuple(counts), epsilon=0.5, delta=0.01, seconds=1)
    assert found.refuted
    assert found.pair == ({"x": 1}, {})


def test_the_printed_audit():
    found = hc.audit(epsilon=1, delta=0.1, pair=({"x": 1}, {}), distribution=keep_above(1, Fraction(0)))
    assert str(found) == (
        "(1, 0.1)-differential privacy is REFUTED.\n"
        "delta at epsilon 1 is at least 1, 10 times the claim; computed exactly.\n"
        "epsilon at delta 0.1 is at least inf.\n"
        "Shown by the neighbours {'x': 1} and {}."
    )
    runs = hc.Audit(False, 1.0, 1e-3, 0.0, 0.5, ({"x": 1}, {}), 1_000_000)
    assert str(runs).splitlines()[1:] == [
        "delta at epsilon 1 is at least 0; from 1,000,000 runs, wrong with probability at most 1e-06.",
        "epsilon at delta 0.001 is at least 0.5.",
        "Shown by the neighbours {'x': 1} and {}.",
        "So many runs cannot show an excess of delta below about 1e-05; list the distribution if you can.",
    ]


def refused(run=None, **options):
    with pytest.raises(ParameterError) as error:
        hc.audit(run, **({"epsilon": 1, "delta": 0.1} | options))
    return str(error.value)


def test_what_cannot_be_audited_is_refused():
    assert refused() == "Give run, or distribution if the probabilities of the outputs can be listed."
    assert refused(lambda *_: 0, shape="round") == (
        "shape must be one of one-key, floor, many-keys, users, cells, chain, levels, shards, sample, local,"
        " got round."
    )
    assert refused(lambda *_: 0, pair=[]) == (
        "pair must be two dicts of counts, or several such pairs, got none."
    )
    assert refused(lambda *_: 0, seconds=0) == "seconds must be above 0, got 0."
    assert refused(lambda *_: {}, seconds=0.01) == (
        "run must return something hashable, such as a tuple, got dict."
    )
    assert refused(lambda *_: 0, epsilon=0) == "epsilon must be a finite number above 0, got 0."
    assert refused(lambda *_: 0, delta=1) == "delta must be strictly between 0 and 1, got 1."


@pytest.mark.parametrize(
    "before",
    ["", "import hushcount.audit.exact", "from hushcount.audit import neighbours", "import hushcount.audit"],
)
def test_the_name_can_be_called_whatever_was_imported_first(before):
    program = (
        f"{before}\nimport hushcount as hc\nassert callable(hc.audit)\nhc.audit\nassert callable(hc.audit)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
