"""Bitstogram at the setting of Bassily et al. 2020, Table 2: ten million users, epsilon = 2, six letters.

The means of five seeded campaigns each; those over ten are in experiments/ldp. The required means are
precision and recall of .94/.96 on English words and .93/.95 on the Zipf words, for one bit .92/.90. With some
twenty heavy words one of them is worth .05 in one campaign, .01 in the mean.
"""

import math
from statistics import fmean

import pytest
from experiments.ldp import data
from tests.ldp_population import answered, precision_recall

from hushcount import ldp

USERS = 10_000_000
CAMPAIGNS = 5
THRESHOLD = 15 * math.sqrt(USERS)
WORDS = ldp.Words(data.ALPHABET, data.LENGTH)


@pytest.mark.parametrize("name", ["words", "zipf"])
@pytest.mark.parametrize(
    ("protocol", "precision", "recall"), [(ldp.Bitstogram, 0.94, 0.95), (ldp.BitstogramBinary, 0.92, 0.9)]
)
def test_precision_and_recall(name, protocol, precision, recall):
    items, held = data.counts(name, USERS)
    counts = dict(zip(items, held.tolist(), strict=True))
    manifest = protocol(WORDS, epsilon=2.0, users=USERS).manifest
    reached = []
    for seed in range(1, CAMPAIGNS + 1):
        release = answered(manifest, counts, seed).heavy_hitters(THRESHOLD)
        reached.append(precision_recall(release, counts, THRESHOLD))
        assert all(counts.get(item, 0) >= THRESHOLD / 2 for item in release.table["key"].to_pylist())
    assert fmean(found[0] for found in reached) >= precision
    assert fmean(found[1] for found in reached) >= recall
