"""TreeHist at the setting of Bassily et al. 2020: ten million users, epsilon 2, words of six letters.

One campaign of each data set; means of ten campaigns stand in docs/ldp.md.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from experiments.ldp import data
from tests.seeded_bits import SeededBits

from hushcount.ldp.client.simulation import Items, respond_all
from hushcount.ldp.protocols.tree_hist.protocol import TreeHist
from hushcount.ldp.server.aggregator import Aggregator
from hushcount.ldp.wire.encodings import Words

USERS = 10_000_000
THRESHOLD = 15 * math.sqrt(USERS)
BLOCK = 1 << 20


def campaign(name, seed):
    protocol = TreeHist(Words(data.ALPHABET, data.LENGTH), epsilon=2.0, users=USERS, threshold=THRESHOLD)
    manifest = replace(protocol.manifest, seed=bytes(range(seed, seed + 32)))
    words, held = data.counts(name, USERS)
    items = Items.of(words, manifest.encoding)
    holders = data.population(USERS, seed, name)
    bits = SeededBits(seed)
    aggregator = Aggregator(manifest)
    for start in range(0, USERS, BLOCK):
        nonces = bits.words(len(holders[start : start + BLOCK]))
        mine = items.take(holders[start : start + BLOCK])
        aggregator.add((nonces, respond_all(manifest, nonces, mine, bits)))
    return aggregator, dict(zip(words, held.tolist(), strict=True)), protocol.plan


@pytest.mark.parametrize("name", ["words", "zipf"])
def test_precision_recall_and_counts(name):
    aggregator, truth, plan = campaign(name, seed=4)
    assert aggregator.reports == USERS
    release = aggregator.heavy_hitters()
    published = release.table["key"].to_pylist()
    heavy = {word for word, count in truth.items() if count >= THRESHOLD}
    right = heavy & set(published)
    assert len(right) / len(published) >= 0.9  # two wrong of twenty: the words next to the threshold
    assert len(right) / len(heavy) >= 0.94
    assert all(truth.get(word, 0) >= THRESHOLD / 2 for word in published)
    errors = [row["count"] - truth[row["key"]] for row in release.table.to_pylist()]
    assert np.abs(errors).max() < 5 * plan.deviation
    inside = [row["lower"] <= truth[row["key"]] <= row["upper"] for row in release.table.to_pylist()]
    assert np.mean(inside) >= 0.75
