"""The smallest count that is published reliably: what is stated, against releases of keys of that count."""

import numpy as np
import pytest
from tests.releases import FixedError, release_of
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.errors import ParameterError
from hushcount.jobs.release import release

TRIALS = 400


def published(make, mechanism, count):
    """How often one key of this count is published beside a frequent one."""
    sketch = make()
    sketch.update(["often"] * 3000 + ["key"] * count)
    names = [
        release(
            sketch, epsilon=1.0, delta=1e-6, mechanism=mechanism, max_events=10_000, bits=SeededBits(seed)
        ).table["key"]
        for seed in range(TRIALS)
    ]
    return np.mean(["key" in column.to_pylist() for column in names])


@pytest.mark.parametrize(
    ("make", "mechanism"),
    [
        (lambda: hc.SpaceSaving(counters=500), "floor"),
        (lambda: hc.SpaceSaving(counters=500), "dpss"),
        (lambda: hc.SpaceSaving(counters=500), "public-floor"),
        (hc.Exact, "laplace-threshold"),
        (hc.Exact, "truncated-geometric"),
    ],
)
def test_a_reliable_count_is_published_and_smaller_ones_are_not(make, mechanism):
    sketch = make()
    sketch.update(["often"] * 3000)
    stated = release(
        sketch, epsilon=1.0, delta=1e-6, mechanism=mechanism, max_events=10_000, bits=SeededBits(1)
    ).smallest_reliable()
    assert published(make, mechanism, stated) > 0.92  # 0.95 less three standard deviations
    assert published(make, mechanism, stated // 2) < 0.2


def test_a_sample_publishes_reliably_what_it_samples_reliably():
    sample = hc.sample([1, 2, 2], rate=0.001, epsilon=1.0, delta=1e-8)
    assert sample.smallest_reliable() == 950
    assert hc.sample([1], rate=0.5, power=0.0, epsilon=1.0, delta=1e-8).smallest_reliable() is None


def test_without_an_upper_end_nothing_is_stated():
    one_sided = release_of([("a", 10)], FixedError(above=None, together=None))
    assert one_sided.smallest_reliable() is None
    assert one_sided.accuracy().sentences == ("True with confidence 0.95.",)
    with pytest.raises(
        ParameterError, match=r"^probability must be strictly between 0\.5 and 1, got 0\.5\.$"
    ):
        one_sided.smallest_reliable(0.5)
