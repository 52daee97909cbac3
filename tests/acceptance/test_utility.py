"""What the published tables are worth: one million Zipf(1.2) keys over 2^20, delta = 1e-6.

A hundred releases with seeded noise. Standard errors of the means: precision 0.0007, relative error
0.00001 at epsilon = 1, published keys 20 (SpaceSaving) and 1 (Exact); the bounds are at least five of
them away.
"""

import pytest
from benchmarks.utility import ALL, FEW, MANY, NOISY, measure
from tests.seeded_bits import SeededBits


@pytest.fixture(scope="module")
def figures():
    return measure(releases=100, bits=SeededBits(1))


def test_few_counters_publish_the_top_100(figures):
    assert figures[FEW.name]["precision"] >= 0.98
    assert figures[FEW.name]["relative_error"] < 0.005


def test_many_counters_publish_many_keys(figures):
    assert figures[MANY.name]["published"] >= 2350


def test_exact_counts_publish_more(figures):
    assert figures[ALL.name]["published"] >= 2700


def test_little_budget_still_finds_the_top_100(figures):
    assert figures[NOISY.name]["precision"] >= 0.98
